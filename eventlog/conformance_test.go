package eventlog_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"

	"turnlog/eventlog"
	"turnlog/internal/redistest"
)

// world is one backend under the conformance suite. The suite is the same for
// every backend; where they differ, the real Redis is right.
type world struct {
	testing.TB
	log  *eventlog.Log
	rdb  *redis.Client
	mini *miniredis.Miniredis // nil on a real server
	next int
}

// conform runs a test on every backend.
func conform(t *testing.T, opt eventlog.Options, f func(w *world)) {
	t.Helper()
	t.Run("miniredis", func(t *testing.T) {
		addr, mini := redistest.Mini(t)
		log, rdb := openLog(t, addr, opt)
		f(&world{TB: t, log: log, rdb: rdb, mini: mini})
	})
	t.Run("redis", func(t *testing.T) {
		log, rdb := openLog(t, redistest.Start(t), opt)
		f(&world{TB: t, log: log, rdb: rdb})
	})
	t.Run("redis, every script twice", func(t *testing.T) { // B51
		log, rdb := openLog(t, redistest.Start(t), opt)
		rdb.AddHook(&doubler{tb: t, rdb: rdb})
		f(&world{TB: t, log: log, rdb: rdb})
	})
}

// thread returns a thread that no other test uses.
func (w *world) thread() eventlog.Thread {
	w.next++
	return eventlog.Thread{User: "alice", ID: fmt.Sprintf("t%d", w.next)}
}

// submission returns a submission with ids of its own.
func (w *world) submission() eventlog.Submission {
	w.next++
	return eventlog.Submission{
		TurnID: fmt.Sprintf("turn-%d", w.next), Message: []byte(fmt.Sprintf(`{"role":"user","content":"hello %d","list":[],"big":12345678901234567890}`, w.next)),
	}
}

// begin admits a submission and wants the verdict.
func (w *world) begin(b eventlog.Begin, want eventlog.Verdict) eventlog.Admission {
	w.Helper()
	if b.Node == "" {
		b.Node = "node-a"
	}
	if b.Submission.TurnID == "" {
		b.Submission.TurnID = w.submission().TurnID
	}
	if b.Submission.Message == nil {
		b.Submission.Message = w.submission().Message
	}
	a, err := w.log.Begin(w.Context(), b)
	if err != nil {
		w.Fatalf("begin: %v", err)
	}
	if a.Verdict != want {
		w.Fatalf("begin %s: verdict %q, want %q", b.Submission.TurnID, a.Verdict, want)
	}
	return a
}

// start runs a turn of node-a that one viewer of node-a watches.
func (w *world) start(t eventlog.Thread) eventlog.Admission {
	w.Helper()
	return w.begin(eventlog.Begin{Thread: t, Submission: w.submission(), Generation: 1}, eventlog.VerdictStarted)
}

func fenceOf(t eventlog.Thread, a eventlog.Admission, owner string) eventlog.Fence {
	return eventlog.Fence{Thread: t, TurnID: a.TurnID, Attempt: a.Attempt, Owner: owner}
}

// emit appends entries through a writer, as the owner does.
func (w *world) emit(t eventlog.Thread, a eventlog.Admission, owner string, entries ...eventlog.Entry) *eventlog.Writer {
	w.Helper()
	wr := w.log.NewWriter(fenceOf(t, a, owner), a, eventlog.WriterOptions{})
	w.more(wr, entries...)
	return wr
}

func (w *world) more(wr *eventlog.Writer, entries ...eventlog.Entry) {
	w.Helper()
	for _, e := range entries {
		if err := wr.Emit(w.Context(), e); err != nil {
			w.Fatalf("emit: %v", err)
		}
	}
	if err := wr.Flush(w.Context()); err != nil {
		w.Fatalf("flush: %v", err)
	}
}

// closing is what closes a turn in these tests.
func closing(o eventlog.Outcome) []eventlog.Entry {
	return []eventlog.Entry{
		{Type: "chunk", Frame: []byte(`{"type":"chunk","content":"","done":true}`)},
		{Type: "turn_finished", Frame: []byte(`{"type":"turn_finished","outcome":"` + string(o) + `"}`)},
	}
}

