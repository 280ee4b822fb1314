package eventlog

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"
)

// StoredPartitions tells with how many partitions the log in this Redis was
// created, for tools that look and must not write. It fails when no
// node has ever used it, and with ErrFormat when the log is of another version.
func StoredPartitions(ctx context.Context, rdb redis.UniversalClient, timeout time.Duration) (int, error) {
	l := &Log{rdb: rdb, opt: Options{}.withDefaults()}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	got, err := rdb.Get(ctx, formatKey).Result()
	if errors.Is(err, redis.Nil) {
		return 0, fmt.Errorf("no node has ever used it: %s is not there", formatKey)
	}
	if err != nil {
		return 0, l.mapError(ctx, "read format", err)
	}
	var version, partitions int
	if _, err := fmt.Sscanf(got, "%d %d", &version, &partitions); err != nil || partitions < 1 {
		return 0, fmt.Errorf("%w: %s holds %q", ErrFormat, formatKey, got)
	}
	if version != formatVersion {
		return 0, fmt.Errorf("%w: version %d, this program reads %d", ErrFormat, version, formatVersion)
	}
	return partitions, nil
}
