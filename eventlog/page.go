package eventlog

import (
	"context"
	"fmt"
	"strconv"

	"github.com/redis/go-redis/v9"
)

// Page is a stretch of a thread's log, as it was at some moment.
type Page struct {
	Frames  []StoredFrame    // frames no longer held are left out silently
	Turns   map[int64]string // turn ids by ordinal, if they were asked for
	Epoch   string           // the log's, after Frames were read
	LastSeq int64            // the log's newest number
	Behind  int64            // bytes of the frames behind Frames up to LastSeq; 0 when Frames is empty
}

// Page reads at most limit frames after one number, up to and including another
// one, in one round trip. With turns it also names the turns that are held. The
// caller bounds the reply: Behind of the page (or snapshot) before tells how large it will be.
func (l *Log) Page(ctx context.Context, t Thread, after, until int64, limit int, turns bool) (Page, error) {
	k, err := l.keys(t)
	if err != nil {
		return Page{}, err
	}
	ctx, cancel := context.WithTimeout(ctx, l.opt.CommandTimeout)
	defer cancel()
	// The order matters: an epoch that is still the same after the read was it during the read.
	pipe := l.rdb.Pipeline()
	entries := pipe.Do(ctx, "XRANGE", k.log(), strconv.FormatInt(after+1, 10), strconv.FormatInt(until, 10), "COUNT", limit)
	state := pipe.HMGet(ctx, k.state(), "epoch", "last_seq", "pos")
	var names *redis.MapStringStringCmd
	if turns {
		names = pipe.HGetAll(ctx, k.turns())
	}
	if _, err := pipe.Exec(ctx); err != nil {
		return Page{}, l.mapError(ctx, "read page", err)
	}
	list, _ := entries.Val().([]any)
	now := reply(state.Val())
	page := Page{Frames: make([]StoredFrame, 0, len(list)), Epoch: now.str(0), LastSeq: now.int(1)}
	kind := ""
	for i := range list {
		entry := reply(list).list(i)
		fields := entry.list(1)
		// turn, type, pos, frame: appends write them in this order.
		if len(fields) < 8 || fields.str(0) != "turn" || fields.str(6) != "frame" {
			return Page{}, fmt.Errorf("log entry %s: unknown format", entry.str(0))
		}
		if typ := fields.str(3); typ != kind {
			kind = typ // runs of one type share one string
		}
		page.Frames = append(page.Frames, StoredFrame{Seq: seqOf(entry.str(0)), Ordinal: fields.int(1), Type: kind, Frame: []byte(fields.str(7))})
		page.Behind = max(now.int(2)-fields.int(5), 0)
	}
	if turns {
		page.Turns = turnNames(names.Val())
	}
	return page, nil
}

// turnNames reads the hash that maps ordinals to turn ids.
func turnNames(hash map[string]string) map[int64]string {
	out := make(map[int64]string, len(hash))
	for ordinal, id := range hash {
		if n, err := strconv.ParseInt(ordinal, 10, 64); err == nil {
			out[n] = id
		}
	}
	return out
}
