package eventlog_test

import (
	"errors"
	"sync"
	"testing"
	"time"

	"turnlog/eventlog"
)

func (w *world) policy(t eventlog.Thread, p eventlog.Policy, scope string) eventlog.Policy {
	w.Helper()
	got, err := w.log.SetPolicy(w.Context(), t, p, scope)
	if err != nil {
		w.Fatalf("set policy %s: %v", p, err)
	}
	return got
}

func TestB21_TheGraceEndsADetachedTurnOnce(t *testing.T) {
	conform(t, eventlog.Options{Grace: 60 * time.Millisecond}, func(w *world) {
		th := w.thread()
		a := w.start(th)
		if d := w.detach(th, "node-a", 1, false); !d.Changed || !d.Last || d.Ending {
			w.Fatalf("detach %+v", d)
		}
		s := w.look(th)
		if s.GraceDeadline.IsZero() || s.Status != eventlog.StatusRunning {
			w.Fatalf("snapshot %+v", s)
		}
		r := w.reapUntilEnded(th)
		if r.Outcome != eventlog.OutcomeDetached || !r.Finished.Won {
			w.Fatalf("reaped %+v", r)
		}
		w.types(th, "1 turn_started", "2 chunk", "3 turn_finished")
		if s = w.look(th); s.Outcome != eventlog.OutcomeDetached || s.TurnID != a.TurnID {
			w.Fatalf("snapshot %+v", s)
		}
		if due, err := w.log.DueThreads(w.Context(), 10); err != nil || len(due) != 0 {
			w.Fatalf("due %v, %v", due, err)
		}
	})
}

func TestB21_AViewerInTimeCancelsTheGrace(t *testing.T) {
	conform(t, eventlog.Options{Grace: 30 * time.Millisecond}, func(w *world) {
		th := w.thread()
		w.start(th)
		w.detach(th, "node-a", 1, false)
		s := w.attach(eventlog.Attach{Thread: th, Node: "node-b", Generation: 1})
		if !s.GraceDeadline.IsZero() {
			w.Fatalf("grace still runs: %+v", s)
		}
		if due, err := w.log.DueThreads(w.Context(), 10); err != nil || len(due) != 0 {
			w.Fatalf("due %v, %v", due, err)
		}
		if r := w.reap(th); r.Ended {
			w.Fatalf("reaped %+v", r)
		}
	})
}

func TestB22_AnOldDetachLeavesTheNewViewer(t *testing.T) {
	conform(t, eventlog.Options{}, func(w *world) {
		th := w.thread()
		w.start(th)
		w.attach(eventlog.Attach{Thread: th, Node: "node-a", Generation: 3})
		w.attach(eventlog.Attach{Thread: th, Node: "node-a", Generation: 2}) // late
		if d := w.detach(th, "node-a", 2, false); d.Changed {
			w.Fatalf("an old detach changed something: %+v", d)
		}
		if v, err := w.log.Viewing(w.Context(), "node-a"); err != nil || len(v) != 1 {
			w.Fatalf("viewing %v, %v", v, err)
		}
		if d := w.detach(th, "node-a", 3, false); !d.Changed || !d.Last {
			w.Fatalf("detach %+v", d)
		}
	})
}

func TestB23_CancelEndsWhenTheLastViewerLeaves(t *testing.T) {
	conform(t, eventlog.Options{}, func(w *world) {
		th := w.thread()
		s := w.submission()
		s.Policy = eventlog.PolicyCancel
		a := w.begin(eventlog.Begin{Thread: th, Submission: s, Generation: 1}, eventlog.VerdictStarted)
		wr := w.emit(th, a, "node-a", chunk(0))
		w.attach(eventlog.Attach{Thread: th, Node: "node-b", Generation: 1})
		if d := w.detach(th, "node-a", 1, false); d.Last {
			w.Fatalf("detach of one of two %+v", d)
		}
		d := w.detach(th, "node-b", 1, false)
		if !d.Ending || d.Turn.TurnID != a.TurnID || d.Turn.LastSeq != 2 {
			w.Fatalf("detach %+v", d)
		}
		var fenced *eventlog.FencedError
		_ = wr.Emit(w.Context(), chunk(1))
		if err := wr.Flush(w.Context()); !errors.As(err, &fenced) || fenced.Outcome != eventlog.OutcomeDetached {
			w.Fatalf("append after the end: %v", err)
		}
		f, err := w.log.Finish(w.Context(), eventlog.Finish{Fence: fenceOf(th, a, "node-a"), Finisher: "node-b", Outcome: "detached", Frames: closing("detached"), AsOf: 2})
		if err != nil || !f.Won || f.Outcome != eventlog.OutcomeDetached {
			w.Fatalf("finish %+v, %v", f, err)
		}
	})
}

