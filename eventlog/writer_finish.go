package eventlog

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// Finish ends the turn: everything emitted is written first, then the closing
// frames with the outcome, in one script. It keeps trying while Redis is away or
// full, until ctx ends; only then the turn is left to the reaper. OnCommit is
// told the closing frames if this writer won. A writer that was lost may finish
// too: the answer then says how the turn really ended. The writer accepts nothing
// more once Finish was called.
func (w *Writer) Finish(ctx context.Context, outcome Outcome, closing []Entry) (Finished, error) {
	w.mu.Lock()
	w.finishing = true
	for w.err == nil && (w.scheduled || w.done < w.emitted || w.settled < w.forced) {
		if err := w.waitLocked(ctx); err != nil {
			w.Abandon()
			return Finished{}, fmt.Errorf("finish turn %s: %w", w.fence.TurnID, err)
		}
	}
	consumed := w.consumed
	w.mu.Unlock()
	defer w.Abandon()

	f := Finish{Fence: w.fence, Outcome: outcome, Finisher: w.fence.Owner, Frames: closing, Consumed: consumed}
	done, err := w.finish(ctx, f)
	if err != nil {
		return done, err
	}
	w.Abandon() // nothing is scheduled any more
	w.lane.c.keepFinished(w, f)
	w.told(done)
	return done, nil
}

// finish calls the script until Redis answers.
func (w *Writer) finish(ctx context.Context, f Finish) (Finished, error) {
	for delay := laneBackoffMin; ; delay = min(2*delay, laneBackoffMax) {
		done, err := w.log.Finish(ctx, f)
		if err == nil || !errors.Is(err, ErrUnavailable) && !errors.Is(err, ErrOutOfMemory) {
			return done, err
		}
		timer := time.NewTimer(delay)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return done, errors.Join(context.Cause(ctx), err)
		}
	}
}

// told passes the closing frames that this writer wrote to OnCommit.
func (w *Writer) told(done Finished) {
	if !done.Won || len(done.Frames) == 0 {
		return
	}
	w.mu.Lock()
	w.epoch, w.lastSeq = done.Epoch, done.LastSeq
	w.mu.Unlock()
	if w.opts.OnCommit == nil {
		return
	}
	entries := make([]Entry, len(done.Frames))
	for i, f := range done.Frames {
		entries[i] = Entry{Type: f.Type, Frame: f.Frame}
	}
	w.opts.OnCommit(w.commit(done.Epoch, done.Frames[0].Seq, entries))
}

// keepFor is how long a finished turn is remembered, so that an end that a
// failover lost is made again.
const keepFor = time.Minute

// keepBytes bounds what is remembered of finished turns. Beyond it the oldest are
// forgotten earlier; an end of theirs that a failover loses is then found by the
// node's reconciling, and becomes owner_lost.
const keepBytes = 16 << 20

type finishedTurn struct {
	writer *Writer
	finish Finish
	until  time.Time
	bytes  int

	epoch   string // before the closing frames
	lastSeq int64
}

// keepFinished remembers a finished turn, and forgets those whose time is over.
func (c *committer) keepFinished(w *Writer, f Finish) {
	now := time.Now()
	c.mu.Lock()
	defer c.mu.Unlock()
	epoch, lastSeq := w.Position()
	kept := finishedTurn{writer: w, finish: f, until: now.Add(keepFor), bytes: w.retire(f.Frames), epoch: epoch, lastSeq: lastSeq}
	c.finished = append(c.finished, kept)
	c.finishedBytes += kept.bytes
	c.forgetLocked(now)
}

// retire drops what only appending needs and returns about how many bytes are left.
func (w *Writer) retire(closing []Entry) int {
	w.mu.Lock()
	if !w.scheduled { // else a check is on its way, and its lane uses them
		w.flight.entries, w.flight.args = nil, nil
	}
	w.mu.Unlock()
	sub := &w.admission.Submission
	size := 1024 + w.tail.bytes + 64*len(w.tail.ring) + len(sub.Message) + len(sub.Data) + len(sub.Tools) + len(w.kept.checkpoint)
	for _, e := range closing {
		size += len(e.Frame)
	}
	return size
}

func (c *committer) forgetLocked(now time.Time) {
	old := 0
	for old < len(c.finished) && (c.finished[old].until.Before(now) || c.finishedBytes > keepBytes) {
		c.finishedBytes -= c.finished[old].bytes
		old++
	}
	clear(c.finished[:old])
	c.finished = c.finished[old:]
}

func (c *committer) recentlyFinished() []finishedTurn {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.forgetLocked(time.Now())
	return append([]finishedTurn(nil), c.finished...)
}

// redo ends a finished turn again if Redis forgot that it ended.
func (t finishedTurn) redo(ctx context.Context) error {
	w := t.writer
	w.mu.Lock()
	w.epoch, w.lastSeq = t.epoch, t.lastSeq
	w.mu.Unlock()
	got, err := w.probe(ctx)
	if err == nil {
		err = w.restore(ctx, got)
	}
	if errors.Is(err, ErrFenced) {
		return nil // still ended, or the thread went on
	}
	if err != nil {
		return err
	}
	done, err := w.log.Finish(ctx, t.finish)
	if err != nil {
		return err
	}
	w.told(done)
	return nil
}
