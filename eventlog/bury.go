package eventlog

import (
	"context"
	"fmt"
)

var (
	buryScript   = loadScript("bury")
	buriedScript = loadScript("buried")
)

// Bury clears up behind a dead node: in every partition its late writes are
// refused from here on, its turns become due (Reap ends them, as owner_lost) or
// ready for their next attempt, and its viewers are detached. It works in pages,
// may be interrupted anywhere and called again, by anyone. It returns the
// threads that are now due or ready.
func (l *Log) Bury(ctx context.Context, node string) ([]Thread, error) {
	if err := nodeID(node); err != nil {
		return nil, err
	}
	var touched []Thread
	for p := range l.opt.Partitions {
		for {
			r, err := l.run(ctx, buryScript, partitionPrefix(p)+"dead", l.cfg, node)
			if err != nil {
				return touched, fmt.Errorf("bury node %s: %w", node, err)
			}
			touched = append(touched, parseMembers(r.list(1).strings())...)
			if r.int(0) == 0 {
				break
			}
		}
	}
	return touched, l.markBuried(ctx, node)
}

func (l *Log) markBuried(ctx context.Context, node string) error {
	_, err := l.run(ctx, buriedScript, leaseKey, node)
	return err
}