func TestB23_TheReaperEndsACancelTurnThatNobodyEnds(t *testing.T) {
	conform(t, eventlog.Options{StopTimeout: 30 * time.Millisecond}, func(w *world) {
		th := w.thread()
		s := w.submission()
		s.Policy = eventlog.PolicyCancel
		w.begin(eventlog.Begin{Thread: th, Submission: s, Generation: 1}, eventlog.VerdictStarted)
		w.detach(th, "node-a", 1, false)
		if r := w.reapUntilEnded(th); r.Outcome != eventlog.OutcomeDetached {
			w.Fatalf("reaped %+v", r)
		}
	})
}

func TestB27_CancelGetsTheReconnectWindowWhenTheServerCloses(t *testing.T) {
	conform(t, eventlog.Options{ReconnectWindow: 40 * time.Millisecond}, func(w *world) {
		th := w.thread()
		s := w.submission()
		s.Policy = eventlog.PolicyCancel
		w.begin(eventlog.Begin{Thread: th, Submission: s, Generation: 1}, eventlog.VerdictStarted)
		if d := w.detach(th, "node-a", 1, true); d.Ending || !d.Last {
			w.Fatalf("detach %+v", d)
		}
		if r := w.reapUntilEnded(th); r.Outcome != eventlog.OutcomeDetached {
			w.Fatalf("reaped %+v", r)
		}
	})
}

func TestB24_PreserveHasNoDeadline(t *testing.T) {
	conform(t, eventlog.Options{Grace: time.Millisecond}, func(w *world) {
		th := w.thread()
		s := w.submission()
		s.Policy = eventlog.PolicyPreserve
		a := w.begin(eventlog.Begin{Thread: th, Submission: s, Generation: 1}, eventlog.VerdictStarted)
		w.detach(th, "node-a", 1, false)
		if n := w.rdb.Exists(w.Context(), w.base(th)+":state").Val(); n != 1 {
			w.Fatal("no state")
		}
		if due, err := w.log.DueThreads(w.Context(), 10); err != nil || len(due) != 0 {
			w.Fatalf("due %v, %v", due, err)
		}
		turns, err := w.log.RunningTurns(w.Context(), th.User)
		if err != nil || len(turns) != 1 || !turns[0].Detached || turns[0].Policy != eventlog.PolicyPreserve || turns[0].TurnID != a.TurnID {
			w.Fatalf("running turns %+v, %v", turns, err)
		}
	})
}

func TestB25_APolicyOnlyRisesWithinATurn(t *testing.T) {
	conform(t, eventlog.Options{Grace: time.Hour}, func(w *world) {
		th := w.thread()
		a := w.start(th)
		w.detach(th, "node-a", 1, false)
		if p := w.policy(th, eventlog.PolicyPreserve, eventlog.ScopeTurn); p != eventlog.PolicyPreserve {
			w.Fatalf("policy %s", p)
		}
		if s := w.look(th); !s.GraceDeadline.IsZero() {
			w.Fatalf("a preserved turn has a grace: %+v", s)
		}
		if p := w.policy(th, eventlog.PolicyCancel, eventlog.ScopeTurn); p != eventlog.PolicyPreserve {
			w.Fatalf("lowered to %s", p)
		}
		w.finish(th, a, eventlog.OutcomeCompleted)
		if b := w.start(th); b.Policy != eventlog.PolicyGrace {
			w.Fatalf("the next turn starts as %s", b.Policy)
		}
		// Two viewers at once, in any order.
		var wg sync.WaitGroup
		for _, p := range []eventlog.Policy{eventlog.PolicyGrace, eventlog.PolicyPreserve, eventlog.PolicyCancel} {
			wg.Go(func() {
				if _, err := w.log.Attach(w.Context(), eventlog.Attach{Thread: th, Node: "node-" + string(p), Generation: 1, Policy: p}); err != nil {
					w.Errorf("attach: %v", err)
				}
			})
		}
		wg.Wait()
		if s := w.look(th); s.Policy != eventlog.PolicyPreserve {
			w.Fatalf("policy %s", s.Policy)
		}
	})
}

