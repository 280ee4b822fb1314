package reaper

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"turnlog/eventlog"
)

// buryNodes declares dead the nodes whose lease is past, if this node may tell,
// and buries every dead node whose burial is not done.
func (r *Reaper) buryNodes(ctx context.Context, nodes []eventlog.NodeState) error {
	for _, n := range nodes {
		if n.Buried || n.ID == r.node {
			continue
		}
		if !n.Dead {
			if !n.Past || !r.opt.Trust.Held(time.Now()) {
				continue
			}
			dead, err := r.log.DeclareDead(ctx, n.ID)
			if err != nil {
				return fmt.Errorf("declare node %s dead: %w", n.ID, err)
			}
			if !dead { // it came back in time
				continue
			}
			r.opt.Logger.Warn("node declared dead", slog.String("dead_node", n.ID), slog.Time("lease_until", n.Until))
		}
		if err := r.bury(ctx, n); err != nil {
			return err
		}
	}
	return nil
}

func (r *Reaper) bury(ctx context.Context, n eventlog.NodeState) error {
	threads, err := r.log.Bury(ctx, n.ID)
	if err != nil {
		return err
	}
	r.opt.Metrics.NodeBuried()
	r.opt.Logger.Info("node buried", slog.String("dead_node", n.ID), slog.Int("threads", len(threads)))
	return r.reapAll(ctx, threads)
}