func (w *world) finish(t eventlog.Thread, a eventlog.Admission, o eventlog.Outcome) eventlog.Finished {
	w.Helper()
	f, err := w.log.Finish(w.Context(), eventlog.Finish{Fence: fenceOf(t, a, "node-a"), Outcome: o, Finisher: "node-a", Frames: closing(o)})
	if err != nil {
		w.Fatalf("finish: %v", err)
	}
	return f
}

func (w *world) look(t eventlog.Thread) eventlog.Snapshot {
	w.Helper()
	return w.attach(eventlog.Attach{Thread: t, Cursor: eventlog.Cursor{Full: true}})
}

func (w *world) attach(a eventlog.Attach) eventlog.Snapshot {
	w.Helper()
	s, err := w.log.Attach(w.Context(), a)
	if err != nil {
		w.Fatalf("attach: %v", err)
	}
	return s
}

func (w *world) detach(t eventlog.Thread, node string, generation int64, byServer bool) eventlog.DetachResult {
	w.Helper()
	d, err := w.log.Detach(w.Context(), t, node, generation, byServer)
	if err != nil {
		w.Fatalf("detach: %v", err)
	}
	return d
}

func (w *world) frames(t eventlog.Thread, after int64) []eventlog.StoredFrame {
	w.Helper()
	f, err := w.log.Frames(w.Context(), t, after, 0, 10000, 0)
	if err != nil {
		w.Fatalf("frames: %v", err)
	}
	return f
}

// types checks numbers and types of all held frames: "3 chunk", ...
func (w *world) types(t eventlog.Thread, want ...string) {
	w.Helper()
	var got []string
	for _, f := range w.frames(t, 0) {
		got = append(got, fmt.Sprintf("%d %s", f.Seq, f.Type))
	}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		w.Fatalf("log of %s:\n got %v\nwant %v", t.ID, got, want)
	}
}

func (w *world) input(t eventlog.Thread, turnID string, in eventlog.Input, want eventlog.InputVerdict) eventlog.InputResult {
	w.Helper()
	r, err := w.log.SendInput(w.Context(), t, turnID, in)
	if err != nil {
		w.Fatalf("send %s: %v", in.Kind, err)
	}
	if r.Verdict != want {
		w.Fatalf("send %s: verdict %q, want %q", in.Kind, r.Verdict, want)
	}
	return r
}

// reapUntilEnded acts as the reaper until the thread's turn has ended.
func (w *world) reapUntilEnded(t eventlog.Thread) eventlog.Reaped {
	w.Helper()
	var out eventlog.Reaped
	eventually(w, "the reaper ends the turn of "+t.ID, func() bool {
		out = w.reap(t)
		return out.Ended
	})
	return out
}

// reap is one look of the reaper: both calls when the turn has to end.
func (w *world) reap(t eventlog.Thread) eventlog.Reaped {
	w.Helper()
	r, err := w.log.Reap(w.Context(), eventlog.Reap{Thread: t, Node: "node-r"})
	if err != nil {
		w.Fatalf("reap: %v", err)
	}
	if !r.Ending {
		return r
	}
	r, err = w.log.Reap(w.Context(), eventlog.Reap{Thread: t, Node: "node-r", Closing: &eventlog.Closing{
		TurnID: r.Turn.TurnID, Attempt: r.Turn.Attempt, AsOf: r.Turn.LastSeq, Frames: closing(r.Outcome),
	}})
	if err != nil {
		w.Fatalf("reap with closing frames: %v", err)
	}
	return r
}

// pass lets d go by for keys with a TTL: miniredis moves them only when told.
func (w *world) pass(d time.Duration, key string) {
	w.Helper()
	if w.mini != nil {
		w.mini.FastForward(d)
	}
	eventually(w, key+" expires", func() bool { return w.rdb.Exists(w.Context(), key).Val() == 0 })
}

func (w *world) base(t eventlog.Thread) string {
	w.Helper()
	p, err := w.log.Partition(t.User)
	if err != nil {
		w.Fatal(err)
	}
	u, err := eventlog.EncodeID(t.User)
	if err != nil {
		w.Fatal(err)
	}
	id, err := eventlog.EncodeID(t.ID)
	if err != nil {
		w.Fatal(err)
	}
	return fmt.Sprintf("turnlog:{%d}:%s/%s", p, u, id)
}
