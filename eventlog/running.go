package eventlog

import (
	"context"
	"errors"

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

// Checkpoint returns the newest checkpoint of a thread's running turn, nil
// without one.
func (l *Log) Checkpoint(ctx context.Context, t Thread) ([]byte, error) {
	k, err := l.keys(t)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, l.opt.CommandTimeout)
	defer cancel()
	state, err := l.rdb.HGet(ctx, k.state(), "checkpoint").Bytes()
	if errors.Is(err, redis.Nil) {
		return nil, nil
	}
	if err != nil {
		return nil, l.mapError(ctx, "read checkpoint", err)
	}
	return state, nil
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

// AllRunning lists the running turns of all users: for administrators, and for
// the sweep that finds turns of which no node knows.
func (l *Log) AllRunning(ctx context.Context) ([]RunningTurn, error) {
	threads, err := l.indexed(ctx, "turns")
	if err != nil {
		return nil, err
	}
	return l.Running(ctx, threads)
}

// indexed lists the threads in one zset of every partition.
func (l *Log) indexed(ctx context.Context, name string) ([]Thread, error) {
	ctx, cancel := context.WithTimeout(ctx, l.opt.CommandTimeout)
	defer cancel()
	pipe := l.rdb.Pipeline()
	var sets []*redis.StringSliceCmd
	for p := range l.opt.Partitions {
		sets = append(sets, pipe.ZRange(ctx, partitionPrefix(p)+name, 0, -1))
	}
	if _, err := pipe.Exec(ctx); err != nil {
		return nil, l.mapError(ctx, "list "+name, err)
	}
	var out []Thread
	for _, s := range sets {
		out = append(out, parseMembers(s.Val())...)
	}
	return out, nil
}
