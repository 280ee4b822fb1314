package eventlog

import (
	"context"
	"fmt"
	"strconv"
)

var (
	sweepScript = loadScript("sweep")
	loseScript  = loadScript("lose")
)

// sweepPage is how many turns one call of the sweep looks at.
const sweepPage = 256

// Orphan is a running turn whose owner is neither alive nor waiting for its burial.
type Orphan struct {
	Thread  Thread
	TurnID  string
	Attempt int
	Owner   string
}

// Sweep looks at every running turn for owners that are not among known: nodes
// that are alive, or dead and not buried yet. It finds what a restored or
// partly emptied Redis left behind. A node that is just registering again looks
// the same, so only an orphan seen in two sweeps at least a lease apart may be
// given to Lose. Cost: one command per partition and 256 running turns.
func (l *Log) Sweep(ctx context.Context, known []string) ([]Orphan, error) {
	var orphans []Orphan
	for p := range l.opt.Partitions {
		for rank := 0; ; {
			args := make([]any, 0, len(known)+2)
			args = append(args, rank, sweepPage)
			for _, node := range known {
				args = append(args, node)
			}
			r, err := l.run(ctx, sweepScript, partitionPrefix(p)+"turns", args...)
			if err != nil {
				return orphans, fmt.Errorf("sweep partition %d: %w", p, err)
			}
			for i := 1; i+3 < len(r); i += 4 {
				if t, err := parseMember(r.str(i)); err == nil {
					orphans = append(orphans, Orphan{Thread: t, TurnID: r.str(i + 1), Attempt: int(r.int(i + 2)), Owner: r.str(i + 3)})
				}
			}
			kept := int(r.int(0))
			if kept < sweepPage {
				break
			}
			rank += kept
		}
	}
	return orphans, nil
}

// Lose ends an orphan as owner_lost, or gives it its next attempt: it becomes
// due or ready. False: it is no longer as the sweep saw it.
func (l *Log) Lose(ctx context.Context, o Orphan) (bool, error) {
	k, err := l.keys(o.Thread)
	if err != nil {
		return false, err
	}
	r, err := l.run(ctx, loseScript, k.state(), o.TurnID, strconv.Itoa(o.Attempt), o.Owner)
	if err != nil {
		return false, fmt.Errorf("lose turn %s: %w", o.TurnID, err)
	}
	return r.int(0) == 1, nil
}
