package eventlog

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"github.com/redis/go-redis/v9"
)

// Poll is what a node finds in its inbox and among the threads that wait.
type Poll struct {
	Inbox []Thread // own turns with new inputs, or that were ended by others; taken from the inbox
	Ready []Thread // threads with something to claim (BeginNext); left there
}

const pollPage = 64

// Poll looks at one partition, or at all (-1), in one round trip. Inbox entries
// are taken: after an error the node reads the inputs of all its turns.
func (l *Log) Poll(ctx context.Context, node string, partition int) (Poll, error) {
	from, to := partition, partition+1
	if partition < 0 {
		from, to = 0, l.opt.Partitions
	}
	ctx, cancel := context.WithTimeout(ctx, l.opt.CommandTimeout)
	defer cancel()
	pipe := l.rdb.Pipeline()
	var inbox, ready []*redis.StringSliceCmd
	for p := from; p < to; p++ {
		inbox = append(inbox, pipe.SPopN(ctx, nodeKey(p, node, "inbox"), 4*pollPage))
		ready = append(ready, pipe.ZRange(ctx, partitionPrefix(p)+"ready", 0, pollPage-1))
	}
	if _, err := pipe.Exec(ctx); err != nil && !errors.Is(err, redis.Nil) {
		return Poll{}, l.mapError(ctx, "poll", err)
	}
	var out Poll
	for i := range inbox {
		out.Inbox = append(out.Inbox, parseMembers(inbox[i].Val())...)
		out.Ready = append(out.Ready, parseMembers(ready[i].Val())...)
	}
	return out, nil
}

// Wake tells a node to poll a partition. It is only a hint: nodes poll anyway.
func (l *Log) Wake(ctx context.Context, node string, partition int) error {
	ctx, cancel := context.WithTimeout(ctx, l.opt.CommandTimeout)
	defer cancel()
	if err := l.rdb.Publish(ctx, nodeChannel(node), "w "+strconv.Itoa(partition)).Err(); err != nil {
		return fmt.Errorf("wake node %s: %w", node, l.mapError(ctx, "wake", err))
	}
	return nil
}