func TestB26_KindAndThreadPolicyProtectSilentClients(t *testing.T) {
	conform(t, eventlog.Options{}, func(w *world) {
		byRule, byMeta, child, branch := w.thread(), w.thread(), w.thread(), w.thread()
		a := w.begin(eventlog.Begin{Thread: byRule, Submission: w.submission(), Generation: 1, Kind: "research", KindPolicy: eventlog.PolicyPreserve}, eventlog.VerdictStarted)
		if a.Policy != eventlog.PolicyPreserve {
			w.Fatalf("policy by rule %s", a.Policy)
		}
		if err := w.log.SetThread(w.Context(), byMeta, eventlog.ThreadMeta{Title: "cancel me", Policy: eventlog.PolicyPreserve}); err != nil {
			w.Fatal(err)
		}
		// Rules are for new threads only.
		if a = w.begin(eventlog.Begin{Thread: byMeta, Submission: w.submission(), Kind: "x", KindPolicy: eventlog.PolicyCancel}, eventlog.VerdictStarted); a.Policy != eventlog.PolicyPreserve {
			w.Fatalf("policy by thread %s", a.Policy)
		}
		if m, ok, err := w.log.Thread(w.Context(), byMeta); err != nil || !ok || m.Kind != "" || m.Title != "cancel me" {
			w.Fatalf("metadata %+v, %v, %v", m, ok, err)
		}
		if err := w.log.SetThread(w.Context(), child, eventlog.ThreadMeta{Continues: byRule.ID}); err != nil {
			w.Fatal(err)
		}
		if a = w.start(child); a.Policy != eventlog.PolicyPreserve {
			w.Fatalf("policy of a continuing thread %s", a.Policy)
		}
		if err := w.log.SetThread(w.Context(), branch, eventlog.ThreadMeta{BranchOf: byRule.ID}); err != nil {
			w.Fatal(err)
		}
		if a = w.start(branch); a.Policy != eventlog.PolicyGrace {
			w.Fatalf("policy of a branch %s", a.Policy)
		}
		if list, err := w.log.Threads(w.Context(), "alice", 0, 10); err != nil || len(list) != 4 {
			w.Fatalf("threads %v, %v", list, err)
		}
	})
}

func TestB27_CancelWhereTheThreadSaysPreserveIsRefused(t *testing.T) {
	conform(t, eventlog.Options{}, func(w *world) {
		th := w.thread()
		if p := w.policy(th, eventlog.PolicyPreserve, eventlog.ScopeThread); p != eventlog.PolicyPreserve {
			w.Fatalf("policy %s", p)
		}
		s := w.submission()
		s.Policy = eventlog.PolicyCancel
		w.begin(eventlog.Begin{Thread: th, Submission: s, Generation: 1}, eventlog.VerdictPolicyConflict)
		w.start(th)
		if _, err := w.log.SetPolicy(w.Context(), th, eventlog.PolicyCancel, eventlog.ScopeTurn); !errors.Is(err, eventlog.ErrPolicyConflict) {
			w.Fatalf("set policy: %v", err)
		}
		if _, err := w.log.Attach(w.Context(), eventlog.Attach{Thread: th, Policy: eventlog.PolicyCancel}); !errors.Is(err, eventlog.ErrPolicyConflict) {
			w.Fatalf("attach: %v", err)
		}
	})
}

func TestHeadlessTurnsArePreservedUnlessTheyAskForGrace(t *testing.T) {
	conform(t, eventlog.Options{}, func(w *world) {
		for asked, want := range map[eventlog.Policy]eventlog.Policy{"": eventlog.PolicyPreserve, eventlog.PolicyGrace: eventlog.PolicyGrace} {
			th, s := w.thread(), w.submission()
			s.Headless, s.Policy = true, asked
			if a := w.begin(eventlog.Begin{Thread: th, Submission: s}, eventlog.VerdictStarted); a.Policy != want {
				w.Fatalf("asked for %q, got %s", asked, a.Policy)
			}
			if s := w.look(th); s.GraceDeadline.IsZero() != (want == eventlog.PolicyPreserve) {
				w.Fatalf("asked for %q: %+v", asked, s)
			}
		}
		s := w.submission()
		s.Headless, s.Policy = true, eventlog.PolicyCancel
		w.begin(eventlog.Begin{Thread: w.thread(), Submission: s}, eventlog.VerdictPolicyConflict)
	})
}
