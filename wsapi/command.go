package wsapi

import (
	"bytes"
	"encoding/json"

	"turnlog/session"
)

// command is one command of a client whose envelope was in order.
type command struct {
	name     string
	request  json.RawMessage // request_id as given, nil without one
	data     json.RawMessage // an object, nil without one
	threadID string
}

// action carries out a command whose data was in order.
type action func(c *conn, cmd command)

// spec is one row of the table of commands.
type spec struct {
	threaded bool // thread_id is required
	parse    func(f *form) action
}

// commands is the protocol's table of commands.
var commands = map[string]spec{
	"chat_message":        {threaded: true, parse: parseChatMessage},
	"resume_chat":         {threaded: true, parse: parseResume},
	"list_chat_turns":     {parse: parseList},
	"follow":              {threaded: true, parse: parseFollow},
	"unfollow":            {threaded: true, parse: parseUnfollow},
	"stop":                {parse: parseStop},
	"steer":               {threaded: true, parse: parseSteer},
	"set_policy":          {threaded: true, parse: parsePolicy},
	"set_permission_mode": {threaded: true, parse: parsePermissionMode},
	"set_mode":            {parse: parseMode},
}

// dispatch sorts one decoded message. The order of checks is the protocol's.
func (c *conn) dispatch(text []byte) {
	var fields map[string]json.RawMessage
	if json.Unmarshal(text, &fields) != nil || fields == nil {
		c.invalidMessage("a message must be an object with a command or a type")
		return
	}
	if _, ok := fields["command"]; ok {
		c.command(fields)
		return
	}
	c.control(fields)
}

func (c *conn) invalidMessage(why string) {
	c.send(object(nil).text("error", "invalid_message").text("message", why).end())
}

// command checks a command in the order of the protocol's table and runs it.
func (c *conn) command(fields map[string]json.RawMessage) {
	allowed := c.srv.opts.Limits.Allow(c.who.User)
	envelope := form{fields: fields}
	cmd := command{request: envelope.requestID()}
	cmd.name = envelope.text("command")
	if cmd.name == "" {
		envelope.wrong("command", "must be a string")
	}
	data := form{fields: envelope.object("data")}
	if data.fields != nil {
		cmd.data = fields["data"]
	}
	cmd.threadID = data.text("thread_id")
	known, ok := commands[cmd.name]
	var run action
	if ok && !envelope.bad() {
		run = known.parse(&data)
	}
	switch {
	case envelope.bad():
		c.invalidCommand(cmd, envelope.details.end())
	case data.bad():
		c.invalidCommand(cmd, data.details.end())
	case !ok:
		c.ack(cmd, object(nil).text("error", "Unknown command"))
	case known.threaded && cmd.threadID == "":
		why := "thread_id is required for " + cmd.name + " command"
		c.ack(cmd, object(nil).text("error", why))
		c.chatRefused(cmd, "invalid_command", why, false)
	case !allowed:
		c.refused(cmd, errTooFast)
	default:
		run(c, cmd)
	}
}

// ack sends the one acknowledgement of a command.
func (c *conn) ack(cmd command, o object) { c.send(withRequest(o, cmd.request)) }

func withRequest(o object, request json.RawMessage) []byte {
	if request != nil {
		o = o.raw("request_id", request)
	}
	return o.end()
}

func (c *conn) invalidCommand(cmd command, details []byte) {
	c.srv.opts.Metrics.Refused(session.CodeInvalid)
	c.ack(cmd, object(nil).text("error", "invalid_command").raw("details", details))
	c.chatRefused(cmd, "invalid_command", "the command is not valid: "+string(details), false)
}

// chatRefused sends the error frame that old clients look for when a
// chat_message is refused for whatever reason.
func (c *conn) chatRefused(cmd command, code, message string, retryable bool) {
	if cmd.name != "chat_message" {
		return
	}
	o := object(nil).text("type", "error").text("message", message).text("code", code)
	if cmd.threadID == "" {
		o = o.null("thread_id")
	} else {
		o = o.text("thread_id", cmd.threadID)
	}
	c.send(o.flag("retryable", retryable).end())
}

var jsonNull = []byte("null")

// given reports whether a value is there; null is not.
func given(v json.RawMessage) bool { return len(v) > 0 && !bytes.Equal(v, jsonNull) }
