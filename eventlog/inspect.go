package eventlog

import (
	"context"
	"time"

	"github.com/redis/go-redis/v9"
)

// Inspection is what an operator may know about one thread: ids, numbers and
// times, no contents. Times are by the Redis clock; a zero time means none.
type Inspection struct {
	Thread  Thread
	Now     time.Time // when it was read
	Exists  bool      // it has a state, a log or messages; false of a deleted thread
	Deleted time.Time // when it was deleted, while the mark of that is there (24 h)

	Created time.Time
	Meta    ThreadMeta
	Status  Status  // unknown: it never ran, or its log has run out
	Outcome Outcome // of a finished turn; known longer than its log is held
	Turn    InspectedTurn
	Log     InspectedLog

	Requests []InspectedRequest // of the running turn, in the order of their frames
	Viewers  []ViewingNode      // nodes on which somebody follows the thread, by id
	Keys     []InspectedKey     // of the thread and its user, in the order of DescribeKeys
}

// InspectedTurn is a thread's newest turn; TurnID is "" when none ever began.
type InspectedTurn struct {
	TurnID  string
	Ordinal int64 // which turn of the thread it is, from 1
	Attempt int
	Owner   string // node; "" = lost, about to be tried again
	Agent   string // of a running turn; "" = the default one
	Policy  Policy

	FirstSeq  int64     // chat_seq of its turn_started
	LastFrame time.Time // when its newest frame was appended

	// Of a running turn:
	Ending        Outcome   // it is fenced and about to end like this; "" = it is not
	Detached      time.Time // since when nobody follows it
	GraceDeadline time.Time // it ends unless somebody comes back
	StopDeadline  time.Time // it was told to stop, and is ended if it has not by then
	MaxDeadline   time.Time // turn.max_duration
	StallAfter    time.Duration
}

// InspectedLog is what is held of a thread.
type InspectedLog struct {
	Epoch    string
	LastSeq  int64 // newest number, held or not
	FirstSeq int64 // oldest frame that is held, 0 = none
	Frames   int64 // held
	Bytes    int64 // of these frames
	LastType string
	Messages int64
	Queued   int64 // submissions that wait
	Inputs   int64 // inputs of the running turn, taken or not
}

// InspectedRequest is a request of the running turn.
type InspectedRequest struct {
	ID, Kind, Name string
	Seq            int64         // chat_seq of its frame
	Answered       bool          // the answer is stored, the turn has not taken it yet
	Deadline       time.Time     // when it expires
	Left           time.Duration // of its time, while its clock stands still because nobody watches
	Target         string        // connection that runs it
}

// ViewingNode is a node on which somebody follows a thread.
type ViewingNode struct {
	Node       string
	Generation int64 // rises each time that the node begins to follow it
}

// InspectedKey is a key and what it takes.
type InspectedKey struct {
	KeyInfo
	Exists  bool
	TTL     time.Duration // 0 = it stays
	Bytes   int64         // of memory, as Redis estimates it; 0 where it does not tell
	Entries int64
}

// inspectFields are read in the order that inspection.state expects.
var inspectFields = []string{
	"epoch", "last_seq", "pos", "turn_id", "ordinal", "attempt", "owner", "policy", "turn_first", "last_append_at",
	"status", "outcome", "closing", "detached_at", "grace_at", "stop_at", "max_at", "stall_after", "deleted", "created_at",
	"title", "kind", "kind_policy", "thread_policy", "continues", "branch_of", "lineage",
}

// Inspect reads what is known about a thread, in one moment. A thread that never
// was has a Status of unknown and Exists false; that is no error. It writes nothing.
// Cost: two round trips of about fifty commands, which do not grow with the log; the
// newest turn's submission, its first and its last frame, and its requests pass by.
func (l *Log) Inspect(ctx context.Context, t Thread) (Inspection, error) {
	k, err := l.keys(t)
	if err != nil {
		return Inspection{}, err
	}
	described, err := DescribeKeys(t, l.opt.Partitions)
	if err != nil {
		return Inspection{}, err
	}
	ctx, cancel := context.WithTimeout(ctx, l.opt.CommandTimeout)
	defer cancel()
	pipe := l.rdb.TxPipeline()
	now, state := pipe.Time(ctx), pipe.HMGet(ctx, k.state(), inspectFields...)
	first, last := pipe.XRangeN(ctx, k.log(), "-", "+", 1), pipe.XRevRangeN(ctx, k.log(), "+", "-", 1)
	requests, viewers := pipe.HGetAll(ctx, k.requests()), pipe.HGetAll(ctx, k.viewers())
	keys := inspectKeys(ctx, pipe, described)
	if _, err := pipe.Exec(ctx); err != nil {
		return Inspection{}, l.mapError(ctx, "inspect thread", err)
	}
	in := Inspection{Thread: t, Now: now.Val(), Requests: inspectedRequests(requests.Val()), Viewers: viewingNodes(viewers.Val())}
	in.readState(reply(state.Val()))
	in.Keys = keys.read()
	in.readLog(reply(state.Val()), first.Val(), last.Val())
	return in, l.inspectMore(ctx, k, &in)
}

// inspectMore adds what may be missing without harm: some servers do not tell what a key weighs.
func (l *Log) inspectMore(ctx context.Context, k threadKeys, in *Inspection) error {
	pipe := l.rdb.Pipeline()
	submission := pipe.HGet(ctx, k.state(), "submission")
	bytes := make([]*redis.IntCmd, len(in.Keys))
	for i, key := range in.Keys {
		if key.Exists {
			bytes[i] = pipe.MemoryUsage(ctx, key.Name)
		}
	}
	if _, err := pipe.Exec(ctx); err != nil && isNetwork(err) {
		return l.mapError(ctx, "inspect thread", err)
	}
	for i, weighed := range bytes {
		if weighed != nil {
			in.Keys[i].Bytes = weighed.Val()
		}
	}
	if s, err := decodeSubmission(submission.Val()); err == nil && s.TurnID == in.Turn.TurnID {
		in.Turn.Agent = s.Agent
	}
	return nil
}
