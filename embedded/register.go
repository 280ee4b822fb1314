package embedded

import (
	"context"
	"time"

	"turnlog/eventlog"
)

const (
	registerLook  = 2 * time.Second // between looks for a new node id, a changed load or an old entry
	registerRenew = 6 * time.Hour   // entries live for a day
)

// register keeps the node's entry for operators (turnlog:node:<id>) up to
// date: at start, under each new id, when its load has changed, and before it would
// expire. Nothing depends on it, so failures are only tried again.
func (n *Node) register(ctx context.Context) error {
	entry := n.options.Entry
	if entry.Address == "" {
		return nil
	}
	started := time.Now()
	var id string
	var load eventlog.NodeLoad
	var at time.Time
	ticker := time.NewTicker(registerLook)
	defer ticker.Stop()
	for {
		now, carries := n.service.Node(), eventlog.NodeLoad{Draining: n.draining.Load(), Connections: n.sockets.Connections() + n.api.Streams()}
		if now != id || carries != load || time.Since(at) > registerRenew {
			err := n.log.Register(ctx, eventlog.NodeInfo{ID: now, Address: entry.Address, Version: entry.Version, Started: started, Load: &carries})
			if err == nil {
				id, load, at = now, carries, time.Now()
			} else if ctx.Err() == nil {
				n.options.Logger.Debug("the node could not be registered yet", "error", err)
			}
		}
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		}
	}
}
