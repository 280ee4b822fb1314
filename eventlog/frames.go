package eventlog

import (
	"context"
	"fmt"
	"strconv"

	"github.com/redis/go-redis/v9"
)

// Frames returns at most limit frames after number after, up to and including
// until (0 = the newest), and stops early once maxBytes are reached (0 = no
// limit; one frame always comes). Frames no longer held are left out silently.
func (l *Log) Frames(ctx context.Context, t Thread, after, until int64, limit int, maxBytes int) ([]StoredFrame, error) {
	k, err := l.keys(t)
	if err != nil {
		return nil, err
	}
	if limit <= 0 {
		limit = 256
	}
	end := "+"
	if until > 0 {
		end = strconv.FormatInt(until, 10)
	}
	ctx, cancel := context.WithTimeout(ctx, l.opt.CommandTimeout)
	defer cancel()
	var out []StoredFrame
	bytes, bite := 0, 64
	for len(out) < limit {
		// Bites grow as long as frames are small: one reply never holds much more than asked for.
		n := min(limit-len(out), bite)
		if bytes < 64<<10 {
			bite *= 4
		}
		page, err := l.rdb.XRangeN(ctx, k.log(), strconv.FormatInt(after+1, 10), end, int64(n)).Result()
		if err != nil {
			return nil, l.mapError(ctx, "read frames", err)
		}
		for _, m := range page {
			f, err := storedFrame(m)
			if err != nil {
				return nil, err
			}
			if maxBytes > 0 && len(out) > 0 && bytes+len(f.Frame) > maxBytes {
				return out, nil
			}
			bytes += len(f.Frame)
			out = append(out, f)
			after = f.Seq
		}
		if len(page) < n {
			break
		}
	}
	return out, nil
}

func storedFrame(m redis.XMessage) (StoredFrame, error) {
	text := func(name string) string { s, _ := m.Values[name].(string); return s }
	ordinal, err := strconv.ParseInt(text("turn"), 10, 64)
	if err != nil {
		return StoredFrame{}, fmt.Errorf("log entry %s: unknown format", m.ID)
	}
	return StoredFrame{Seq: seqOf(m.ID), Ordinal: ordinal, Type: text("type"), Frame: []byte(text("frame"))}, nil
}

// TurnIDs maps the ordinals of the turns that are still held to their ids.
func (l *Log) TurnIDs(ctx context.Context, t Thread) (map[int64]string, error) {
	k, err := l.keys(t)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, l.opt.CommandTimeout)
	defer cancel()
	all, err := l.rdb.HGetAll(ctx, k.turns()).Result()
	if err != nil {
		return nil, l.mapError(ctx, "read turn ids", err)
	}
	return turnNames(all), nil
}
