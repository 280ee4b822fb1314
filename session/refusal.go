package session

import (
	"context"
	"errors"

	"turnlog/eventlog"
)

// verdicts are the refusals of admissions.
var verdicts = map[eventlog.Verdict]Refusal{
	eventlog.VerdictConflict:       {CodeConflict, "this message id was already used for another message", false},
	eventlog.VerdictBusy:           {CodeBusy, "the thread is busy with another turn", true},
	eventlog.VerdictPolicyConflict: {CodePolicyConflict, "on_disconnect cancel contradicts the policy of the thread or its kind", false},
	eventlog.VerdictQuota:          {CodeQuota, "too many turns are running for this user", true},
	eventlog.VerdictQueueFull:      {CodeBusy, "the thread's queue is full", true},
	eventlog.VerdictNodeDead:       {CodeUnavailable, "this node is rejoining the cluster", true},
	eventlog.VerdictSuperseding:    {CodeUnavailable, "the running turn could not be superseded", true},
}

// refuse makes an error of the log presentable. Refusals and the end of the
// caller's own context pass through.
func refuse(ctx context.Context, err error) error {
	var known *Refusal
	switch {
	case err == nil || errors.As(err, &known) || ctx.Err() != nil:
		return err
	case errors.Is(err, eventlog.ErrBadID):
		return &Refusal{Code: CodeInvalid, Message: "an id is empty, too long or not valid UTF-8"}
	case errors.Is(err, eventlog.ErrOutOfMemory):
		return &Refusal{Code: CodeUnavailable, Message: "the event log is out of memory", Retryable: true}
	case errors.Is(err, eventlog.ErrDeleted):
		return &Refusal{Code: CodeUnavailable, Message: "the thread was deleted", Retryable: false}
	}
	return &Refusal{Code: CodeUnavailable, Message: "the event log does not answer", Retryable: true}
}

var (
	refuseDraining = &Refusal{Code: CodeDraining, Message: "this node is shutting down", Retryable: true}
	refuseStarting = &Refusal{Code: CodeUnavailable, Message: "this node is not running yet", Retryable: true}
)
