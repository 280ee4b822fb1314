package eventlog

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"

	"github.com/redis/go-redis/v9"
)

// formatVersion is the version of everything stored in Redis.
const formatVersion = 1

// Log is the store of all threads. All methods are safe for concurrent use;
// each applies its own deadline to every command it sends.
type Log struct {
	rdb redis.UniversalClient
	opt Options
	cfg string // opt, packed for the scripts

	commit lazyCommitter // started by the first writer

	mu      sync.Mutex
	closers []func() error
	closed  bool
}

// Open checks the server and its format and returns a Log. The client stays
// the caller's. It fails with ErrFormat when the keys in this Redis belong to
// another format or number of partitions.
func Open(ctx context.Context, rdb redis.UniversalClient, opt Options) (*Log, error) {
	opt = opt.withDefaults()
	if err := opt.validate(); err != nil {
		return nil, err
	}
	l := &Log{rdb: rdb, opt: opt, cfg: opt.pack()}
	ctx, cancel := context.WithTimeout(ctx, opt.CommandTimeout)
	defer cancel()
	if err := l.checkServer(ctx); err != nil {
		return nil, err
	}
	if err := l.checkFormat(ctx); err != nil {
		return nil, err
	}
	return l, nil
}

func (l *Log) checkServer(ctx context.Context) error {
	if err := l.rdb.Ping(ctx).Err(); err != nil {
		return fmt.Errorf("redis does not answer (is it running, and is its address right?): %w", l.mapError(ctx, "ping", err))
	}
	info, err := l.rdb.Info(ctx, "server").Result()
	if err != nil {
		// miniredis and some hosted servers do not tell their version.
		return nil
	}
	for line := range strings.Lines(info) {
		if v, ok := strings.CutPrefix(strings.TrimSpace(line), "redis_version:"); ok {
			major, err := strconv.Atoi(strings.SplitN(v, ".", 2)[0])
			if err == nil && major < 7 {
				return fmt.Errorf("redis %s is too old: version 7 or newer is needed", v)
			}
		}
	}
	return nil
}

func (l *Log) checkFormat(ctx context.Context) error {
	want := fmt.Sprintf("%d %d", formatVersion, l.opt.Partitions)
	if err := l.rdb.SetNX(ctx, formatKey, want, 0).Err(); err != nil {
		return l.mapError(ctx, "write format", err)
	}
	got, err := l.rdb.Get(ctx, formatKey).Result()
	if err != nil {
		return l.mapError(ctx, "read format", err)
	}
	if got == want {
		return nil
	}
	var version, partitions int
	if _, err := fmt.Sscanf(got, "%d %d", &version, &partitions); err != nil {
		return fmt.Errorf("%w: %s holds %q", ErrFormat, formatKey, got)
	}
	if version != formatVersion {
		return fmt.Errorf("%w: version %d, this program writes %d", ErrFormat, version, formatVersion)
	}
	return fmt.Errorf("%w: it was created with %d partitions, not %d", ErrFormat, partitions, l.opt.Partitions)
}

// Options returns the options in force, defaults filled in.
func (l *Log) Options() Options { return l.opt }

// onClose registers what Close stops; after Close it runs at once.
func (l *Log) onClose(f func() error) {
	l.mu.Lock()
	closed := l.closed
	if !closed {
		l.closers = append(l.closers, f)
	}
	l.mu.Unlock()
	if closed {
		_ = f()
	}
}

// Close stops the log's background work and waits for it. It is safe to call
// twice and does not close the Redis client.
func (l *Log) Close() error {
	l.mu.Lock()
	closers := l.closers
	l.closers, l.closed = nil, true
	l.mu.Unlock()
	var errs []error
	for i := len(closers) - 1; i >= 0; i-- {
		errs = append(errs, closers[i]())
	}
	return errors.Join(errs...)
}
