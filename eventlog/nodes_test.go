package eventlog_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"turnlog/eventlog"
)

func (w *world) must(err error) {
	w.Helper()
	if err != nil {
		w.Fatal(err)
	}
}

// kill lets node's lease run out and declares it dead.
func (w *world) kill(node string) {
	w.Helper()
	if _, err := w.log.Heartbeat(w.Context(), node); err != nil {
		w.Fatal(err)
	}
	eventually(w, node+" is dead", func() bool {
		dead, err := w.log.DeclareDead(w.Context(), node)
		return err == nil && dead
	})
}

func TestB82_ADeadNodeNeverComesBack(t *testing.T) {
	conform(t, eventlog.Options{NodeLease: 30 * time.Millisecond}, func(w *world) {
		if alive, err := w.log.Heartbeat(w.Context(), "node-a"); err != nil || !alive {
			w.Fatalf("heartbeat %v, %v", alive, err)
		}
		if dead, err := w.log.DeclareDead(w.Context(), "node-x"); err != nil || dead {
			w.Fatalf("an unknown node is dead: %v, %v", dead, err)
		}
		w.kill("node-a")
		if alive, err := w.log.Heartbeat(w.Context(), "node-a"); err != nil || alive {
			w.Fatalf("heartbeat of a dead node %v, %v", alive, err)
		}
		nodes, err := w.log.Nodes(w.Context())
		if err != nil || len(nodes) != 1 || !nodes[0].Dead || nodes[0].Buried {
			w.Fatalf("nodes %+v, %v", nodes, err)
		}
		th := w.thread()
		if _, err := w.log.Bury(w.Context(), "node-a"); err != nil {
			w.Fatal(err)
		}
		w.begin(eventlog.Begin{Thread: th, Submission: w.submission()}, eventlog.VerdictNodeDead)
		if _, err := w.log.Attach(w.Context(), eventlog.Attach{Thread: th, Node: "node-a", Generation: 1}); !errors.Is(err, eventlog.ErrFenced) {
			w.Fatalf("attach of a dead node: %v", err)
		}
		if nodes, err = w.log.Nodes(w.Context()); err != nil || !nodes[0].Buried {
			w.Fatalf("nodes %+v, %v", nodes, err)
		}
	})
}

func TestALivingNodeIsNotDeclaredDead(t *testing.T) {
	conform(t, eventlog.Options{NodeLease: time.Hour}, func(w *world) {
		if _, err := w.log.Heartbeat(w.Context(), "node-a"); err != nil {
			w.Fatal(err)
		}
		if dead, err := w.log.DeclareDead(w.Context(), "node-a"); err != nil || dead {
			w.Fatalf("declared dead: %v, %v", dead, err)
		}
		w.must(w.log.Register(w.Context(), eventlog.NodeInfo{ID: "node-a", Address: "h:1", Version: "1", Started: time.Now()}))
		w.must(w.log.Resign(w.Context(), "node-a"))
		if alive, err := w.log.Heartbeat(w.Context(), "node-a"); err != nil || alive {
			w.Fatalf("heartbeat after resigning: %v, %v", alive, err)
		}
	})
}

func TestB80_ALostOwnersTurnsEnd(t *testing.T) {
	conform(t, eventlog.Options{NodeLease: 20 * time.Millisecond}, func(w *world) {
		var threads []eventlog.Thread
		var last *eventlog.Writer
		for range 60 { // more than one page of a burial
			th := w.thread()
			a := w.start(th)
			if len(threads) == 0 {
				last = w.emit(th, a, "node-a", chunk(0))
			}
			threads = append(threads, th)
		}
		w.kill("node-a")
		touched, err := w.log.Bury(w.Context(), "node-a")
		if err != nil || len(touched) != len(threads) {
			w.Fatalf("touched %d threads, %v", len(touched), err)
		}
		_ = last.Emit(w.Context(), chunk(1))
		if err := last.Flush(w.Context()); !errors.Is(err, eventlog.ErrFenced) {
			w.Fatalf("append of a dead owner: %v", err)
		}
		for _, th := range threads {
			r := w.reap(th)
			if !r.Ended || r.Outcome != eventlog.OutcomeOwnerLost {
				w.Fatalf("reaped %+v", r)
			}
		}
		w.types(threads[0], "1 turn_started", "2 chunk", "3 chunk", "4 turn_finished")
		if owned, err := w.log.OwnedTurns(w.Context(), "node-a"); err != nil || len(owned) != 0 {
			w.Fatalf("owned %v, %v", owned, err)
		}
		if turns, err := w.log.RunningTurns(w.Context(), "alice"); err != nil || len(turns) != 0 {
			w.Fatalf("running %v, %v", turns, err)
		}
	})
}

