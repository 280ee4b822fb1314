package eventlog_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/redis/go-redis/v9"

	"turnlog/eventlog"
)

// beginTurn starts a turn by the real script.
func beginTurn(tb testing.TB, log *eventlog.Log, user, thread string) turn {
	tb.Helper()
	th := eventlog.Thread{User: user, ID: thread}
	p, err := log.Partition(user)
	if err != nil {
		tb.Fatal(err)
	}
	id := uuid.NewString()
	a, err := log.Begin(tb.Context(), eventlog.Begin{
		Thread: th, Node: "node-a", Submission: eventlog.Submission{TurnID: id, Message: []byte(`{"role":"user","content":"hi"}`), Policy: eventlog.PolicyPreserve},
	})
	if err != nil || a.Verdict != eventlog.VerdictStarted {
		tb.Fatalf("begin: %+v, %v", a, err)
	}
	return turn{
		fence:     eventlog.Fence{Thread: th, TurnID: id, Attempt: a.Attempt, Owner: "node-a"},
		admission: a,
		base:      fmt.Sprintf("turnlog:{%d}:%s/%s", p, user, thread),
	}
}

var turnEnd = []eventlog.Entry{{Type: "turn_finished", Frame: []byte(`{"type":"turn_finished","outcome":"completed"}`)}}

func TestWriter_FinishWritesWhatIsPendingThenTheClosingFrames(t *testing.T) {
	writerServers(t, func(t *testing.T, addr string) {
		log, rdb := openLog(t, addr, eventlog.Options{})
		tr := beginTurn(t, log, "u", "t")
		next := tr.admission.FirstSeq + 1
		var types []string
		w := log.NewWriter(tr.fence, tr.admission, eventlog.WriterOptions{OnCommit: func(c eventlog.Commit) {
			if c.FirstSeq != next {
				t.Errorf("commit from %d, want %d", c.FirstSeq, next)
			}
			next += int64(len(c.Entries))
			for _, e := range c.Entries {
				types = append(types, e.Type)
			}
		}})
		for i := range 5 {
			emit(t, w, chunk(i))
		}
		open := chunk(5)
		open.Opens = &eventlog.Request{ID: "r1", Kind: "tool_call", Name: "look"}
		emit(t, w, open)
		done, err := w.Finish(t.Context(), eventlog.OutcomeCompleted, turnEnd)
		if err != nil || !done.Won || done.Outcome != eventlog.OutcomeCompleted {
			t.Fatalf("finish: %+v, %v", done, err)
		}
		want := "[chunk chunk chunk chunk chunk chunk request_closed turn_finished]"
		if fmt.Sprint(types) != want {
			t.Errorf("told %v, want %v", types, want)
		}
		if err := w.Emit(t.Context(), chunk(9)); !errors.Is(err, eventlog.ErrClosed) {
			t.Errorf("emit after finish: %v", err)
		}
		_, frames := logFrames(t, rdb, tr.base)
		if len(frames) != 9 {
			t.Errorf("%d frames in the log", len(frames))
		}
	})
}

func TestWriter_FinishSaysHowTheTurnReallyEnded(t *testing.T) {
	writerServers(t, func(t *testing.T, addr string) {
		log, _ := openLog(t, addr, eventlog.Options{})
		tr := beginTurn(t, log, "u", "t")
		w := log.NewWriter(tr.fence, tr.admission, eventlog.WriterOptions{OnCommit: func(c eventlog.Commit) {
			t.Errorf("told of frames that this writer did not write: %+v", c)
		}})
		other, err := log.Finish(t.Context(), eventlog.Finish{Fence: tr.fence, Outcome: eventlog.OutcomeOwnerLost, Finisher: "node-b", Frames: turnEnd})
		if err != nil || !other.Won {
			t.Fatalf("other finish: %+v, %v", other, err)
		}
		done, err := w.Finish(t.Context(), eventlog.OutcomeCompleted, turnEnd)
		if err != nil || done.Won || done.Outcome != eventlog.OutcomeOwnerLost {
			t.Fatalf("finish: %+v, %v", done, err)
		}
	})
}

