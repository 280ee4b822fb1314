package session

import (
	"cmp"
	"context"
	"errors"
	"strings"

	"turnlog/agent"
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
	if t.floor.take(ctx) != nil {
		return
	}
	defer t.floor.leave()
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
		entries = append(entries, eventlog.Entry{Type: "generation_stopped", Frame: frame.GenerationStopped(cmp.Or(t.stopMessage, closing.StoppedMessage))})
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
		// What is queued belongs to the text so far. When this fails the writer is
		// lost, and can still end the turn.
		_ = t.w.Flush(ctx)
	}
	fin, err := t.w.Finish(ctx, outcome, t.closingFrames(t.ending(outcome)))
	var fenced *eventlog.FencedError
	if errors.As(err, &fenced) && fenced.Outcome != "" && fenced.Outcome != outcome && fenced.Outcome != eventlog.OutcomeOwnerLost {
		// Fenced in the very moment of its end: whoever did that counts on us.
		outcome = fenced.Outcome
		fin, err = t.w.Finish(ctx, outcome, t.closingFrames(t.ending(outcome)))
	}
	if err == nil {
		t.ready = fin.Ready
		return fin.Outcome
	}
	if errors.As(err, &fenced) && fenced.Outcome != "" {
		return fenced.Outcome
	}
	if !errors.Is(err, eventlog.ErrFenced) && ctx.Err() == nil {
		t.note("turn could not be ended", err)
	}
	return outcome
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
	return t.finish(ctx, outcome)
}

// ending is what the closing frames say.
func (t *turn) ending(outcome eventlog.Outcome) closing.End {
	end := closing.End{Outcome: outcome, Error: t.reason(outcome)}
	if usage := t.usage.Load(); usage != nil {
		end.Usage = *usage
	}
	var failure *agent.Error
	if outcome == eventlog.OutcomeFailed && errors.As(t.failure, &failure) {
		end.ErrorType, end.Status = failure.Type, failure.StatusCode
	}
	return end
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
