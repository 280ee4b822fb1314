package eventlog

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
)

// reply is the flat array that every script returns; what is missing reads as zero.
type reply []any

func (r reply) str(i int) string {
	if i >= len(r) {
		return ""
	}
	switch v := r[i].(type) {
	case string:
		return v
	case int64:
		return strconv.FormatInt(v, 10)
	}
	return ""
}

func (r reply) int(i int) int64 {
	if i >= len(r) {
		return 0
	}
	switch v := r[i].(type) {
	case int64:
		return v
	case string:
		n, _ := strconv.ParseInt(v, 10, 64)
		return n
	}
	return 0
}

// list is a nested array.
func (r reply) list(i int) reply {
	if i >= len(r) {
		return nil
	}
	l, _ := r[i].([]any)
	return l
}

func (r reply) strings() []string {
	out := make([]string, 0, len(r))
	for i := range r {
		out = append(out, r.str(i))
	}
	return out
}

// frames reads seq, ordinal, type, frame, seq, ...
func (r reply) frames() []StoredFrame {
	out := make([]StoredFrame, 0, len(r)/4)
	for i := 0; i+3 < len(r); i += 4 {
		out = append(out, StoredFrame{Seq: r.int(i), Ordinal: r.int(i + 1), Type: r.str(i + 2), Frame: []byte(r.str(i + 3))})
	}
	return out
}

// millis reads a time in Unix milliseconds; 0 is the zero time.
func (r reply) millis(i int) time.Time {
	if ms := r.int(i); ms > 0 {
		return time.UnixMilli(ms)
	}
	return time.Time{}
}

// mapError names what callers branch on and wraps once with the operation.
func (l *Log) mapError(ctx context.Context, op string, err error) error {
	l.opt.Metrics.CommandFailed(op)
	switch {
	case err == nil:
		return nil
	case redis.HasErrorPrefix(err, "OOM") || strings.Contains(err.Error(), "OOM command not allowed"):
		return fmt.Errorf("%s: %w", op, ErrOutOfMemory)
	case errors.Is(err, context.Canceled) && ctx.Err() != nil:
		return fmt.Errorf("%s: %w", op, context.Cause(ctx))
	case isNetwork(err):
		return fmt.Errorf("%s: %w: %v", op, ErrUnavailable, err)
	}
	return fmt.Errorf("%s: %w", op, err)
}

// isNetwork says that Redis could not be reached or did not answer in time, so
// that the call may or may not have been executed.
func isNetwork(err error) bool {
	var ne net.Error
	var re redis.Error
	if errors.As(err, &re) {
		for _, p := range []string{"LOADING", "READONLY", "MASTERDOWN", "CLUSTERDOWN", "TRYAGAIN"} {
			if redis.HasErrorPrefix(err, p) {
				return true
			}
		}
		return false
	}
	return errors.As(err, &ne) || errors.Is(err, context.DeadlineExceeded) || !errors.Is(err, context.Canceled)
}
