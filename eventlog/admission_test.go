package eventlog_test

import (
	"errors"
	"fmt"
	"sync"
	"testing"

	"turnlog/eventlog"
)

func TestB41_ANewMessageSupersedesTheRunningTurn(t *testing.T) {
	conform(t, eventlog.Options{}, func(w *world) {
		th := w.thread()
		a := w.start(th)
		wr := w.emit(th, a, "node-a", chunk(0))
		b := eventlog.Begin{Thread: th, Submission: w.submission(), Node: "node-b"}
		busy := w.begin(b, eventlog.VerdictSuperseding).Busy
		if busy.TurnID != a.TurnID || busy.FirstSeq != 1 || busy.LastSeq != 2 || busy.Owner != "node-a" || busy.Attempt != 1 || busy.Epoch != a.Epoch {
			w.Fatalf("running turn %+v", busy)
		}
		// The old owner is refused from here on, and woken.
		var fenced *eventlog.FencedError
		_ = wr.Emit(w.Context(), chunk(1))
		if err := wr.Flush(w.Context()); !errors.As(err, &fenced) || fenced.Outcome != eventlog.OutcomeSuperseded {
			w.Fatalf("append of the old owner: %v", err)
		}
		if _, err := w.log.Inputs(w.Context(), th, a.TurnID, 0); !errors.As(err, &fenced) || fenced.Outcome != eventlog.OutcomeSuperseded {
			w.Fatalf("inputs of the old turn: %v", err)
		}
		if p, err := w.log.Poll(w.Context(), "node-a", -1); err != nil || len(p.Inbox) != 1 || p.Inbox[0] != th {
			w.Fatalf("inbox of the old owner %+v, %v", p, err)
		}
		b.Closing = &eventlog.Closing{TurnID: busy.TurnID, Attempt: busy.Attempt, AsOf: busy.LastSeq, Frames: closing(eventlog.OutcomeSuperseded)[1:]}
		n := w.begin(b, eventlog.VerdictStarted)
		if n.FirstSeq != 4 || n.Ordinal != 2 || n.Epoch != a.Epoch {
			w.Fatalf("successor %+v", n)
		}
		w.types(th, "1 turn_started", "2 chunk", "3 turn_finished", "4 turn_started")
		// The old owner's own finish comes too late and is told how the turn ended.
		_, err := w.log.Finish(w.Context(), eventlog.Finish{Fence: fenceOf(th, a, "node-a"), Finisher: "node-a", Outcome: eventlog.OutcomeCompleted, Frames: closing("completed")})
		if !errors.As(err, &fenced) || fenced.Outcome != eventlog.OutcomeSuperseded {
			w.Fatalf("late finish: %v", err)
		}
	})
}

func TestB41_TheOwnerMayEndASupersededTurnItself(t *testing.T) {
	conform(t, eventlog.Options{}, func(w *world) {
		th := w.thread()
		a := w.start(th)
		b := eventlog.Begin{Thread: th, Submission: w.submission(), Node: "node-b"}
		w.begin(b, eventlog.VerdictSuperseding)
		var fenced *eventlog.FencedError
		_, err := w.log.Finish(w.Context(), eventlog.Finish{Fence: fenceOf(th, a, "node-a"), Finisher: "node-a", Outcome: eventlog.OutcomeCompleted, Frames: closing("completed")})
		if !errors.As(err, &fenced) || fenced.Outcome != eventlog.OutcomeSuperseded {
			w.Fatalf("a superseded turn completed: %v", err)
		}
		w.finish(th, a, eventlog.OutcomeSuperseded)
		w.begin(b, eventlog.VerdictStarted)
	})
}

