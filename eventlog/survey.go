package eventlog

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"
)

var tallyScript = loadScript("tally")

// Tally counts running turns.
type Tally struct {
	Running  int
	Detached int // of these
}

// TallyTurns counts the turns that a node owns by policy. They are counted
// inside Redis: one round trip for all partitions, and one per partition with
// turns and 256 of them.
func (l *Log) TallyTurns(ctx context.Context, node string) (map[Policy]Tally, error) {
	total := make(map[Policy]Tally, 3)
	for _, p := range []Policy{PolicyCancel, PolicyGrace, PolicyPreserve} {
		total[p] = Tally{}
	}
	used, err := l.usedPartitions(ctx, node)
	if err != nil {
		return nil, err
	}
	for _, p := range used {
		for cursor := "0"; ; {
			r, err := l.run(ctx, tallyScript, nodeKey(p, node, "turns"), cursor, strconv.Itoa(runningPage))
			if err != nil {
				return nil, fmt.Errorf("count turns of partition %d: %w", p, err)
			}
			for i, policy := range []Policy{PolicyCancel, PolicyGrace, PolicyPreserve} {
				sum := total[policy]
				sum.Running += int(r.int(2*i + 1))
				sum.Detached += int(r.int(2*i + 2))
				total[policy] = sum
			}
			if cursor = r.str(0); cursor == "0" {
				break
			}
		}
	}
	return total, nil
}

// usedPartitions lists the partitions in which a node owns turns.
func (l *Log) usedPartitions(ctx context.Context, node string) ([]int, error) {
	ctx, cancel := context.WithTimeout(ctx, l.opt.CommandTimeout)
	defer cancel()
	pipe := l.rdb.Pipeline()
	sizes := make([]*redis.IntCmd, l.opt.Partitions)
	for p := range sizes {
		sizes[p] = pipe.SCard(ctx, nodeKey(p, node, "turns"))
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

// Now is the time by the Redis clock, the one that all deadlines are in.
func (l *Log) Now(ctx context.Context) (time.Time, error) {
	ctx, cancel := context.WithTimeout(ctx, l.opt.CommandTimeout)
	defer cancel()
	now, err := l.rdb.Time(ctx).Result()
	if err != nil {
		return time.Time{}, l.mapError(ctx, "redis time", err)
	}
	return now, nil
}
