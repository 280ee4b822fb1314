package eventlog

import (
	"context"
	"hash/maphash"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
)

// appendLanes is how many pipelines of appends may be on their way at a time.
// Two are enough to fill one while Redis works on the other.
const appendLanes = 2

// laneBuffer is a lane connection's buffer each way, in bytes: a pipeline in few system calls.
const laneBuffer = 64 << 10

var (
	appendScript    = loadScript("append")
	appendOpsScript = loadScript("append_ops")
)

// committer carries the appends of all writers of this process to Redis: a few
// lanes, each taking all turns that are ready and sending one pipeline. Batches
// form by themselves while the lane waits for the replies of the one before.
type committer struct {
	rdb    redis.UniversalClient
	owned  bool // rdb is the committer's own
	opt    Options
	lanes  []*lane
	seed   maphash.Seed
	closed chan struct{}
	once   sync.Once
	wait   sync.WaitGroup

	checking sync.Mutex // one CheckWriters at a time

	mu            sync.Mutex
	finished      []finishedTurn // oldest first
	finishedBytes int
}

// newCommitter starts the lanes; close stops them.
func newCommitter(rdb redis.UniversalClient, opt Options) *committer {
	c := &committer{opt: opt, seed: maphash.MakeSeed(), closed: make(chan struct{})}
	c.rdb, c.owned = appendClient(rdb, appendLanes, opt.CommandTimeout)
	for range appendLanes {
		l := newLane(c)
		c.lanes = append(c.lanes, l)
		c.wait.Go(l.run)
	}
	return c
}

// appendClient returns the client that appends use: a pool of their own, so that
// readers never keep writers waiting, no retries (the lane repeats the same call
// itself) and a deadline on every read and write, so that a connection that
// swallows everything is noticed. Cluster and ring clients are used as they are.
func appendClient(rdb redis.UniversalClient, lanes int, timeout time.Duration) (redis.UniversalClient, bool) {
	plain, ok := rdb.(*redis.Client)
	if !ok {
		return rdb, false
	}
	opts := *plain.Options()
	opts.MaxRetries = -1
	opts.ContextTimeoutEnabled = true
	opts.ReadTimeout, opts.WriteTimeout = timeout, timeout
	opts.DialTimeout = min(opts.DialTimeout, timeout)
	opts.PoolSize, opts.MinIdleConns, opts.MaxIdleConns, opts.MaxActiveConns = lanes+1, 0, 0, 0
	opts.PipelinePoolSize = -1 // everything here is a pipeline
	opts.WriteBufferSize, opts.ReadBufferSize = laneBuffer, laneBuffer
	return redis.NewClient(&opts), true
}

// lane returns the lane of a turn: always the same one, so that its calls stay in order.
func (c *committer) lane(turnID string) *lane {
	return c.lanes[maphash.String(c.seed, turnID)%uint64(len(c.lanes))]
}

// close stops the lanes, waits for them, and fails every writer with ErrClosed.
func (c *committer) close() error {
	c.once.Do(func() { close(c.closed) })
	c.wait.Wait()
	for _, l := range c.lanes {
		for _, w := range l.registered() {
			w.lose(ErrClosed)
		}
	}
	if c.owned {
		return c.rdb.Close()
	}
	return nil
}

// lazyCommitter starts the lanes with the first writer, so that programs that
// only read the log start none.
type lazyCommitter struct {
	once sync.Once
	c    *committer
}

func (l *Log) committer() *committer {
	l.commit.once.Do(func() {
		l.commit.c = newCommitter(l.rdb, l.opt)
		l.onClose(l.commit.c.close)
	})
	return l.commit.c
}

// timeout bounds one round trip of a lane. Lanes belong to the committer, not to
// a caller, so there is no caller's context to derive from.
func (c *committer) timeout() (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.Background(), c.opt.CommandTimeout)
}
