package eventlog

import (
	"context"
	"slices"
	"strconv"
	"strings"

	"github.com/redis/go-redis/v9"
)

// historyPage is how many rows of a thread one command reads.
const historyPage = 500

// History returns the newest rows before number before of the thread (0 = all
// its rows), at most limit (0 = 100), oldest first: its own, and in front of them those
// of the threads that it continues or branches off, each up to its branch point. All
// of them are of the same user.
//
// Where a thread of the lineage was deleted, has expired or began a life of its
// own under the same name since, history begins behind it; that is no error. A row
// counts as the one that was there when the thread was created if the newest
// row up to the branch point still has the epoch that it had then.
//
// A thread without lineage takes the one round trip that Messages takes.
func (l *Log) History(ctx context.Context, t Thread, before int64, limit int) ([]Message, error) {
	k, err := l.keys(t)
	if err != nil {
		return nil, err
	}
	if limit <= 0 {
		limit = 100
	}
	h := historian{log: l, threads: k.base[:strings.LastIndexByte(k.base, '/')+1], limit: limit}
	own := stretch{id: t.ID, key: k.messages(), end: "+"}
	if before > 0 {
		own.end = strconv.FormatInt(before-1, 10)
	}
	h.todo = []stretch{own}
	if err := h.read(ctx, 1, k.state()); err != nil {
		return nil, err
	}
	for n := 1; len(h.todo) > 0 && len(h.rows) < limit; n *= 2 { // short threads: more of them in one go
		if err := h.read(ctx, n, ""); err != nil {
			return nil, err
		}
	}
	slices.Reverse(h.rows)
	return h.rows, nil
}

// stretch is the rows of one thread that are still to be read, from end backwards.
type stretch struct {
	id, key, end string
	epoch        string // of the row at end; "" = not looked at
}

// historian gathers rows, newest first.
type historian struct {
	log     *Log
	threads string // what the keys of the user's threads begin with
	limit   int
	rows    []Message
	todo    []stretch
}

// read reads a page of the next n stretches in one round trip, and the lineage
// from the thread's state when it is named.
func (h *historian) read(ctx context.Context, n int, state string) error {
	ctx, cancel := context.WithTimeout(ctx, h.log.opt.CommandTimeout)
	defer cancel()
	now := h.todo[:min(n, len(h.todo))]
	count := min(h.limit-len(h.rows), historyPage)
	pipe := h.log.rdb.Pipeline()
	pages := make([]*redis.XMessageSliceCmd, len(now))
	for i, s := range now {
		pages[i] = pipe.XRevRangeN(ctx, s.key, s.end, "-", int64(count))
	}
	var lineage *redis.SliceCmd
	if state != "" {
		lineage = pipe.HMGet(ctx, state, "lineage")
	}
	if _, err := pipe.Exec(ctx); err != nil {
		return h.log.mapError(ctx, "read history", err)
	}
	if lineage != nil {
		h.descend(parseLineage(reply(lineage.Val()).str(0)))
	}
	for _, page := range pages {
		if !h.take(page.Val(), count) {
			break
		}
	}
	return nil
}

// descend adds the ancestors' stretches behind the thread's own.
func (h *historian) descend(line []ancestor) {
	for _, a := range line {
		if a.seq < 0 {
			break
		}
		id, err := DecodeID(a.thread)
		if a.seq == 0 || err != nil {
			continue
		}
		h.todo = append(h.todo, stretch{
			id: id, key: h.threads + a.thread + ":messages", end: strconv.FormatInt(a.seq, 10), epoch: a.epoch,
		})
	}
}

// take adds a page of the first stretch; false: the pages behind it are of no use now.
func (h *historian) take(page []redis.XMessage, count int) bool {
	s := h.todo[0]
	if s.epoch != "" && (len(page) == 0 || messageOf(s.id, page[0]).Epoch != s.epoch) {
		h.todo = nil // not the thread that it was: history begins here
		return false
	}
	for _, m := range page {
		if len(h.rows) == h.limit {
			break
		}
		h.rows = append(h.rows, messageOf(s.id, m))
	}
	if len(page) == count { // there may be more of it
		s.end, s.epoch = strconv.FormatInt(seqOf(page[count-1].ID)-1, 10), ""
		h.todo[0] = s
		return false
	}
	h.todo = h.todo[1:]
	return len(h.rows) < h.limit
}
