package eventlog

import (
	"context"

	"github.com/redis/go-redis/v9"
)

// Peek is a cheap look at a thread.
type Peek struct {
	Thread  Thread
	Epoch   string
	LastSeq int64
	Status  Status // unknown when the thread has no state; the log's retention is not looked at
	Ordinal int64
}

// Peek looks at many threads in one round trip; answers are in the order asked.
func (l *Log) Peek(ctx context.Context, threads []Thread) ([]Peek, error) {
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
		cmds[i] = pipe.HMGet(ctx, k.state(), "epoch", "last_seq", "status", "ordinal")
	}
	if _, err := pipe.Exec(ctx); err != nil {
		return nil, l.mapError(ctx, "peek", err)
	}
	out := make([]Peek, len(threads))
	for i, t := range threads {
		r := reply(cmds[i].Val())
		out[i] = Peek{Thread: t, Epoch: r.str(0), LastSeq: r.int(1), Status: Status(r.str(2)), Ordinal: r.int(3)}
		if out[i].Status == "" {
			out[i].Status = StatusUnknown
		}
	}
	return out, nil
}
