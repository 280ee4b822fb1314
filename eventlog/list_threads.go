package eventlog

import (
	"context"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"
)

// ThreadPosition is a place in a user's list of threads, newest activity first.
// The zero value is its beginning.
type ThreadPosition struct {
	Active int64 // Unix milliseconds (Redis clock) of the last activity
	ID     string
}

// ListedThread is a thread as lists show it.
type ListedThread struct {
	Thread  Thread
	Meta    ThreadMeta
	Active  time.Time // a turn began or ended, or the metadata changed
	Status  Status
	Outcome Outcome // of a finished turn
	TurnID  string  // the newest turn, "" = none yet
	LastSeq int64
}

// listFields are read in the order that listedThread expects.
var listFields = []string{
	"title", "kind", "kind_policy", "thread_policy", "continues", "branch_of", "deleted", "created_at", "status", "outcome", "turn_id", "last_seq", "lineage",
}

// ListThreads returns at most limit of a user's threads behind a position, by
// last activity, newest first, and the position of the last one; the zero
// position: there are no more. A thread that becomes active while a caller turns the
// pages moves to the front, so it may be missed by later pages; the others are
// seen once. Threads that have run out are left out.
func (l *Log) ListThreads(ctx context.Context, user string, behind ThreadPosition, limit int) ([]ListedThread, ThreadPosition, error) {
	var out []ListedThread
	for {
		members, more, err := l.threadsBehind(ctx, user, behind, limit-len(out))
		if err != nil {
			return nil, ThreadPosition{}, err
		}
		page, err := l.listed(ctx, user, members)
		if err != nil {
			return nil, ThreadPosition{}, err
		}
		out = append(out, page...)
		if !more {
			return out, ThreadPosition{}, nil
		}
		if behind, err = positionOf(members[len(members)-1]); err != nil || len(out) >= limit {
			return out, behind, err
		}
	}
}

// threadsBehind reads at most n members of the user's index, and tells whether there are more.
func (l *Log) threadsBehind(ctx context.Context, user string, behind ThreadPosition, n int) ([]redis.Z, bool, error) {
	key, err := l.userKey(user, "threads")
	if err != nil {
		return nil, false, err
	}
	from, last := "+inf", ""
	if behind != (ThreadPosition{}) {
		from = strconv.FormatInt(behind.Active, 10)
		if last, err = EncodeID(behind.ID); err != nil {
			return nil, false, err
		}
	}
	ctx, cancel := context.WithTimeout(ctx, l.opt.CommandTimeout)
	defer cancel()
	var out []redis.Z
	for offset := int64(0); ; {
		bite, err := l.rdb.ZRevRangeByScoreWithScores(ctx, key, &redis.ZRangeBy{Max: from, Min: "-inf", Offset: offset, Count: int64(n + 2)}).Result()
		if err != nil {
			return nil, false, l.mapError(ctx, "list threads", err)
		}
		for _, z := range bite {
			// Threads of the same millisecond are in falling order of their ids.
			if id, _ := z.Member.(string); last != "" && int64(z.Score) == behind.Active && id >= last {
				continue
			}
			if out = append(out, z); len(out) > n {
				return out[:n], true, nil
			}
		}
		if len(bite) < n+2 {
			return out, false, nil
		}
		offset += int64(len(bite))
	}
}

func positionOf(z redis.Z) (ThreadPosition, error) {
	encoded, _ := z.Member.(string)
	id, err := DecodeID(encoded)
	return ThreadPosition{Active: int64(z.Score), ID: id}, err
}

// listed reads what lists show of threads, in one round trip.
func (l *Log) listed(ctx context.Context, user string, members []redis.Z) ([]ListedThread, error) {
	if len(members) == 0 {
		return nil, nil
	}
	ctx, cancel := context.WithTimeout(ctx, l.opt.CommandTimeout)
	defer cancel()
	pipe := l.rdb.Pipeline()
	threads := make([]ListedThread, len(members))
	states := make([]*redis.SliceCmd, len(members))
	logs := make([]*redis.IntCmd, len(members))
	for i, z := range members {
		at, err := positionOf(z)
		if err != nil {
			return nil, err
		}
		threads[i] = ListedThread{Thread: Thread{User: user, ID: at.ID}, Active: time.UnixMilli(at.Active)}
		k, err := l.keys(threads[i].Thread)
		if err != nil {
			return nil, err
		}
		states[i], logs[i] = pipe.HMGet(ctx, k.state(), listFields...), pipe.Exists(ctx, k.log())
	}
	if _, err := pipe.Exec(ctx); err != nil {
		return nil, l.mapError(ctx, "list threads", err)
	}
	out := threads[:0]
	for i := range threads {
		if t := threads[i]; t.read(reply(states[i].Val()), logs[i].Val() > 0) {
			out = append(out, t)
		}
	}
	return out, nil
}

// read takes over listFields; false: the thread has run out or was deleted.
func (t *ListedThread) read(r reply, held bool) bool {
	if r.str(6) != "" || r.str(7) == "" {
		return false
	}
	t.Meta = ThreadMeta{Title: r.str(0), Kind: r.str(1), KindPolicy: Policy(r.str(2)), Policy: Policy(r.str(3))}
	t.Meta.Continues, _ = DecodeID(r.str(4))
	t.Meta.BranchOf, _ = DecodeID(r.str(5))
	if line := parseLineage(r.str(12)); len(line) > 0 {
		t.Meta.BranchSeq = line[0].seq
	}
	t.TurnID, t.LastSeq = r.str(10), r.int(11)
	switch status := Status(r.str(8)); {
	case status == StatusRunning:
		t.Status = StatusRunning
	case status == StatusFinished && held:
		t.Status, t.Outcome = StatusFinished, Outcome(r.str(9))
	default:
		t.Status = StatusUnknown
	}
	return true
}
