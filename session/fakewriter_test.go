package session_test

import (
	"context"

	"turnlog/eventlog"
	"turnlog/session"
)

func (l *fakeLog) Finish(ctx context.Context, f eventlog.Finish) (fin eventlog.Finished, err error) {
	err = l.do(ctx, "finish", func() error {
		fin, err = l.finish(f)
		return err
	})
	return fin, err
}

func (l *fakeLog) finish(f eventlog.Finish) (eventlog.Finished, error) {
	th := l.thread(f.Fence.Thread)
	if th.adm.TurnID != f.Fence.TurnID || th.adm.Attempt != f.Fence.Attempt {
		return eventlog.Finished{}, &eventlog.FencedError{}
	}
	if th.status == eventlog.StatusFinished {
		return eventlog.Finished{Won: th.finisher == f.Finisher, Outcome: th.outcome, Epoch: th.epoch}, nil
	}
	if th.fence != "" && th.fence != f.Outcome {
		return eventlog.Finished{}, &eventlog.FencedError{Outcome: th.fence}
	}
	if f.Finisher != th.owner && f.AsOf != 0 && f.AsOf != th.seq {
		return eventlog.Finished{}, eventlog.ErrMoved
	}
	th.consumed = max(th.consumed, f.Consumed)
	stored := th.close(f.Outcome, f.Finisher, f.Frames)
	return eventlog.Finished{
		Won: true, Outcome: f.Outcome, FirstSeq: stored[0].Seq, LastSeq: th.seq, Epoch: th.epoch, Frames: stored,
		Ready: len(th.queue) > 0 && f.Outcome != eventlog.OutcomeSuperseded,
	}, nil
}

// fakeWriter appends at once, in the goroutine of Emit.
type fakeWriter struct {
	log   *fakeLog
	fence eventlog.Fence
	opts  eventlog.WriterOptions

	mu       sema // a channel, so that the bubble's clock goes on while it is held
	err      error
	consumed int64
	state    []byte
}

var _ session.Writer = (*fakeWriter)(nil)

func (l *fakeLog) NewWriter(fence eventlog.Fence, _ eventlog.Admission, opts eventlog.WriterOptions) session.Writer {
	return &fakeWriter{log: l, fence: fence, opts: opts, mu: make(sema, 1)}
}

func (w *fakeWriter) Emit(ctx context.Context, e eventlog.Entry) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.err != nil {
		return w.err
	}
	var c eventlog.Commit
	written := false
	err := session.Retry(ctx, w.log.outage, func(ctx context.Context) error {
		return w.log.do(ctx, "append", func() error { return w.append(e, &c, &written) })
	})
	if err != nil {
		if ctx.Err() == nil {
			w.loseLocked(err)
		}
		return err
	}
	w.opts.OnCommit(c)
	return nil
}

// append writes once, however often it is called for an entry.
func (w *fakeWriter) append(e eventlog.Entry, c *eventlog.Commit, written *bool) error {
	th := w.log.thread(w.fence.Thread)
	if *written {
		return nil
	}
	if err := w.fencedLocked(th); err != nil {
		return err
	}
	first := th.append(e)
	*written = true
	th.consumed, w.consumed = max(th.consumed, w.consumed), 0
	if w.state != nil {
		th.state, w.state = w.state, nil
	}
	*c = eventlog.Commit{
		Thread: w.fence.Thread, Epoch: th.epoch, Ordinal: th.ordinal, Attempt: w.fence.Attempt, TurnID: w.fence.TurnID,
		FirstSeq: first, Entries: []eventlog.Entry{e},
	}
	return nil
}
func (w *fakeWriter) fencedLocked(th *fakeThread) error {
	switch {
	case th.adm.TurnID != w.fence.TurnID || th.adm.Attempt != w.fence.Attempt || th.owner != w.fence.Owner:
		return &eventlog.FencedError{}
	case th.status != eventlog.StatusRunning:
		return &eventlog.FencedError{Outcome: th.outcome}
	case th.fence != "":
		return &eventlog.FencedError{Outcome: th.fence}
	}
	return nil
}

func (w *fakeWriter) loseLocked(err error) {
	if w.err == nil {
		w.err = err
		w.opts.OnLost(err)
	}
}

func (w *fakeWriter) Flush(context.Context) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.err
}

func (w *fakeWriter) Check(ctx context.Context) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.err != nil {
		return w.err
	}
	return w.log.do(ctx, "check", func() error { return w.fencedLocked(w.log.thread(w.fence.Thread)) })
}

func (w *fakeWriter) Checkpoint(state []byte) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.state = state
}

func (w *fakeWriter) Consumed(seq int64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.consumed = max(w.consumed, seq)
}

func (w *fakeWriter) Finish(ctx context.Context, outcome eventlog.Outcome, frames []eventlog.Entry) (eventlog.Finished, error) {
	w.mu.Lock()
	consumed := w.consumed
	w.mu.Unlock()
	f := eventlog.Finish{Fence: w.fence, Outcome: outcome, Finisher: w.fence.Owner, Frames: frames, Consumed: consumed}
	var fin eventlog.Finished
	err := session.Retry(ctx, 0, func(ctx context.Context) (err error) {
		fin, err = w.log.Finish(ctx, f)
		return err
	})
	if err == nil && fin.Won && len(fin.Frames) > 0 {
		th := eventlog.Commit{Thread: w.fence.Thread, Epoch: fin.Epoch, Attempt: w.fence.Attempt, TurnID: w.fence.TurnID, FirstSeq: fin.FirstSeq}
		for _, s := range fin.Frames {
			th.Ordinal = s.Ordinal
			th.Entries = append(th.Entries, eventlog.Entry{Type: s.Type, Frame: s.Frame})
		}
		w.opts.OnCommit(th)
	}
	w.Abandon()
	return fin, err
}

func (w *fakeWriter) Abandon() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.err == nil {
		w.err = eventlog.ErrClosed
	}
}

type sema chan struct{}

func (s sema) Lock()   { s <- struct{}{} }
func (s sema) Unlock() { <-s }