func TestB51_FinishWithLostRepliesEndsOnce(t *testing.T) {
	writerServers(t, func(t *testing.T, addr string) {
		proxy := startFaultProxy(t, addr)
		log, _ := openLog(t, proxy.addr(), eventlog.Options{})
		direct := redis.NewClient(&redis.Options{Addr: addr})
		defer func() { _ = direct.Close() }()
		for i := range 5 {
			tr := beginTurn(t, log, "u", fmt.Sprint("t", i))
			w := log.NewWriter(tr.fence, tr.admission, eventlog.WriterOptions{})
			emit(t, w, chunk(0))
			flush(t, w)
			proxy.dropReply.Store(1)
			done, err := w.Finish(t.Context(), eventlog.OutcomeCompleted, turnEnd)
			if err != nil || !done.Won || len(done.Frames) != 1 {
				t.Fatalf("finish: %+v, %v", done, err)
			}
			if _, frames := logFrames(t, direct, tr.base); len(frames) != 3 {
				t.Errorf("log holds %d frames", len(frames))
			}
		}
	})
}

func TestWriter_RequestsCheckpointAndInputsTravelWithTheAppend(t *testing.T) {
	writerServers(t, func(t *testing.T, addr string) {
		log, rdb := openLog(t, addr, eventlog.Options{})
		tr := beginTurn(t, log, "u", "t")
		w := log.NewWriter(tr.fence, tr.admission, eventlog.WriterOptions{})
		defer w.Abandon()
		emit(t, w, chunk(0))
		open := chunk(1)
		open.Opens = &eventlog.Request{ID: "r1", Kind: "tool_call", Name: "look it up", Timeout: time.Minute, Prefer: "conn-1"}
		emit(t, w, open)
		second := chunk(2)
		second.Opens = &eventlog.Request{ID: "r2", Kind: "secret"}
		emit(t, w, second)
		flush(t, w)
		if th, ok, err := log.FindRequest(t.Context(), "u", "r1"); err != nil || !ok || th != tr.fence.Thread {
			t.Fatalf("request r1: %v %v %v", th, ok, err)
		}
		if ok, err := log.ClaimRequest(t.Context(), tr.fence.Thread, "r1", "conn-1"); err != nil || !ok {
			t.Errorf("claim: %v %v", ok, err)
		}
		closing := chunk(3)
		closing.Closes = "r1"
		w.Checkpoint([]byte("state-1"))
		w.Checkpoint([]byte("state-2"))
		w.Consumed(7)
		w.Consumed(4)
		emit(t, w, closing)
		flush(t, w)
		if _, ok, err := log.FindRequest(t.Context(), "u", "r1"); err != nil || ok {
			t.Errorf("closed request r1 is still found: %v", err)
		}
		if _, ok, _ := log.FindRequest(t.Context(), "u", "r2"); !ok {
			t.Error("open request r2 is not found")
		}
		got := rdb.HMGet(t.Context(), tr.base+":state", "checkpoint", "consumed", "open").Val()
		if fmt.Sprint(got) != "[state-2 7 1]" {
			t.Errorf("checkpoint, consumed, open: %v", got)
		}
		w.Consumed(9) // no frame to travel with
		flush(t, w)
		if got := rdb.HGet(t.Context(), tr.base+":state", "consumed").Val(); got != "9" {
			t.Errorf("consumed %s", got)
		}
	})
}

func TestRepair_LostBeginIsMadeAgain(t *testing.T) {
	writerServers(t, func(t *testing.T, addr string) {
		log, rdb := openLog(t, addr, eventlog.Options{})
		tr := beginTurn(t, log, "u", "t")
		var commits []eventlog.Commit
		w := log.NewWriter(tr.fence, tr.admission, eventlog.WriterOptions{OnCommit: func(c eventlog.Commit) { commits = append(commits, c) }})
		defer w.Abandon()
		for i := range 5 {
			e := chunk(i)
			if i == 3 {
				e.Opens = &eventlog.Request{ID: "r1", Kind: "tool_call", Name: "look"}
			}
			emit(t, w, e)
		}
		flush(t, w)
		if err := rdb.FlushAll(t.Context()).Err(); err != nil {
			t.Fatal(err)
		}
		if err := log.CheckWriters(t.Context()); err != nil {
			t.Fatal(err)
		}
		emit(t, w, chunk(5))
		flush(t, w)
		epoch, seq := w.Position()
		if epoch == tr.admission.Epoch {
			t.Error("the numbering was lost, but the epoch is the same")
		}
		entries, _ := rdb.XRange(t.Context(), tr.base+":log", "-", "+").Result()
		if len(entries) != 7 || entries[0].Values["type"] != "turn_started" {
			t.Fatalf("log holds %d frames: %v", len(entries), entries)
		}
		for i, e := range entries[1:] {
			if e.ID != fmt.Sprintf("%d-0", i+2) { // dense, under the numbers that they had
				t.Errorf("frame %d has id %s", i, e.ID)
			}
			if e.Values["frame"] != string(chunk(i).Frame) {
				t.Errorf("frame %d is %v", i, e.Values["frame"])
			}
		}
		if last := fmt.Sprint(seq, "-0"); entries[6].ID != fmt.Sprintf("%d-0", seq) {
			t.Errorf("last id %s, want %s", entries[6].ID, last)
		}
		if _, ok, _ := log.FindRequest(t.Context(), "u", "r1"); !ok {
			t.Error("the open request was not registered again")
		}
		for _, c := range commits[len(commits)-2:] {
			if c.Epoch != epoch {
				t.Errorf("told under epoch %s, want %s", c.Epoch, epoch)
			}
		}
	})
}

