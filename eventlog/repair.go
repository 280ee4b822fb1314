package eventlog

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"
)

var rebuildScript = loadScript("rebuild")

// repairRounds bounds how often one repair looks again: the state can move
// under it only by another failover.
const repairRounds = 5

// pinned is a frame that opened a request still unanswered.
type pinned struct {
	seq   int64
	entry Entry
}

// remember keeps what may have to be written again: the newest frames, and the
// frames of open requests however old they are.
func (w *Writer) remember(first int64, entries []Entry) {
	for i, e := range entries {
		w.tail.push(e)
		if e.Closes != "" {
			delete(w.open, e.Closes)
		}
		if e.Opens != nil {
			if w.open == nil {
				w.open = make(map[string]pinned)
			}
			w.open[e.Opens.ID] = pinned{seq: first + int64(i), entry: e}
		}
	}
}

// settle acts on a reply that says that the call on its way was not made: what
// is missing is written again, then the call is repeated. It runs in the lane's
// goroutine. An error is one of Redis: the call is tried again later.
func (l *lane) settle(ctx context.Context, w *Writer, got reply) error {
	err := w.restore(ctx, got)
	var fenced *FencedError
	switch {
	case err == nil:
		l.repeat(w)
	case errors.As(err, &fenced):
		w.lose(fenced)
		return nil
	}
	return err
}

// restore brings the log to where the writer is, starting from a script's reply.
// It fails with a FencedError when the turn is not the writer's any more.
func (w *Writer) restore(ctx context.Context, got reply) error {
	for range repairRounds {
		var err error
		switch got.str(0) {
		case "ok":
			return nil
		case "behind":
			got, err = w.rewrite(ctx, got.int(1), got.int(2), got.str(3), false)
		case "broken":
			got, err = w.rewrite(ctx, w.appended, w.lastSeq, w.epoch, true)
		case "fenced":
			outcome := got.str(1)
			if outcome != "" || got.int(2) >= w.ordinal || w.fence.Attempt > 1 {
				return &FencedError{Outcome: Outcome(outcome)}
			}
			got, err = w.begin(ctx)
		default:
			return fmt.Errorf("append turn %s: unexpected reply %v", w.fence.TurnID, got)
		}
		if err != nil {
			return err
		}
	}
	return fmt.Errorf("%w: the state keeps moving", ErrUnavailable)
}

// repeat sends the call on its way again, counted from where the writer is now.
func (l *lane) repeat(w *Writer) {
	w.flight.retryAt = time.Now()
	l.delayed = append(l.delayed, w)
}

// rewrite brings the log from the state's appended back to the writer's: under
// the same numbers if the tail reaches back far enough, else under a new epoch.
func (w *Writer) rewrite(ctx context.Context, appended, lastSeq int64, epoch string, broken bool) (reply, error) {
	missing := w.appended - appended
	entries, gap := w.lost(missing)
	fresh := ""
	if broken || gap > 0 || epoch != w.epoch || lastSeq+missing != w.lastSeq {
		// The same id for every try, so that a lost reply does not start two epochs.
		if w.nextEpoch == "" {
			w.nextEpoch = newEpoch()
		}
		fresh = w.nextEpoch
	}
	got, err := w.rebuild(ctx, appended, gap, fresh, entries)
	if err != nil || got.str(0) != "ok" {
		if got.str(0) == "broken" && fresh != "" {
			return nil, fmt.Errorf("%w: rebuild: %s", ErrUnavailable, got.str(1))
		}
		return got, err
	}
	w.renumber(got.int(1), got.str(2), entries)
	how := "tail"
	if fresh != "" {
		how, w.nextEpoch = "epoch", ""
		if len(entries) > 0 && w.opts.OnCommit != nil {
			w.opts.OnCommit(w.commit(got.str(2), got.int(3), entries))
		}
	}
	w.log.opt.Metrics.Repaired(how)
	return got, nil
}

