package eventlog

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
)

// readState takes over inspectFields.
func (in *Inspection) readState(r reply) {
	in.Log.Epoch, in.Log.LastSeq = r.str(0), r.int(1)
	in.Deleted, in.Created = r.millis(18), r.millis(19)
	if in.Status = StatusUnknown; !in.Deleted.IsZero() {
		return
	}
	in.Exists = r.str(0) != "" || !in.Created.IsZero()
	in.Status = cmp.Or(Status(r.str(10)), StatusUnknown)
	in.Outcome = Outcome(r.str(11))
	in.Meta = ThreadMeta{Title: r.str(20), Kind: r.str(21), KindPolicy: Policy(r.str(22)), Policy: Policy(r.str(23))}
	in.Meta.Continues, _ = DecodeID(r.str(24))
	in.Meta.BranchOf, _ = DecodeID(r.str(25))
	if line := parseLineage(r.str(26)); len(line) > 0 {
		in.Meta.BranchSeq = line[0].seq
	}
	in.Turn = InspectedTurn{
		TurnID: r.str(3), Ordinal: r.int(4), Attempt: int(r.int(5)), Owner: r.str(6), Policy: Policy(r.str(7)), FirstSeq: r.int(8), LastFrame: r.millis(9),
	}
	if in.Status != StatusRunning {
		return
	}
	if closing := r.str(12); closing != "" {
		in.Turn.Ending = closingOutcome(closing)
	}
	in.Turn.Detached, in.Turn.GraceDeadline, in.Turn.StopDeadline, in.Turn.MaxDeadline = r.millis(13), r.millis(14), r.millis(15), r.millis(16)
	in.Turn.StallAfter = time.Duration(r.int(17)) * time.Millisecond
}

// readLog needs the state and the keys to have been read.
func (in *Inspection) readLog(r reply, first, last []redis.XMessage) {
	entries := make(map[string]int64, len(in.Keys))
	for _, key := range in.Keys {
		entries[key.Key] = key.Entries
	}
	in.Log.Frames, in.Log.Messages, in.Log.Queued, in.Log.Inputs = entries["T:log"], entries["T:messages"], entries["T:queue"], entries["T:inputs"]
	if len(first) == 1 && len(last) == 1 {
		text := func(m redis.XMessage, field string) string { s, _ := m.Values[field].(string); return s }
		in.Log.FirstSeq, in.Log.LastType = seqOf(first[0].ID), text(last[0], "type")
		in.Log.LastSeq = max(in.Log.LastSeq, seqOf(last[0].ID))
		from, _ := strconv.ParseInt(text(first[0], "pos"), 10, 64)
		until, _ := strconv.ParseInt(text(last[0], "pos"), 10, 64)
		in.Log.Bytes = until - from + int64(len(text(first[0], "frame")))
	}
	if in.Deleted.IsZero() {
		in.Exists = in.Exists || in.Log.Frames > 0 || in.Log.Messages > 0
		if in.Status == StatusFinished && in.Log.Frames == 0 {
			in.Status = StatusUnknown
		}
	}
}

// inspectedRequests reads T:requests (lua/lib_requests.lua), in the order of their frames.
func inspectedRequests(stored map[string]string) []InspectedRequest {
	out := make([]InspectedRequest, 0, len(stored))
	for id, line := range stored {
		words := strings.SplitN(line, " ", 8)
		if len(words) != 8 {
			continue
		}
		number := func(i int) int64 { n, _ := strconv.ParseInt(words[i], 10, 64); return n }
		r := InspectedRequest{ID: id, Kind: words[2], Name: words[7], Seq: number(0), Answered: words[1] == "a"}
		if at := number(3); at > 0 {
			r.Deadline = time.UnixMilli(at)
		}
		r.Left = time.Duration(number(4)) * time.Millisecond
		if words[5] != "=" {
			r.Target = words[5]
		}
		out = append(out, r)
	}
	slices.SortFunc(out, func(a, b InspectedRequest) int { return cmp.Or(cmp.Compare(a.Seq, b.Seq), cmp.Compare(a.ID, b.ID)) })
	return out
}

func viewingNodes(stored map[string]string) []ViewingNode {
	out := make([]ViewingNode, 0, len(stored))
	for _, node := range slices.Sorted(maps.Keys(stored)) {
		generation, _ := strconv.ParseInt(stored[node], 10, 64)
		out = append(out, ViewingNode{Node: node, Generation: generation})
	}
	return out
}

// keyFacts are the answers about keys on their way.
type keyFacts struct {
	keys    []KeyInfo
	ttls    []*redis.DurationCmd
	entries []*redis.IntCmd
}

// inspectKeys asks how long the keys of a thread and its user stay and how much they hold.
func inspectKeys(ctx context.Context, pipe redis.Pipeliner, described []KeyInfo) keyFacts {
	var f keyFacts
	for _, key := range described {
		if !strings.HasPrefix(key.Key, "T:") && !strings.HasPrefix(key.Key, "U:") || key.Type == "channel" {
			continue
		}
		f.keys = append(f.keys, key)
		f.ttls = append(f.ttls, pipe.PTTL(ctx, key.Name))
		switch key.Type {
		case "stream":
			f.entries = append(f.entries, pipe.XLen(ctx, key.Name))
		case "list":
			f.entries = append(f.entries, pipe.LLen(ctx, key.Name))
		case "zset":
			f.entries = append(f.entries, pipe.ZCard(ctx, key.Name))
		case "set":
			f.entries = append(f.entries, pipe.SCard(ctx, key.Name))
		default:
			f.entries = append(f.entries, pipe.HLen(ctx, key.Name))
		}
	}
	return f
}

// read returns the answers; go-redis gives -1 and -2 of PTTL as nanoseconds.
func (f keyFacts) read() []InspectedKey {
	out := make([]InspectedKey, len(f.keys))
	for i, key := range f.keys {
		ttl := f.ttls[i].Val()
		out[i] = InspectedKey{KeyInfo: key, Exists: ttl != -2, TTL: max(ttl, 0), Entries: f.entries[i].Val()}
	}
	return out
}
