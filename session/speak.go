package session

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"unicode/utf8"

	"turnlog/agent"
	"turnlog/eventlog"
	"turnlog/frame"
)

var (
	_ agent.Turn          = (*turn)(nil)
	_ agent.UsageReporter = (*turn)(nil)
)

// requestTypes are opened by Ask only.
var requestTypes = map[string]bool{
	"tool_call": true, "tool_approval_request": true, "plan_approval_request": true, "secret_request": true,
}

// Info implements agent.Turn.
func (t *turn) Info() agent.Info { return t.info }

// Inputs implements agent.Turn.
func (t *turn) Inputs() <-chan agent.Input { return t.mail.out }

// Emit implements agent.Turn.
func (t *turn) Emit(ctx context.Context, b []byte) error {
	typ, clean, err := frame.Check(b, t.opts.FrameLimit)
	if err != nil {
		return frameError(err)
	}
	switch {
	case frame.Reserved(typ):
		return fmt.Errorf("%w: type %s belongs to the runtime; return from Run to end the turn", agent.ErrInvalidFrame, typ)
	case requestTypes[typ]:
		return fmt.Errorf("%w: type %s: use Ask", agent.ErrInvalidFrame, typ)
	}
	return t.explain(ctx, t.speak(ctx, eventlog.Entry{Type: typ, Frame: bytes.Clone(clean)}))
}

func frameError(err error) error {
	if errors.Is(err, frame.ErrTooLarge) {
		return agent.ErrFrameTooLarge
	}
	return agent.ErrInvalidFrame
}

// speak queues a frame of the agent, unless its right to speak has ended.
func (t *turn) speak(ctx context.Context, e eventlog.Entry) error {
	ctx, release := t.bounded(ctx)
	defer release()
	if err := t.floor.take(ctx); err != nil {
		return err
	}
	defer t.floor.leave()
	if t.ctx.Err() != nil {
		return context.Cause(t.ctx)
	}
	return t.w.Emit(ctx, e)
}

// explain turns the error of a frame that was not accepted into what the agent
// is told. It may wait until the conductor knows why the writer was lost.
func (t *turn) explain(ctx context.Context, err error) error {
	if err == nil {
		return nil
	}
	select {
	case <-t.ctx.Done():
		return context.Cause(t.ctx)
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// bounded makes ctx end with the agent's context too. Contexts derived from
// that one, the usual case, are used as they are.
func (t *turn) bounded(ctx context.Context) (context.Context, func()) {
	if ctx.Value(turnKey{}) == t {
		return ctx, func() {}
	}
	merged, cancel := context.WithCancelCause(ctx)
	stop := context.AfterFunc(t.ctx, func() { cancel(context.Cause(t.ctx)) })
	return merged, func() { stop(); cancel(nil) }
}

// Checkpoint implements agent.Turn.
func (t *turn) Checkpoint(ctx context.Context, state []byte) error {
	if len(state) > agent.MaxCheckpoint {
		return fmt.Errorf("the checkpoint has %d bytes, at most %d are allowed", len(state), agent.MaxCheckpoint)
	}
	ctx, release := t.bounded(ctx)
	defer release()
	if err := t.floor.take(ctx); err != nil { // in order with the frames around it
		return err
	}
	defer t.floor.leave()
	if t.ctx.Err() != nil {
		return context.Cause(t.ctx)
	}
	t.w.Checkpoint(bytes.Clone(state))
	return nil
}

// ReportUsage implements agent.UsageReporter. What is no JSON object, or too
// large, is left out.
func (t *turn) ReportUsage(usage json.RawMessage) {
	usage = bytes.TrimSpace(usage)
	if len(usage) == 0 || len(usage) > agent.MaxUsage || usage[0] != '{' || !json.Valid(usage) || !utf8.Valid(usage) {
		return
	}
	usage = frame.Repair(bytes.Clone(usage))
	t.usage.Store(&usage)
}

// floor is the right to queue the next frame. Unlike a mutex it can be waited
// for with a context: whoever holds it may be blocked by a slow Redis.
type floor chan struct{}

func (f floor) take(ctx context.Context) error {
	if ctx.Err() == nil {
		select {
		case f <- struct{}{}:
			return nil
		case <-ctx.Done():
		}
	}
	return context.Cause(ctx)
}

func (f floor) leave() { <-f }