func TestB41_RejectRefusesAndStoresNothing(t *testing.T) {
	conform(t, eventlog.Options{}, func(w *world) {
		th := w.thread()
		a := w.start(th)
		before := dump(w, w.rdb)
		s := w.submission()
		s.ID = "m1"
		r := w.begin(eventlog.Begin{Thread: th, Submission: s, OnBusy: eventlog.OnBusyReject}, eventlog.VerdictBusy)
		if r.Busy.TurnID != a.TurnID {
			w.Fatalf("busy with %+v", r.Busy)
		}
		if after := dump(w, w.rdb); difference(before, after) != "" {
			w.Fatalf("a refused submission left:\n%s", difference(before, after))
		}
	})
}

func TestB41_QueuedSubmissionsRunInOrder(t *testing.T) {
	conform(t, eventlog.Options{QueueLimit: 2}, func(w *world) {
		th := w.thread()
		a := w.start(th)
		one, two := w.submission(), w.submission()
		one.ID, one.Data, one.Conn = "c1", []byte(`{"demo":{"frames":[]}}`), "conn-9"
		if r := w.begin(eventlog.Begin{Thread: th, Submission: one, OnBusy: eventlog.OnBusyEnqueue}, eventlog.VerdictQueued); r.Position != 1 {
			w.Fatalf("position %d", r.Position)
		}
		if r := w.begin(eventlog.Begin{Thread: th, Submission: two, OnBusy: eventlog.OnBusyEnqueue}, eventlog.VerdictQueued); r.Position != 2 {
			w.Fatalf("position %d", r.Position)
		}
		w.begin(eventlog.Begin{Thread: th, Submission: w.submission(), OnBusy: eventlog.OnBusyEnqueue}, eventlog.VerdictQueueFull)
		if r := w.begin(eventlog.Begin{Thread: th, Submission: eventlog.Submission{TurnID: "again", ID: "c1"}, OnBusy: eventlog.OnBusyEnqueue}, eventlog.VerdictDuplicate); r.TurnID != one.TurnID || r.Position != 1 {
			w.Fatalf("duplicate of a queued submission %+v", r)
		}
		if n, err := w.log.BeginNext(w.Context(), th, "node-b"); err != nil || n.Verdict != "" {
			w.Fatalf("claimed %+v while a turn runs, %v", n, err)
		}
		if f := w.finish(th, a, eventlog.OutcomeCompleted); !f.Ready {
			w.Fatal("the thread is not ready")
		}
		if p, err := w.log.Poll(w.Context(), "node-b", -1); err != nil || len(p.Ready) != 1 || p.Ready[0] != th {
			w.Fatalf("poll %+v, %v", p, err)
		}
		n, err := w.log.BeginNext(w.Context(), th, "node-b")
		if err != nil || n.Verdict != eventlog.VerdictStarted || n.TurnID != one.TurnID || n.Ordinal != 2 {
			w.Fatalf("claimed %+v, %v", n, err)
		}
		if s := n.Submission; string(s.Message) != string(one.Message) || string(s.Data) != string(one.Data) || s.Conn != "conn-9" || s.ID != "c1" {
			w.Fatalf("submission %+v", s)
		}
		if p, err := w.log.Poll(w.Context(), "node-b", -1); err != nil || len(p.Ready) != 0 {
			w.Fatalf("poll after the claim %+v, %v", p, err)
		}
		q, err := w.log.Queue(w.Context(), th)
		if err != nil || len(q) != 1 || q[0].TurnID != two.TurnID {
			w.Fatalf("queue %+v, %v", q, err)
		}
		if ok, err := w.log.DropQueued(w.Context(), th, two.TurnID); err != nil || !ok {
			w.Fatalf("drop: %v, %v", ok, err)
		}
	})
}

