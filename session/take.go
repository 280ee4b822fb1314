package session

import (
	"context"
	"encoding/json"
	"errors"

	"turnlog/agent"
	"turnlog/eventlog"
)

// takeInputs reads and applies the turn's new inputs. It returns the event
// that they make, or a no-op one. An end of the turn by others shows here too.
func (t *turn) takeInputs() event {
	var inputs []eventlog.Input
	err := retry(t.ctx, 0, func(ctx context.Context) (err error) {
		inputs, err = t.log.Inputs(ctx, t.fence.Thread, t.fence.TurnID, t.after)
		return err
	})
	switch {
	case t.ctx.Err() != nil:
		return event{kind: evNothing} // why it ended comes as an event of its own
	case errors.Is(err, eventlog.ErrFenced):
		if forgotten(err) && t.w.Check(t.ctx) == nil {
			t.nudge() // Redis had forgotten the turn; it is in the log again
			return event{kind: evNothing}
		}
		t.failure = err
		return fencedEvent(err)
	case err != nil:
		t.note("inputs could not be read", err)
	}
	for _, in := range inputs {
		t.after = in.Seq
		if in.Kind == eventlog.InputStop {
			t.stopMessage = stopMessage(in.Payload)
			return event{kind: evEnd, outcome: eventlog.OutcomeStopped}
		}
		t.apply(in)
	}
	return event{kind: evNothing}
}

// forgotten says that the log does not know the turn, and not how it ended: it
// moved on to another one, or Redis was emptied. Only the writer can tell.
func forgotten(err error) bool {
	var fenced *eventlog.FencedError
	return !errors.As(err, &fenced) || fenced.Outcome == ""
}

func (t *turn) apply(in eventlog.Input) {
	switch in.Kind {
	case eventlog.InputAnswer:
		t.answer(in.RequestID, "answered", reply{answer: agent.Answer{RequestID: in.RequestID, Payload: in.Payload}})
	case eventlog.InputExpired:
		t.answer(in.RequestID, "expired", reply{err: agent.ErrExpired})
	case eventlog.InputSteer:
		if m := steerMessage(in.Payload); m != nil {
			t.deliver(in.Seq, agent.Input{Kind: agent.InputSteer, Message: m})
		}
	case eventlog.InputPermissionMode:
		t.permissionMode(in)
	case eventlog.InputPolicy:
		// The log acts on it; the owner has nothing to do.
	}
}

// answer closes a request visibly and hands the reply to the ask. Answers to
// requests that are not open (second ones, or of an earlier attempt) are dropped.
func (t *turn) answer(id, reason string, r reply) {
	q := t.asks.take(id)
	if q == nil {
		return
	}
	// If this fails the turn has ended, which the ask sees by itself.
	if t.speak(t.ctx, requestClosed(id, reason)) == nil {
		q.reply <- r
	}
}

func (t *turn) deliver(seq int64, in agent.Input) {
	t.mail.put(t.ctx, letter{seq: seq, input: in}, t.w.Consumed)
}

// permissionMode tells the agent, and in mode auto allows what waits for an approval.
func (t *turn) permissionMode(in eventlog.Input) {
	var p struct {
		Mode string `json:"mode"`
	}
	if json.Unmarshal(in.Payload, &p) != nil || p.Mode == "" {
		return
	}
	if p.Mode == "auto" {
		for _, id := range t.asks.ofKind(agent.KindToolApproval) {
			t.answer(id, "answered", reply{answer: agent.Answer{
				RequestID: id, Payload: json.RawMessage(`{"decision":"allow"}`), Auto: true,
			}})
		}
	}
	t.deliver(in.Seq, agent.Input{Kind: agent.InputPermissionMode, Mode: p.Mode})
}
