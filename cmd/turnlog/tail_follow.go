package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"turnlog/eventlog"
)

// tail follows one thread's log by asking again and again: a cut connection then needs
// no care, and nothing in the log knows of it.
type tail struct {
	source source
	thread eventlog.Thread
	flags  tailFlags
	view   tailView

	after int64  // number of the last frame that was shown or skipped
	epoch string // of the log so far
	lost  bool   // the source was away at the last call
	last  string // the log's state at the last call
	empty int64  // newest number when frames up to it were asked for and none came
}

// How often tail asks, and how many frames it shows of the past.
const (
	tailEvery  = 250 * time.Millisecond
	tailRetry  = time.Second
	tailNewest = 10
)

// run shows frames until ctx ends or there is nothing more to show.
func (t *tail) run(ctx context.Context) error {
	if err := t.begin(ctx); err != nil {
		return err
	}
	for {
		pause, err := t.step(ctx)
		if errors.Is(err, errTailOver) {
			return t.over(ctx)
		}
		if err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(pause):
		}
	}
}

// errTailOver: everything was shown.
var errTailOver = errors.New("everything was shown")

// begin finds the thread and where to start.
func (t *tail) begin(ctx context.Context) error {
	facts, err := t.source.Thread(ctx, t.thread)
	if err != nil {
		return explain(err, t.thread)
	}
	if facts.DeletedAt != nil {
		return t.deleted(*facts.DeletedAt)
	}
	held := facts.Log
	t.epoch = held.Epoch
	switch {
	case t.flags.since < 0 && held.Frames == 0:
		t.after = held.LastSeq
	case t.flags.since < 0:
		t.after = max(held.FirstSeq-1, held.LastSeq-tailNewest)
	case t.flags.since > held.LastSeq:
		t.after = held.LastSeq
		t.view.note("the log ends at frame %d", held.LastSeq)
	default:
		t.after = t.flags.since
	}
	if held.Frames == 0 {
		t.view.note("no frames are held: the log is gone, messages may still be there")
	}
	return nil
}

// step shows what came, and says when to ask again.
func (t *tail) step(ctx context.Context) (time.Duration, error) {
	page, err := t.source.Frames(ctx, t.thread, t.after)
	switch {
	case isAway(err) && ctx.Err() == nil:
		if !t.lost {
			t.view.note("%v; trying again", err)
		}
		t.lost = true
		return tailRetry, nil
	case errors.Is(err, errNoThread):
		return 0, t.gone(ctx)
	case err != nil:
		return 0, err
	}
	if t.lost {
		t.view.note("back again")
		t.lost = false
	}
	if page.Epoch != "" && page.Epoch != t.epoch {
		if t.epoch != "" {
			t.view.note("a new epoch %s: what follows may not continue what was before", page.Epoch)
		}
		t.epoch = page.Epoch
		if page.LastSeq < t.after {
			t.after = 0 // the numbers began anew
			return 0, nil
		}
	}
	if err := t.show(page); err != nil {
		return 0, err
	}
	switch {
	case t.after < page.LastSeq && (len(page.Frames) > 0 || t.empty != page.LastSeq):
		t.empty = page.LastSeq // none though there are some: appended in between, or gone
		return 0, nil
	case page.Status == eventlog.StatusUnknown && t.last != page.Epoch+" unknown":
		if err := t.gone(ctx); err != nil {
			return 0, err
		}
	}
	t.last = page.Epoch + " " + string(page.Status)
	if t.flags.noFollow || t.flags.untilEnd && page.Status != eventlog.StatusRunning {
		return 0, errTailOver
	}
	return tailEvery, nil
}

// show prints a page's frames, and tells of those that are missing.
func (t *tail) show(page framePage) error {
	for _, f := range page.Frames {
		if t.after+1 < f.ChatSeq {
			t.view.note("%s no longer held", missing(t.after+1, f.ChatSeq-1))
		}
		if err := t.view.frame(page.Epoch, f); err != nil {
			return err
		}
		t.after = f.ChatSeq
	}
	return nil
}

func missing(from, to int64) string {
	if from == to {
		return fmt.Sprintf("frame %d is", from)
	}
	return fmt.Sprintf("frames %d to %d are", from, to)
}

// gone finds out why there is no turn: it is an error when the thread was deleted.
func (t *tail) gone(ctx context.Context) error {
	facts, err := t.source.Thread(ctx, t.thread)
	switch {
	case isAway(err):
		return nil // the next step finds out
	case err != nil:
		return explain(err, t.thread)
	case facts.DeletedAt != nil:
		return t.deleted(*facts.DeletedAt)
	}
	return nil
}

func (t *tail) deleted(at time.Time) error {
	return fmt.Errorf("the thread was deleted at %s", at.Format(time.RFC3339))
}

// over is the exit code when everything was shown.
func (t *tail) over(ctx context.Context) error {
	if !t.flags.untilEnd {
		return nil
	}
	facts, err := t.source.Thread(ctx, t.thread)
	if err != nil {
		return explain(err, t.thread)
	}
	if facts.Turn == nil || facts.Outcome == eventlog.OutcomeCompleted {
		return nil
	}
	return exitError{2, "the last turn ended as " + cmp.Or(string(facts.Outcome), "unknown")}
}
