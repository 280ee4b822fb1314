package eventlog

import (
	"context"
	"errors"
	"slices"

	"github.com/redis/go-redis/v9"
)

// runningFields are read in the order that runningTurn expects.
var runningFields = []string{
	"turn_id", "attempt", "owner", "turn_first", "last_seq", "ordinal", "epoch", "policy", "detached_at", "last_append_at", "status",
	"grace_at",
}

// runningPage is how many turns are read in one round trip.
const runningPage = 256

// listedTurn reads runningFields; false: the turn is not running.
func listedTurn(t Thread, r reply) (RunningTurn, bool) {
	if r.str(10) != string(StatusRunning) {
		return RunningTurn{}, false
	}
	turn := runningTurn(t, r)
	turn.DetachedAt, turn.GraceDeadline = r.millis(8), r.millis(11)
	turn.Detached = !turn.DetachedAt.IsZero()
	return turn, true
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
	var out []RunningTurn
	for page := range slices.Chunk(threads, runningPage) {
		turns, err := l.running(ctx, page)
		if err != nil {
			return nil, err
		}
		out = append(out, turns...)
	}
	return out, nil
}

// running is Running in one round trip.
func (l *Log) running(ctx context.Context, threads []Thread) ([]RunningTurn, error) {
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
		if turn, ok := listedTurn(t, reply(cmds[i].Val())); ok {
			out = append(out, turn)
		}
	}
	return out, nil
}
