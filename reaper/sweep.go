package reaper

import (
	"context"
	"log/slog"
	"time"

	"turnlog/eventlog"
)

// Sweeper finds running turns whose owner nobody knows.
type Sweeper interface {
	Sweep(ctx context.Context, known []string) ([]eventlog.Orphan, error)
	Lose(ctx context.Context, o eventlog.Orphan) (bool, error)
}

// sweep makes a round over all running turns, if one is due. A turn whose owner
// has neither a lease nor a burial ahead is left from a Redis that was restored or
// partly emptied. Its node may be about to register again, so only an orphan
// that the round before has seen too is lost. Rounds are further apart than a lease.
func (r *Reaper) sweep(ctx context.Context, nodes []eventlog.NodeState) error {
	now := time.Now()
	if now.Sub(r.swept) < r.opt.Sweep || !r.opt.Trust.Held(now) {
		return nil
	}
	known := make([]string, 0, len(nodes))
	for _, n := range nodes {
		if !n.Buried {
			known = append(known, n.ID)
		}
	}
	orphans, err := r.log.Sweep(ctx, known)
	if err != nil {
		return err
	}
	r.swept = now
	suspects := make(map[eventlog.Orphan]bool, len(orphans))
	var lost []eventlog.Thread
	for _, o := range orphans {
		if !r.suspects[o] {
			suspects[o] = true
			continue
		}
		done, err := r.log.Lose(ctx, o)
		if err != nil {
			return err
		}
		if done {
			lost = append(lost, o.Thread)
			r.opt.Logger.Warn("turn without an owner was lost", slog.String("thread_id", o.Thread.ID), slog.String("turn_id", o.TurnID))
		}
	}
	r.suspects = suspects
	return r.reapAll(ctx, lost)
}