// The begin is lost and the tail is too short: whatever can be told is dense.
func TestRepair_EverythingLostLeavesNoHole(t *testing.T) {
	writerServers(t, func(t *testing.T, addr string) {
		log, rdb := openLog(t, addr, eventlog.Options{ReplayMaxFrames: 5000})
		tr := beginTurn(t, log, "u", "t")
		w := log.NewWriter(tr.fence, tr.admission, eventlog.WriterOptions{})
		defer w.Abandon()
		const n = 1500
		for i := range n {
			emit(t, w, chunk(i))
		}
		flush(t, w)
		if err := rdb.FlushAll(t.Context()).Err(); err != nil {
			t.Fatal(err)
		}
		emit(t, w, chunk(n))
		flush(t, w)
		epoch, last := w.Position()
		snap, err := log.Attach(t.Context(), eventlog.Attach{Thread: tr.fence.Thread, Cursor: eventlog.Cursor{Full: true}})
		if err != nil || snap.Epoch != epoch || snap.LastSeq != last || snap.FirstHeld < 65536 {
			t.Fatalf("snapshot %+v, %v; want epoch %s and last %d behind a jump", snap, err, epoch, last)
		}
		frames, err := log.Frames(t.Context(), tr.fence.Thread, 0, 0, 5000, 1<<20)
		if err != nil || len(frames) < 100 || int64(len(frames)) != last-snap.FirstHeld+1 {
			t.Fatalf("%d frames held from %d to %d, %v", len(frames), snap.FirstHeld, last, err)
		}
		for i, f := range frames {
			if f.Seq != snap.FirstHeld+int64(i) || string(f.Frame) != string(chunk(n+1-len(frames)+i).Frame) {
				t.Fatalf("frame %d is %d %s", i, f.Seq, f.Frame)
			}
		}
	})
}

func TestRepair_EndThatAFailoverLostIsMadeAgain(t *testing.T) {
	writerServers(t, func(t *testing.T, addr string) {
		log, rdb := openLog(t, addr, eventlog.Options{})
		tr := beginTurn(t, log, "u", "t")
		w := log.NewWriter(tr.fence, tr.admission, eventlog.WriterOptions{})
		for i := range 5 {
			emit(t, w, chunk(i))
		}
		flush(t, w)
		old := takeBackup(t, rdb, tr.base)
		for i := 5; i < 8; i++ {
			emit(t, w, chunk(i))
		}
		if _, err := w.Finish(t.Context(), eventlog.OutcomeCompleted, turnEnd); err != nil {
			t.Fatal(err)
		}
		_, want := logFrames(t, rdb, tr.base)
		old.restore(t, rdb, tr.base)
		for range 2 { // the second time there is nothing to do
			if err := log.CheckWriters(t.Context()); err != nil {
				t.Fatal(err)
			}
			_, got := logFrames(t, rdb, tr.base)
			if fmt.Sprint(got) != fmt.Sprint(want) {
				t.Fatalf("log\n%v, want\n%v", got, want)
			}
			if st := rdb.HMGet(t.Context(), tr.base+":state", "status", "outcome").Val(); fmt.Sprint(st) != "[finished completed]" {
				t.Errorf("state %v", st)
			}
		}
	})
}
