package eventlog

import (
	"context"

	"github.com/redis/go-redis/v9"
)

// runningFields are read in the order that runningTurn expects.
var runningFields = []string{
	"turn_id", "attempt", "owner", "turn_first", "last_seq", "ordinal", "epoch", "policy", "detached_at", "last_append_at", "status",
}

// RunningTurns lists a user's running turns.
func (l *Log) RunningTurns(ctx context.Context, user string) ([]RunningTurn, error) {
	key, err := l.userKey(user, "running")
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, l.opt.CommandTimeout)
	defer cancel()
	ids, err := l.rdb.SMembers(ctx, key).Result()
	if err != nil {
		return nil, l.mapError(ctx, "list running turns", err)
	}
	var threads []Thread
	for _, id := range ids {
		if decoded, err := DecodeID(id); err == nil {
			threads = append(threads, Thread{User: user, ID: decoded})
		}
	}
	return l.Running(ctx, threads)
}

// Running returns those of the threads' turns that are running.
func (l *Log) Running(ctx context.Context, threads []Thread) ([]RunningTurn, error) {
	if len(threads) == 0 {
		return nil, nil
	}
	ctx, cancel := context.WithTimeout(ctx, l.opt.CommandTimeout)
	defer cancel()
	pipe := l.rdb.Pipeline()
	cmds := make([]*redis.SliceCmd, len(threads))
	for i, t := range threads {
		k, err := l.keys(t)
		if err != nil {
			return nil, err
		}
		cmds[i] = pipe.HMGet(ctx, k.state(), runningFields...)
	}
	if _, err := pipe.Exec(ctx); err != nil {
		return nil, l.mapError(ctx, "read running turns", err)
	}
	var out []RunningTurn
	for i, t := range threads {
		r := reply(cmds[i].Val())
		if r.str(10) != string(StatusRunning) {
			continue
		}
		turn := runningTurn(t, r)
		turn.Detached = r.int(8) > 0
		out = append(out, turn)
	}
	return out, nil
}
