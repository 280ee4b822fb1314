package eventlog

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"
)

var (
	runningScript = loadScript("running")
	tallyScript   = loadScript("tally")
)

// EachRunning reads the running turns of all users, page by page, and hands
// each page to f, whose error ends the round. Memory is bounded by one page and
// by the names of one partition's turns. Cost: one command per partition, and
// one more per 256 running turns. A turn that begins or ends meanwhile may be
// missing; every other one is seen once.
func (l *Log) EachRunning(ctx context.Context, f func([]RunningTurn) error) error {
	for p := range l.opt.Partitions {
		seen := make(map[string]bool)
		for cursor := "0"; ; {
			r, err := l.run(ctx, runningScript, partitionPrefix(p)+"turns", pageArgs(cursor, runningFields)...)
			if err != nil {
				return fmt.Errorf("running turns of partition %d: %w", p, err)
			}
			var page []RunningTurn
			for i := 1; i < len(r); i++ {
				row := r.list(i)
				if len(row) == 0 || seen[row.str(0)] {
					continue
				}
				seen[row.str(0)] = true
				t, err := parseMember(row.str(0))
				if err != nil {
					continue
				}
				if turn, ok := listedTurn(t, row[1:]); ok {
					page = append(page, turn)
				}
			}
			if len(page) > 0 {
				if err := f(page); err != nil {
					return err
				}
			}
			if cursor = r.str(0); cursor == "0" {
				break
			}
		}
	}
	return nil
}

func pageArgs(cursor string, fields []string) []any {
	args := []any{cursor, runningPage}
	for _, f := range fields {
		args = append(args, f)
	}
	return args
}

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