func TestB41_OneNodeClaims(t *testing.T) {
	conform(t, eventlog.Options{}, func(w *world) {
		th := w.thread()
		a := w.start(th)
		w.begin(eventlog.Begin{Thread: th, Submission: w.submission(), OnBusy: eventlog.OnBusyEnqueue}, eventlog.VerdictQueued)
		w.finish(th, a, eventlog.OutcomeCompleted)
		var mu sync.Mutex
		var wg sync.WaitGroup
		claims := 0
		for i := range 8 {
			wg.Go(func() {
				n, err := w.log.BeginNext(w.Context(), th, fmt.Sprintf("node-%d", i))
				if err != nil {
					w.Errorf("claim: %v", err)
				}
				if n.Verdict == eventlog.VerdictStarted {
					mu.Lock()
					claims++
					mu.Unlock()
				}
			})
		}
		wg.Wait()
		if claims != 1 {
			w.Fatalf("%d nodes claimed", claims)
		}
	})
}

func TestB41_ASubmissionBehindAQueueWaitsAndSupersedeJumpsIt(t *testing.T) {
	conform(t, eventlog.Options{}, func(w *world) {
		th := w.thread()
		a := w.start(th)
		w.begin(eventlog.Begin{Thread: th, Submission: w.submission(), OnBusy: eventlog.OnBusyEnqueue}, eventlog.VerdictQueued)
		w.finish(th, a, eventlog.OutcomeCompleted)
		if r := w.begin(eventlog.Begin{Thread: th, Submission: w.submission(), OnBusy: eventlog.OnBusyEnqueue}, eventlog.VerdictQueued); r.Position != 2 {
			w.Fatalf("position %d", r.Position)
		}
		b := w.start(th)
		if f := w.finish(th, b, eventlog.OutcomeCompleted); !f.Ready {
			w.Fatal("the queue is forgotten")
		}
	})
}

func TestB44_TheSameClientIDIsTheSameTurn(t *testing.T) {
	conform(t, eventlog.Options{}, func(w *world) {
		th := w.thread()
		s := w.submission()
		s.ID, s.Digest = "client id {1}", "d1"
		a := w.begin(eventlog.Begin{Thread: th, Submission: s}, eventlog.VerdictStarted)
		again := s
		again.TurnID = "other"
		r := w.begin(eventlog.Begin{Thread: th, Submission: again, Node: "node-b"}, eventlog.VerdictDuplicate)
		if r.TurnID != a.TurnID || r.Status != eventlog.StatusRunning || r.FirstSeq != 1 {
			w.Fatalf("duplicate %+v", r)
		}
		other := again
		other.Digest = "d2"
		w.begin(eventlog.Begin{Thread: th, Submission: other}, eventlog.VerdictConflict)
		w.finish(th, a, eventlog.OutcomeCompleted)
		if r = w.begin(eventlog.Begin{Thread: th, Submission: again}, eventlog.VerdictDuplicate); r.Status != eventlog.StatusFinished {
			w.Fatalf("duplicate after the end %+v", r)
		}
		if ttl := w.rdb.PTTL(w.Context(), w.base(th)+":submit:client%20id%20%7B1%7D").Val(); ttl.Hours() < 23 || ttl.Hours() > 24 {
			w.Fatalf("remembered for %s", ttl)
		}
	})
}

func TestB48_TheQuotaCountsRunningTurns(t *testing.T) {
	conform(t, eventlog.Options{}, func(w *world) {
		one, two := w.thread(), w.thread()
		a := w.start(one)
		s := w.submission()
		s.ID = "q"
		w.begin(eventlog.Begin{Thread: two, Submission: s, Quota: 1}, eventlog.VerdictQuota)
		r := eventlog.Begin{Thread: one, Submission: w.submission(), Quota: 1}
		busy := w.begin(r, eventlog.VerdictSuperseding).Busy
		r.Closing = &eventlog.Closing{TurnID: busy.TurnID, Attempt: 1, AsOf: busy.LastSeq, Frames: closing("superseded")}
		b := w.begin(r, eventlog.VerdictStarted)
		if b.TurnID == a.TurnID {
			w.Fatal("not superseded")
		}
		w.finish(one, b, eventlog.OutcomeFailed)
		w.begin(eventlog.Begin{Thread: two, Submission: s, Quota: 1}, eventlog.VerdictStarted)
	})
}

