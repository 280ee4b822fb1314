package reaper

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"turnlog/closing"
	"turnlog/eventlog"
)

// A thread whose log keeps moving under the reaper's eyes is left for the next look.
const reapTries = 4

// reapAll acts on each thread; one that fails does not keep the others waiting.
func (r *Reaper) reapAll(ctx context.Context, threads []eventlog.Thread) error {
	renewAt := time.Now().Add(eventlog.ReaperLease / 3)
	var failed []error
	for _, t := range threads {
		if time.Now().After(renewAt) { // a long round must not lose the lease
			leads, err := r.lead(ctx)
			if err != nil {
				return errors.Join(append(failed, err)...)
			}
			if !leads {
				return errors.Join(failed...)
			}
			renewAt = time.Now().Add(eventlog.ReaperLease / 3)
		}
		if err := r.reap(ctx, t); err != nil {
			failed = append(failed, err)
			if errors.Is(err, eventlog.ErrUnavailable) || ctx.Err() != nil {
				break
			}
		}
	}
	return errors.Join(failed...)
}

// reap acts on one thread's deadlines. A turn that must end is fenced by the
// first call; its frames are read, and a second call ends it with them.
func (r *Reaper) reap(ctx context.Context, t eventlog.Thread) error {
	ask := eventlog.Reap{Thread: t, Node: r.node, SkipGrace: !r.opt.Trust.Held(time.Now())}
	for range reapTries {
		done, err := r.log.Reap(ctx, ask)
		if err != nil {
			return fmt.Errorf("reap thread %q: %w", t.ID, err)
		}
		for _, id := range done.Expired {
			r.opt.Metrics.RequestExpired()
			r.opt.Logger.Info("request expired", slog.String("thread_id", t.ID), slog.String("request_id", id))
		}
		if !done.Ending {
			if done.Ended && done.Finished.Won {
				r.opt.Metrics.TurnReaped(done.Outcome)
				r.opt.Logger.Info("turn ended by the reaper", slog.String("thread_id", t.ID), slog.String("outcome", string(done.Outcome)))
			}
			return nil
		}
		closing, err := r.closing(ctx, done)
		if err != nil {
			return fmt.Errorf("reap thread %q: %w", t.ID, err)
		}
		ask.Closing = closing
	}
	return nil
}

// closing builds the last frames of a fenced turn from what the log still holds.
func (r *Reaper) closing(ctx context.Context, ending eventlog.Reaped) (*eventlog.Closing, error) {
	transcript, err := closing.Read(ctx, r.log, ending.Turn, r.opt.TextLimit)
	if err != nil {
		return nil, err
	}
	return &eventlog.Closing{
		TurnID:  ending.Turn.TurnID,
		Attempt: ending.Turn.Attempt,
		AsOf:    ending.Turn.LastSeq,
		Frames:  transcript.Close(closing.End{Outcome: ending.Outcome}),
	}, nil
}
