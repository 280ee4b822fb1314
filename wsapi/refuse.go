package wsapi

import (
	"errors"

	"turnlog/eventlog"
	"turnlog/session"
)

// errPolicyClash is the refusal of cancel together with preserve.
var errPolicyClash = &session.Refusal{
	Code:    session.CodePolicyConflict,
	Message: "cancel and preserve cannot be asked for together",
}

// refusals maps what the layers below return to what clients are told.
var refusals = []struct {
	err       error
	code      string
	message   string
	retryable bool
}{
	{eventlog.ErrPolicyConflict, session.CodePolicyConflict, "on_disconnect cancel contradicts the policy of the thread or its kind", false},
	{eventlog.ErrOutOfMemory, session.CodeUnavailable, "the server has no room for new turns, try again later", true},
	{eventlog.ErrUnavailable, session.CodeUnavailable, "the server cannot reach its storage, try again", true},
	{eventlog.ErrFenced, session.CodeUnavailable, "this node has just lost its standing, try again", true},
	{eventlog.ErrClosed, session.CodeDraining, "this node is shutting down, connect again", true},
	{eventlog.ErrDeleted, session.CodeUnavailable, "the thread was deleted a moment ago", false},
}

// refused answers a command that was not carried out. Unknown errors are
// logged here and nowhere else.
func (c *conn) refused(cmd command, err error) {
	if errors.Is(err, eventlog.ErrBadID) {
		c.invalidCommand(cmd, object(nil).text("thread_id", "must be valid UTF-8 of at most 256 bytes when escaped").end())
		return
	}
	r := c.refusal(cmd.name, err)
	c.srv.opts.Metrics.Refused(r.Code)
	if r.Code == session.CodeInvalid {
		c.ack(cmd, object(nil).text("error", r.Code).raw("details", object(nil).text("data", r.Message).end()))
	} else {
		o := object(nil).text("error", r.Code).text("code", r.Code).text("message", r.Message)
		if cmd.threadID != "" {
			o = o.text("thread_id", cmd.threadID)
		}
		if r.Retryable {
			o = o.flag("retryable", true)
		}
		c.ack(cmd, o)
	}
	c.chatRefused(cmd, r.Code, r.Message, r.Retryable)
}

// refusal makes what the client is told of an error.
func (c *conn) refusal(verb string, err error) *session.Refusal {
	var r *session.Refusal
	if errors.As(err, &r) {
		return r
	}
	for _, known := range refusals {
		if errors.Is(err, known.err) {
			return &session.Refusal{Code: known.code, Message: known.message, Retryable: known.retryable}
		}
	}
	if c.ctx.Err() == nil {
		c.log.Error("a command failed", "command", verb, "error", err)
	}
	return &session.Refusal{Code: session.CodeUnavailable, Message: "something went wrong on the server, try again", Retryable: true}
}
