package session

import (
	"context"
	"errors"
	"strings"

	"turnlog/closing"
	"turnlog/eventlog"
	"turnlog/frame"
)

// maxReason bounds the reason of a failure that viewers are told, in bytes.
const maxReason = 2000

// logStop logs, at once, what a stop leaves: the text so far, stand-ins and
// generation_stopped. The agent's right to speak has ended before, so no text
// of it follows.
func (t *turn) logStop(ctx context.Context) {
	t.emitMu.Lock()
	defer t.emitMu.Unlock()
	// The transcript knows what is in the log; everything queued belongs to it.
	if t.w.Flush(ctx) != nil {
		return // lost: whoever ended the turn wrote the rest
	}
	entries := t.leftovers(eventlog.OutcomeStopped)
	for _, e := range entries {
		if t.w.Emit(ctx, e) != nil {
			return
		}
	}
}

func (t *turn) leftovers(outcome eventlog.Outcome) []eventlog.Entry {
	t.saidMu.Lock()
	defer t.saidMu.Unlock()
	entries := t.said.Leftovers(outcome)
	if !t.said.Stopped() {
		entries = append(entries, eventlog.Entry{Type: "generation_stopped", Frame: frame.GenerationStopped(closing.StoppedMessage)})
	}
	return entries
}

func (t *turn) closingFrames(end closing.End) []eventlog.Entry {
	t.saidMu.Lock()
	defer t.saidMu.Unlock()
	return t.said.Close(end)
}

// finish ends the turn with outcome and returns the outcome that stands. It
// tries until the log answers or ctx ends.
func (t *turn) finish(ctx context.Context, outcome eventlog.Outcome) eventlog.Outcome {
	t.mail.wait() // a steer that the agent has taken is taken for good
	if outcome != eventlog.OutcomeCompleted {
		// What is queued belongs to the text so far. When this fails the writer is lost.
		_ = t.w.Flush(ctx)
	}
	frames := t.closingFrames(closing.End{Outcome: outcome, Error: t.reason(outcome)})
	t.closed = t.asFinish(outcome, frames)
	fin, err := t.w.Finish(ctx, outcome, frames)
	if err != nil && !isFinal(err) && ctx.Err() == nil {
		// The writer gave up during an outage; the turn must still end.
		err = retry(ctx, 0, func(ctx context.Context) (err error) {
			fin, err = t.log.Finish(ctx, *t.closed)
			return err
		})
		if err == nil {
			t.publish(fin)
		}
	}
	if err != nil {
		t.closed = nil
		if !errors.Is(err, eventlog.ErrFenced) && ctx.Err() == nil {
			t.note("turn could not be ended", err)
		}
		return outcome
	}
	if !fin.Won {
		t.closed = nil
	}
	return fin.Outcome
}

// yield ends a turn that is fenced for outcome: its successor, or a viewer's
// leaving, waits for the end. It returns the outcome that stands. Failing is
// fine: whoever set the fence, or the reaper, ends the turn too.
func (t *turn) yield(ctx context.Context, outcome eventlog.Outcome) eventlog.Outcome {
	// The inputs know the fence better than a refused append does.
	_, err := t.log.Inputs(ctx, t.fence.Thread, t.fence.TurnID, t.after)
	var fenced *eventlog.FencedError
	if errors.As(err, &fenced) && fenced.Outcome != "" {
		outcome = fenced.Outcome
	}
	frames := t.closingFrames(closing.End{Outcome: outcome})
	fin, err := t.log.Finish(ctx, *t.asFinish(outcome, frames))
	if err != nil {
		return outcome
	}
	t.publish(fin)
	return fin.Outcome
}

func (t *turn) asFinish(outcome eventlog.Outcome, frames []eventlog.Entry) *eventlog.Finish {
	return &eventlog.Finish{
		Fence: t.fence, Outcome: outcome, Finisher: t.fence.Owner, Frames: frames, Consumed: t.mail.taken(),
	}
}

// publish feeds closing frames that were written without the writer to this node's viewers.
func (t *turn) publish(fin eventlog.Finished) {
	if !fin.Won || len(fin.Frames) == 0 {
		return
	}
	c := eventlog.Commit{
		Thread: t.fence.Thread, Epoch: fin.Epoch, Ordinal: t.adm.Ordinal, Attempt: t.fence.Attempt,
		TurnID: t.fence.TurnID, FirstSeq: fin.FirstSeq,
	}
	for _, f := range fin.Frames {
		c.Entries = append(c.Entries, eventlog.Entry{Type: f.Type, Frame: f.Frame})
	}
	t.feed.Committed(c)
}

// reason is what viewers are told about a failure.
func (t *turn) reason(outcome eventlog.Outcome) string {
	if outcome != eventlog.OutcomeFailed || t.failure == nil {
		return ""
	}
	if errors.Is(t.failure, eventlog.ErrUnavailable) || errors.Is(t.failure, eventlog.ErrOutOfMemory) {
		return "The event log was unavailable for too long."
	}
	text := t.failure.Error()
	if len(text) > maxReason {
		text = strings.ToValidUTF8(text[:maxReason], "")
	}
	return text
}
