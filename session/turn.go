package session

import (
	"context"
	"encoding/json"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"turnlog/agent"
	"turnlog/closing"
	"turnlog/eventlog"
	"turnlog/frame"
)

// env is what the turns of a node share.
type env struct {
	log  Log
	feed Feed
	opts Options
}

// turn is one attempt on its owner: the agent's goroutine, and a conductor
// that takes inputs, decides (machine) and ends the turn exactly once.
type turn struct {
	*env
	fence   eventlog.Fence
	adm     eventlog.Admission
	w       Writer
	started time.Time

	// ctx is the agent's context. It doubles as the right to speak: once it
	// has ended no frame of the agent is accepted. Its cause is an *agent.Ended
	// unless the agent returned by itself.
	ctx    context.Context
	cancel context.CancelCauseFunc

	floor floor // held from the look at ctx until the frame is queued

	saidMu sync.Mutex
	said   *closing.Transcript // what is in the log; fed by commits

	info  agent.Info // complete before the agent starts
	first int64      // chat_seq of the turn's first frame, over all attempts
	asks  asks
	mail  mailbox
	after int64 // last input taken; conductor only

	usage atomic.Pointer[json.RawMessage] // as the agent last reported it

	failure     error  // why the turn failed; conductor only
	stopMessage string // what viewers are told of the stop that was taken; conductor only
	ready       bool   // the thread has submissions waiting, which this end made claimable; conductor only

	returned chan error
	fenced   chan error            // the writer was lost
	ends     chan eventlog.Outcome // the node ends the turn
	nudged   chan struct{}         // there may be inputs, or the turn may have ended
}

type turnKey struct{}

func newTurn(e *env, life context.Context, fence eventlog.Fence, adm eventlog.Admission) *turn {
	t := &turn{
		env: e, fence: fence, adm: adm, started: time.Now(), first: adm.FirstSeq,
		said:     closing.NewTranscript(e.opts.FrameLimit / 2),
		returned: make(chan error, 1),
		fenced:   make(chan error, 1),
		ends:     make(chan eventlog.Outcome, 1),
		nudged:   make(chan struct{}, 1),
	}
	t.mail.init()
	t.floor = make(floor, 1)
	ctx, cancel := context.WithCancelCause(life)
	t.ctx, t.cancel = context.WithValue(ctx, turnKey{}, t), cancel
	sub := adm.Submission
	t.info = agent.Info{
		User: fence.Thread.User, ThreadID: fence.Thread.ID, TurnID: fence.TurnID, Attempt: fence.Attempt,
		Message: sub.Message, Data: sub.Data, Tools: sub.Tools, FrameLimit: e.opts.FrameLimit,
	}
	t.w = e.log.NewWriter(fence, adm, eventlog.WriterOptions{OnCommit: t.committed, OnLost: t.lost})
	return t
}

// committed is the writer's OnCommit: it must not block.
func (t *turn) committed(c eventlog.Commit) {
	t.saidMu.Lock()
	for _, e := range c.Entries {
		t.said.Add(e.Type, e.Frame)
	}
	t.saidMu.Unlock()
	t.feed.Committed(c)
}

// forgetSaid drops what was said: the writer remembers the turn for a while longer.
func (t *turn) forgetSaid() {
	t.saidMu.Lock()
	defer t.saidMu.Unlock()
	t.said = closing.NewTranscript(t.opts.FrameLimit / 2)
}

// lost is the writer's OnLost; the service calls it too when the node was
// declared dead. It must not block.
func (t *turn) lost(err error) {
	if ev := fencedEvent(err); ev.outcome != "" {
		t.cancel(&agent.Ended{Outcome: string(ev.outcome)})
	} // else the conductor finds out why
	select {
	case t.fenced <- err:
	default:
	}
}

// end makes the node end the turn. It does not block.
func (t *turn) end(outcome eventlog.Outcome) {
	t.cancel(&agent.Ended{Outcome: string(outcome)})
	select {
	case t.ends <- outcome:
	default:
	}
}

// nudge says that there may be something to read. It does not block.
func (t *turn) nudge() {
	select {
	case t.nudged <- struct{}{}:
	default:
	}
}

// fencedEvent tells what a lost writer means; the outcome is empty when it is
// not known.
func fencedEvent(err error) event {
	var fenced *eventlog.FencedError
	switch {
	case errors.As(err, &fenced):
		return event{kind: evFenced, outcome: fenced.Outcome}
	case errors.Is(err, eventlog.ErrFenced), errors.Is(err, eventlog.ErrDeleted), errors.Is(err, eventlog.ErrClosed):
		return event{kind: evFenced, outcome: eventlog.OutcomeOwnerLost}
	}
	return event{kind: evOutage, outcome: eventlog.OutcomeFailed}
}

// endBefore reads how the turn ended from the frame in front of its successor.
func (t *turn) endBefore(ctx context.Context, next int64) eventlog.Outcome {
	frames, err := t.log.Frames(ctx, t.fence.Thread, next-2, next-1, 1, 0)
	if err == nil && len(frames) == 1 && frames[0].Ordinal == t.adm.Ordinal && frames[0].Type == "turn_finished" {
		if outcome, ok := frame.String(frames[0].Frame, "outcome"); ok {
			return eventlog.Outcome(outcome)
		}
	}
	return eventlog.OutcomeSuperseded
}

// why finds out how a turn ended that is not ours any more.
func (t *turn) why(ctx context.Context, ev event) event {
	if ev.kind != evFenced || ev.outcome != "" {
		return ev
	}
	var snap eventlog.Snapshot
	err := retry(ctx, endBudget, func(ctx context.Context) (err error) {
		snap, err = t.log.Attach(ctx, eventlog.Attach{Thread: t.fence.Thread, Cursor: eventlog.Cursor{Live: true}})
		return err
	})
	switch {
	case err == nil && snap.TurnID == t.fence.TurnID && snap.Status == eventlog.StatusFinished && snap.Outcome != "":
		ev.outcome = snap.Outcome
	case err == nil && snap.TurnID != "" && snap.TurnID != t.fence.TurnID:
		ev.outcome = t.endBefore(ctx, snap.TurnFirstSeq)
	default: // another attempt's, deleted, or nobody says
		ev.outcome = eventlog.OutcomeOwnerLost
	}
	return ev
}
