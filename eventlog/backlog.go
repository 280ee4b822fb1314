package eventlog

import (
	"context"
	"strconv"

	"github.com/redis/go-redis/v9"
)

// Backlog is what waits for the reaper and for claims.
type Backlog struct {
	Deadlines int // threads that have a deadline, ahead or past
	Overdue   int // of these, past
	Claimable int // threads whose queue, or next attempt, any node may claim
}

// Backlog counts it, in one round trip of three commands per partition.
func (l *Log) Backlog(ctx context.Context) (Backlog, error) {
	now, err := l.Now(ctx)
	if err != nil {
		return Backlog{}, err
	}
	ctx, cancel := context.WithTimeout(ctx, l.opt.CommandTimeout)
	defer cancel()
	pipe := l.rdb.Pipeline()
	counts := make([][3]*redis.IntCmd, l.opt.Partitions)
	until := strconv.FormatInt(now.UnixMilli(), 10)
	for p := range counts {
		due := partitionPrefix(p) + "due"
		counts[p] = [3]*redis.IntCmd{pipe.ZCard(ctx, due), pipe.ZCount(ctx, due, "-inf", until), pipe.ZCard(ctx, partitionPrefix(p)+"ready")}
	}
	if _, err := pipe.Exec(ctx); err != nil {
		return Backlog{}, l.mapError(ctx, "count deadlines", err)
	}
	var b Backlog
	for _, c := range counts {
		b.Deadlines += int(c[0].Val())
		b.Overdue += int(c[1].Val())
		b.Claimable += int(c[2].Val())
	}
	return b, nil
}