func TestB91_ADeletedThreadStaysDeleted(t *testing.T) {
	conform(t, eventlog.Options{}, func(w *world) {
		th := w.thread()
		s := w.submission()
		a := w.begin(eventlog.Begin{Thread: th, Submission: s, Generation: 1}, eventlog.VerdictStarted)
		wr := w.emit(th, a, "node-a", eventlog.Entry{Type: "tool_call", Frame: []byte(`{"type":"tool_call"}`), Opens: &eventlog.Request{ID: "r1", Kind: "tool_call"}})
		if ok, err := w.log.Delete(w.Context(), th); err != nil || !ok {
			w.Fatalf("delete: %v, %v", ok, err)
		}
		for k := range dump(w, w.rdb) {
			switch k {
			case w.base(th) + ":state", w.base(th) + ":submit:" + s.TurnID, "turnlog:{nodes}:format":
			default:
				if len(k) < 5 || k[len(k)-5:] != "inbox" {
					w.Errorf("%s is left", k)
				}
			}
		}
		_ = wr.Emit(w.Context(), chunk(0))
		if err := wr.Flush(w.Context()); !errors.Is(err, eventlog.ErrFenced) {
			w.Fatalf("late append: %v", err)
		}
		if _, err := w.log.Finish(w.Context(), eventlog.Finish{Fence: fenceOf(th, a, "node-a"), Finisher: "node-a", Outcome: "completed", Frames: closing("completed")}); !errors.Is(err, eventlog.ErrFenced) {
			w.Fatalf("late finish: %v", err)
		}
		if _, err := w.log.Begin(w.Context(), eventlog.Begin{Thread: th, Submission: s, Node: "node-a"}); !errors.Is(err, eventlog.ErrDeleted) {
			w.Fatalf("begin sent again: %v", err)
		}
		if snap := w.attach(eventlog.Attach{Thread: th, Node: "node-b", Generation: 1}); snap.Status != eventlog.StatusUnknown {
			w.Fatalf("snapshot %+v", snap)
		}
		if w.reap(th).Ended {
			w.Fatal("the reaper ended a deleted turn")
		}
		n := w.start(th) // a new message makes a new thread of it
		if n.Epoch == a.Epoch || n.FirstSeq != 1 {
			w.Fatalf("new turn %+v", n)
		}
	})
}

// What waits in the queue does not slip in between a superseded turn and its superseder.
func TestB41_TheSupersederGoesBeforeTheQueue(t *testing.T) {
	conform(t, eventlog.Options{}, func(w *world) {
		th := w.thread()
		a := w.start(th)
		waiting := w.begin(eventlog.Begin{Thread: th, Submission: w.submission(), OnBusy: eventlog.OnBusyEnqueue}, eventlog.VerdictQueued)
		b := eventlog.Begin{Thread: th, Submission: w.submission(), Node: "node-b"}
		w.begin(b, eventlog.VerdictSuperseding)
		if f := w.finish(th, a, eventlog.OutcomeSuperseded); f.Ready {
			w.Fatal("the queue was offered before the superseder came")
		}
		if c, err := w.log.BeginNext(w.Context(), th, "node-a"); err != nil || c.Verdict != "" {
			w.Fatalf("claimed %+v, %v", c, err)
		}
		n := w.begin(b, eventlog.VerdictStarted)
		f, err := w.log.Finish(w.Context(), eventlog.Finish{Fence: fenceOf(th, n, "node-b"), Outcome: "completed", Finisher: "node-b", Frames: closing("completed")})
		if err != nil || !f.Ready {
			w.Fatalf("after the superseder: %+v, %v", f, err)
		}
		if c, err := w.log.BeginNext(w.Context(), th, "node-a"); err != nil || c.TurnID != waiting.TurnID {
			w.Fatalf("claimed %+v, %v; want what waited", c, err)
		}
	})
}