func TestB81_ALostTurnIsRestartedWithinItsAttempts(t *testing.T) {
	conform(t, eventlog.Options{NodeLease: 20 * time.Millisecond}, func(w *world) {
		th := w.thread()
		s := w.submission()
		s.Attempts = 2
		a := w.begin(eventlog.Begin{Thread: th, Submission: s, Generation: 1}, eventlog.VerdictStarted)
		w.emit(th, a, "node-a", chunk(0), toolCall("r1", 0, "")).Checkpoint([]byte("at 1"))
		eventually(w, "the checkpoint is stored", func() bool {
			state, err := w.log.Checkpoint(w.Context(), th)
			return err == nil && string(state) == "at 1"
		})
		w.kill("node-a")
		if _, err := w.log.Bury(w.Context(), "node-a"); err != nil {
			w.Fatal(err)
		}
		if p, err := w.log.Poll(w.Context(), "node-b", -1); err != nil || len(p.Ready) != 1 {
			w.Fatalf("poll %+v, %v", p, err)
		}
		n, err := w.log.BeginNext(w.Context(), th, "node-b")
		if err != nil || n.Attempt != 2 || n.TurnID != a.TurnID || n.Ordinal != 1 || n.FirstSeq != 5 || string(n.Submission.Message) != string(s.Message) {
			w.Fatalf("next attempt %+v, %v", n, err)
		}
		if state, err := w.log.Checkpoint(w.Context(), th); err != nil || string(state) != "at 1" {
			w.Fatalf("checkpoint %q, %v", state, err)
		}
		w.emit(th, n, "node-b", chunk(0))
		w.types(th, "1 turn_started", "2 chunk", "3 tool_call", "4 request_closed", "5 turn_started", "6 chunk")
		if f := string(w.frames(th, 3)[0].Frame); f != `{"type":"request_closed","request_id":"r1","reason":"restarted"}` {
			w.Fatalf("frame 4 is %s", f)
		}
		w.kill("node-b")
		if _, err := w.log.Bury(w.Context(), "node-b"); err != nil {
			w.Fatal(err)
		}
		if r := w.reap(th); !r.Ended || r.Outcome != eventlog.OutcomeOwnerLost {
			w.Fatalf("the last attempt: %+v", r)
		}
	})
}

func TestB28_ADyingNodeTakesItsViewersAlong(t *testing.T) {
	conform(t, eventlog.Options{NodeLease: 20 * time.Millisecond, Grace: 30 * time.Millisecond}, func(w *world) {
		th := w.thread()
		w.begin(eventlog.Begin{Thread: th, Submission: w.submission(), Node: "node-a", Generation: 1}, eventlog.VerdictStarted)
		w.attach(eventlog.Attach{Thread: th, Node: "node-b", Generation: 1})
		w.detach(th, "node-a", 1, false)
		w.kill("node-b")
		if s := w.look(th); !s.GraceDeadline.IsZero() {
			w.Fatalf("a grace before the burial: %+v", s)
		}
		if _, err := w.log.Bury(w.Context(), "node-b"); err != nil {
			w.Fatal(err)
		}
		if s := w.look(th); s.GraceDeadline.IsZero() {
			w.Fatalf("no grace: %+v", s)
		}
		if r := w.reapUntilEnded(th); r.Outcome != eventlog.OutcomeDetached {
			w.Fatalf("reaped %+v", r)
		}
	})
}

func TestB46_LimitsEndATurn(t *testing.T) {
	conform(t, eventlog.Options{}, func(w *world) {
		long, quiet, asking := w.thread(), w.thread(), w.thread()
		s := w.submission()
		s.MaxDuration = 20 * time.Millisecond
		w.begin(eventlog.Begin{Thread: long, Submission: s, Generation: 1}, eventlog.VerdictStarted)
		s = w.submission()
		s.StallAfter = 20 * time.Millisecond
		w.begin(eventlog.Begin{Thread: quiet, Submission: s, Generation: 1}, eventlog.VerdictStarted)
		s = w.submission()
		s.StallAfter = 20 * time.Millisecond
		a := w.begin(eventlog.Begin{Thread: asking, Submission: s, Generation: 1}, eventlog.VerdictStarted)
		w.emit(asking, a, "node-a", toolCall("r1", 0, ""))
		if r := w.reapUntilEnded(long); r.Outcome != eventlog.OutcomeTimedOut {
			w.Fatalf("reaped %+v", r)
		}
		if r := w.reapUntilEnded(quiet); r.Outcome != eventlog.OutcomeStalled {
			w.Fatalf("reaped %+v", r)
		}
		if r := w.reap(asking); r.Ended {
			w.Fatalf("a turn that waits for an answer stalled: %+v", r)
		}
	})
}