// lost returns the newest missing frames as far as the writer still has them,
// and how many it has no more.
func (w *Writer) lost(missing int64) (entries []Entry, gap int64) {
	entries = w.tail.newest(missing)
	held := int64(len(entries))
	var open []pinned
	for _, p := range w.open {
		if p.seq > w.lastSeq-missing && p.seq <= w.lastSeq-held {
			open = append(open, p)
		}
	}
	slices.SortFunc(open, func(a, b pinned) int { return int(a.seq - b.seq) })
	for i, p := range open {
		entries = slices.Insert(entries, i, p.entry)
	}
	return entries, missing - int64(len(entries))
}

// probe asks the state where it is; it writes nothing.
func (w *Writer) probe(ctx context.Context) (reply, error) {
	return w.rebuild(ctx, w.appended, 0, "", nil)
}

func (w *Writer) rebuild(ctx context.Context, appended, gap int64, fresh string, entries []Entry) (reply, error) {
	opt := &w.log.opt
	args := []any{
		w.fence.TurnID, strconv.Itoa(w.fence.Attempt), w.fence.Owner, opt.ReplayMaxFrames, opt.ReplayMaxBytes,
		appended, len(entries), gap, w.lastSeq, w.epoch, fresh,
	}
	for i := range entries {
		args = append(args, entries[i].Type, entries[i].Frame)
	}
	return w.log.run(ctx, rebuildScript, w.flight.head[3].(string), appendOps(args, entries, w.kept, true)...)
}

// renumber takes over the position that a rebuild gave the turn.
func (w *Writer) renumber(lastSeq int64, epoch string, entries []Entry) {
	for i := range entries {
		if r := entries[i].Opens; r != nil {
			if p, ok := w.open[r.ID]; ok {
				p.seq = lastSeq - int64(len(entries)-1-i)
				w.open[r.ID] = p
			}
		}
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.lastSeq, w.epoch = lastSeq, epoch
}

// begin admits the turn again under its old ids: the begin itself was lost.
func (w *Writer) begin(ctx context.Context) (reply, error) {
	a, err := w.log.Begin(ctx, Begin{
		Thread: w.fence.Thread, Submission: w.admission.Submission, OnBusy: OnBusyReject, Node: w.fence.Owner,
	})
	if err != nil {
		return nil, err
	}
	if a.TurnID != w.fence.TurnID || a.Verdict != VerdictStarted && a.Verdict != VerdictDuplicate {
		return nil, &FencedError{}
	}
	before := w.epoch
	w.ordinal = a.Ordinal
	if a.FirstSeq == w.admission.FirstSeq { // the same numbers again, though under another epoch
		w.mu.Lock()
		w.epoch = a.Epoch
		w.mu.Unlock()
	}
	if a.Epoch != before && w.opts.OnCommit != nil {
		w.opts.OnCommit(w.commit(a.Epoch, a.FirstSeq, []Entry{{Type: "turn_started", Frame: a.Started}}))
	}
	return w.probe(ctx)
}

// CheckWriters compares every running turn of this process with its state and
// writes again what is missing. Call it after a reconnect. It blocks until every
// turn was looked at or ctx ends.
func (l *Log) CheckWriters(ctx context.Context) error {
	c := l.committer()
	c.checking.Lock()
	defer c.checking.Unlock()
	var all []*Writer
	for _, lane := range c.lanes {
		all = append(all, lane.registered()...)
	}
	for _, w := range all {
		w.check()
	}
	for _, w := range all {
		// A writer that was lost meanwhile has told its owner.
		if err := w.Flush(ctx); ctx.Err() != nil {
			return fmt.Errorf("check writers: %w", err)
		}
	}
	for _, t := range c.recentlyFinished() {
		if err := t.redo(ctx); err != nil {
			return fmt.Errorf("check finished turn %s: %w", t.finish.Fence.TurnID, err)
		}
	}
	return nil
}
