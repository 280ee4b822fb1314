package eventlog

import (
	"context"
	"fmt"

	"github.com/redis/go-redis/v9"
)

var countTurnsScript = loadScript("count_turns")

// TurnCounts are the fleet's running turns, counted.
type TurnCounts struct {
	Tally
	Nodes    map[string]Tally // by owner; "" = lost, and not yet taken over
	Policies map[Policy]Tally
}

// CountTurns counts the running turns of all users inside Redis: nothing of them is
// sent. Cost: a round trip for all partitions, one for each that has turns, and one more
// per 256 of them. A turn that begins or ends meanwhile is counted or not.
func (l *Log) CountTurns(ctx context.Context) (TurnCounts, error) {
	c := TurnCounts{Nodes: make(map[string]Tally), Policies: make(map[Policy]Tally)}
	for _, p := range []Policy{PolicyCancel, PolicyGrace, PolicyPreserve} {
		c.Policies[p] = Tally{}
	}
	used, err := l.partitionsWithTurns(ctx)
	if err != nil {
		return TurnCounts{}, err
	}
	for _, p := range used {
		for cursor := "0"; ; {
			r, err := l.run(ctx, countTurnsScript, partitionPrefix(p)+"turns", cursor, runningPage)
			if err != nil {
				return TurnCounts{}, fmt.Errorf("count turns of partition %d: %w", p, err)
			}
			for i := 1; i+3 < len(r); i += 4 {
				t := Tally{Running: int(r.int(i + 2)), Detached: int(r.int(i + 3))}
				c.Tally = c.plus(t)
				c.Nodes[r.str(i)] = c.Nodes[r.str(i)].plus(t)
				c.Policies[Policy(r.str(i+1))] = c.Policies[Policy(r.str(i+1))].plus(t)
			}
			if cursor = r.str(0); cursor == "0" {
				break
			}
		}
	}
	return c, nil
}

func (t Tally) plus(o Tally) Tally {
	return Tally{Running: t.Running + o.Running, Detached: t.Detached + o.Detached}
}

func (l *Log) partitionsWithTurns(ctx context.Context) ([]int, error) {
	ctx, cancel := context.WithTimeout(ctx, l.opt.CommandTimeout)
	defer cancel()
	pipe := l.rdb.Pipeline()
	sizes := make([]*redis.IntCmd, l.opt.Partitions)
	for p := range sizes {
		sizes[p] = pipe.ZCard(ctx, partitionPrefix(p)+"turns")
	}
	if _, err := pipe.Exec(ctx); err != nil {
		return nil, l.mapError(ctx, "count turns", err)
	}
	var used []int
	for p, size := range sizes {
		if size.Val() > 0 {
			used = append(used, p)
		}
	}
	return used, nil
}