func TestB83_AReaperGoneBetweenItsTwoCallsIsContinued(t *testing.T) {
	conform(t, eventlog.Options{Grace: time.Millisecond}, func(w *world) {
		th := w.thread()
		w.start(th)
		w.detach(th, "node-a", 1, false)
		var first eventlog.Reaped
		eventually(w, "the grace is over", func() bool {
			var err error
			first, err = w.log.Reap(w.Context(), eventlog.Reap{Thread: th, Node: "node-r1"})
			return err == nil && first.Ending
		})
		// A viewer now comes too late; the thread stays due until the turn has ended.
		w.attach(eventlog.Attach{Thread: th, Node: "node-b", Generation: 1})
		if due, err := w.log.DueThreads(w.Context(), 10); err != nil || fmt.Sprint(due) != fmt.Sprint([]eventlog.Thread{th}) {
			w.Fatalf("due %v, %v", due, err)
		}
		if r := w.reap(th); !r.Ended || r.Outcome != eventlog.OutcomeDetached {
			w.Fatalf("reaped %+v", r)
		}
		again, err := w.log.Reap(w.Context(), eventlog.Reap{Thread: th, Node: "node-r1", Closing: &eventlog.Closing{
			TurnID: first.Turn.TurnID, Attempt: 1, AsOf: first.Turn.LastSeq, Frames: closing("detached"),
		}})
		if err != nil || again.Ended {
			w.Fatalf("the first reaper, late: %+v, %v", again, err)
		}
		w.types(th, "1 turn_started", "2 chunk", "3 turn_finished")
	})
}

func TestTheReaperMayLeaveGraceAlone(t *testing.T) {
	conform(t, eventlog.Options{Grace: time.Millisecond}, func(w *world) {
		th := w.thread()
		w.start(th)
		w.detach(th, "node-a", 1, false)
		eventually(w, "the grace is over", func() bool {
			due, err := w.log.DueThreads(w.Context(), 10)
			return err == nil && len(due) == 1
		})
		if r, err := w.log.Reap(w.Context(), eventlog.Reap{Thread: th, Node: "node-r", SkipGrace: true}); err != nil || r.Ending {
			w.Fatalf("reaped %+v, %v", r, err)
		}
	})
}

func TestOneNodeLeadsAndTheTermRises(t *testing.T) {
	conform(t, eventlog.Options{}, func(w *world) {
		term, leads, err := w.log.LeadReaper(w.Context(), "node-a", 0)
		if err != nil || !leads || term != 1 {
			w.Fatalf("term %d, %v, %v", term, leads, err)
		}
		if _, leads, err = w.log.LeadReaper(w.Context(), "node-b", 0); err != nil || leads {
			w.Fatalf("two lead: %v", err)
		}
		if again, leads, err := w.log.LeadReaper(w.Context(), "node-a", term); err != nil || !leads || again != term {
			w.Fatalf("term %d, %v, %v", again, leads, err)
		}
		w.rdb.Del(w.Context(), "turnlog:{nodes}:reaper")
		if term, leads, err = w.log.LeadReaper(w.Context(), "node-b", 0); err != nil || !leads || term != 2 {
			w.Fatalf("term %d, %v, %v", term, leads, err)
		}
	})
}

func TestB80_AnOwnerThatWatchedAloneIsLostWhateverThePolicy(t *testing.T) {
	conform(t, eventlog.Options{NodeLease: 20 * time.Millisecond, Grace: time.Millisecond}, func(w *world) {
		threads := map[eventlog.Policy]eventlog.Thread{}
		for _, p := range []eventlog.Policy{eventlog.PolicyCancel, eventlog.PolicyGrace, eventlog.PolicyPreserve} {
			s := w.submission()
			s.Policy, threads[p] = p, w.thread()
			w.begin(eventlog.Begin{Thread: threads[p], Submission: s, Generation: 1}, eventlog.VerdictStarted)
		}
		w.kill("node-a")
		if _, err := w.log.Bury(w.Context(), "node-a"); err != nil {
			w.Fatal(err)
		}
		for p, th := range threads {
			if r := w.reap(th); !r.Ended || r.Outcome != eventlog.OutcomeOwnerLost {
				w.Fatalf("%s: reaped %+v", p, r)
			}
		}
	})
}
