package eventlog_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"turnlog/eventlog"
	"turnlog/internal/redistest"
)

// B25, B26, B27: what a turn's policy is when it begins. The strongest of what
// request, thread and kind say wins; the server's default only fills silence.
func TestB25_StrongestExplicitPolicyWins(t *testing.T) {
	const (
		unset, cancel, grace, preserve = eventlog.PolicyUnset, eventlog.PolicyCancel, eventlog.PolicyGrace, eventlog.PolicyPreserve
		conflict                       = eventlog.Policy("conflict")
	)
	rows := []struct {
		name                  string
		asked, thread, kind   eventlog.Policy
		headless              bool
		wantGrace, wantCancel eventlog.Policy // with disconnect.policy grace, and cancel
	}{
		{name: "silence", wantGrace: grace, wantCancel: cancel},
		{name: "request cancel", asked: cancel, wantGrace: cancel, wantCancel: cancel},
		{name: "request grace", asked: grace, wantGrace: grace, wantCancel: grace},
		{name: "request preserve", asked: preserve, wantGrace: preserve, wantCancel: preserve},
		{name: "thread cancel is weaker than nothing else", thread: cancel, wantGrace: cancel, wantCancel: cancel},
		{name: "thread preserve", thread: preserve, wantGrace: preserve, wantCancel: preserve},
		{name: "kind preserve", kind: preserve, wantGrace: preserve, wantCancel: preserve},
		{name: "kind cancel", kind: cancel, wantGrace: cancel, wantCancel: cancel},
		{name: "kind grace over thread cancel", thread: cancel, kind: grace, wantGrace: grace, wantCancel: grace},
		{name: "thread grace over kind cancel", thread: grace, kind: cancel, wantGrace: grace, wantCancel: grace},
		{name: "request preserve over both", asked: preserve, thread: grace, kind: cancel, wantGrace: preserve, wantCancel: preserve},
		{name: "request grace does not weaken the kind", asked: grace, kind: preserve, wantGrace: preserve, wantCancel: preserve},
		{name: "request cancel beside thread grace", asked: cancel, thread: grace, wantGrace: grace, wantCancel: grace},
		{name: "request cancel against thread preserve", asked: cancel, thread: preserve, wantGrace: conflict, wantCancel: conflict},
		{name: "request cancel against kind preserve", asked: cancel, kind: preserve, wantGrace: conflict, wantCancel: conflict},
		{name: "headless", headless: true, wantGrace: preserve, wantCancel: preserve},
		{name: "headless grace", headless: true, asked: grace, wantGrace: grace, wantCancel: grace},
		{name: "headless cancel", headless: true, asked: cancel, wantGrace: conflict, wantCancel: conflict},
	}
	for _, fallback := range []eventlog.Policy{grace, cancel} {
		t.Run("default "+string(fallback), func(t *testing.T) {
			conform(t, eventlog.Options{DefaultPolicy: fallback}, func(w *world) {
				for _, row := range rows {
					th, s := w.thread(), w.submission()
					if row.thread != unset {
						w.policy(th, row.thread, eventlog.ScopeThread)
					}
					s.Policy, s.Headless = row.asked, row.headless
					generation := int64(1)
					if row.headless {
						generation = 0
					}
					a, err := w.log.Begin(w.Context(), eventlog.Begin{Thread: th, Submission: s, Node: "node-a", Generation: generation, Kind: "k", KindPolicy: row.kind})
					w.must(err)
					got, want := a.Policy, row.wantGrace
					if fallback == cancel {
						want = row.wantCancel
					}
					if a.Verdict == eventlog.VerdictPolicyConflict {
						got = conflict
					}
					if got != want {
						w.Errorf("%s: %q, want %q", row.name, got, want)
					}
				}
			})
		})
	}
}

// B25: whatever the order and the way in which a raise comes, the strongest one stands.
func TestB25_ConcurrentRaisesOfEveryKindEndAtTheStrongest(t *testing.T) {
	conform(t, eventlog.Options{Grace: time.Hour}, func(w *world) {
		for range 8 {
			th, s := w.thread(), w.submission()
			s.Policy = eventlog.PolicyCancel
			w.begin(eventlog.Begin{Thread: th, Submission: s, Generation: 1}, eventlog.VerdictStarted)
			raises := []func(eventlog.Policy) error{}
			for i := range 3 {
				raises = append(raises, func(p eventlog.Policy) error {
					_, err := w.log.Attach(w.Context(), eventlog.Attach{Thread: th, Node: fmt.Sprint("node-", i), Generation: 2, Policy: p})
					return err
				}, func(p eventlog.Policy) error {
					_, err := w.log.SetPolicy(w.Context(), th, p, eventlog.ScopeTurn)
					return err
				})
			}
			policies := []eventlog.Policy{eventlog.PolicyCancel, eventlog.PolicyGrace, eventlog.PolicyPreserve, eventlog.PolicyGrace, eventlog.PolicyCancel, eventlog.PolicyPreserve}
			rand.Shuffle(len(policies), func(i, j int) { policies[i], policies[j] = policies[j], policies[i] })
			var all sync.WaitGroup
			for i, p := range policies {
				all.Go(func() {
					if err := raises[i](p); err != nil {
						w.Errorf("raise %d to %s: %v", i, p, err)
					}
				})
			}
			all.Wait()
			if got := w.look(th).Policy; got != eventlog.PolicyPreserve {
				w.Fatalf("it ended at %s", got)
			}
		}
	})
}

// B25: a submission that is refused or only queued raises nothing.
func TestB25_RefusedAndQueuedSubmissionsRaiseNothing(t *testing.T) {
	conform(t, eventlog.Options{}, func(w *world) {
		th := w.thread()
		a := w.start(th)
		for onBusy, verdict := range map[eventlog.OnBusy]eventlog.Verdict{
			eventlog.OnBusyReject: eventlog.VerdictBusy, eventlog.OnBusyEnqueue: eventlog.VerdictQueued,
		} {
			s := w.submission()
			s.Policy = eventlog.PolicyPreserve
			w.begin(eventlog.Begin{Thread: th, Submission: s, OnBusy: onBusy}, verdict)
			if got := w.look(th).Policy; got != eventlog.PolicyGrace {
				w.Fatalf("%s raised the running turn to %s", onBusy, got)
			}
		}
		w.finish(th, a, eventlog.OutcomeCompleted)
		next, err := w.log.BeginNext(w.Context(), th, "node-a")
		if err != nil || next.Policy != eventlog.PolicyPreserve {
			w.Fatalf("the queued turn is %s, %v", next.Policy, err)
		}
	})
}

// B26: the rules are asked once. Later turns, titles and other rules change nothing.
func TestB26_KindIsSettledOnce(t *testing.T) {
	rule := func(w *world, th eventlog.Thread, kind string, p eventlog.Policy) eventlog.Admission {
		return w.begin(eventlog.Begin{Thread: th, Submission: w.submission(), Generation: 1, Kind: kind, KindPolicy: p}, eventlog.VerdictStarted)
	}
	kindOf := func(w *world, th eventlog.Thread) string {
		m, ok, err := w.log.Thread(w.Context(), th)
		if err != nil || !ok {
			w.Fatalf("thread %s: %v, %v", th.ID, ok, err)
		}
		return m.Kind + " " + string(m.KindPolicy)
	}
	conform(t, eventlog.Options{}, func(w *world) {
		th := w.thread()
		w.finish(th, rule(w, th, "research", eventlog.PolicyPreserve), eventlog.OutcomeCompleted)
		w.must(w.log.SetThread(w.Context(), th, eventlog.ThreadMeta{Title: "scratch", RuleKind: "scratch", RulePolicy: eventlog.PolicyCancel}))
		if a := rule(w, th, "scratch", eventlog.PolicyCancel); a.Policy != eventlog.PolicyPreserve || kindOf(w, th) != "research preserve" {
			w.Errorf("a later turn: %s, %s", a.Policy, kindOf(w, th))
		}

		none := w.thread()
		w.finish(none, w.start(none), eventlog.OutcomeCompleted)
		if a := rule(w, none, "research", eventlog.PolicyPreserve); a.Policy != eventlog.PolicyGrace {
			w.Errorf("a thread that no rule took when it was created is %s", a.Policy)
		}

		// A default set before the first turn settles no kind.
		early := w.thread()
		w.policy(early, eventlog.PolicyGrace, eventlog.ScopeThread)
		if a := rule(w, early, "research", eventlog.PolicyPreserve); a.Policy != eventlog.PolicyPreserve {
			w.Errorf("a thread with a default of its own escaped the rule: %s", a.Policy)
		}

		titled := w.thread()
		w.must(w.log.SetThread(w.Context(), titled, eventlog.ThreadMeta{Title: "x", RuleKind: "research", RulePolicy: eventlog.PolicyPreserve}))
		if kindOf(w, titled) != "research preserve" || w.start(titled).Policy != eventlog.PolicyPreserve {
			w.Errorf("created by its metadata: %s", kindOf(w, titled))
		}

		// A continuing thread takes the kind over, a branch is looked at by the rules.
		child, branch := w.thread(), w.thread()
		w.must(w.log.SetThread(w.Context(), child, eventlog.ThreadMeta{Continues: th.ID, RuleKind: "scratch", RulePolicy: eventlog.PolicyCancel}))
		w.must(w.log.SetThread(w.Context(), branch, eventlog.ThreadMeta{BranchOf: th.ID, RuleKind: "scratch", RulePolicy: eventlog.PolicyCancel}))
		if kindOf(w, child) != "research preserve" || rule(w, child, "scratch", eventlog.PolicyCancel).Policy != eventlog.PolicyPreserve {
			w.Errorf("continuing thread: %s", kindOf(w, child))
		}
		if kindOf(w, branch) != "scratch cancel" || w.start(branch).Policy != eventlog.PolicyCancel {
			w.Errorf("branch: %s", kindOf(w, branch))
		}
	})
}

// B26: admission is one script call however long the chain of continued threads.
func TestB26_AdmissionIsOneCallWhateverTheLineage(t *testing.T) {
	log, rdb := openLog(t, redistest.Start(t), eventlog.Options{})
	w := &world{TB: t, log: log, rdb: rdb}
	parent := w.thread()
	w.begin(eventlog.Begin{Thread: parent, Submission: w.submission(), Kind: "research", KindPolicy: eventlog.PolicyPreserve}, eventlog.VerdictStarted)
	for range 20 {
		child := w.thread()
		w.must(log.SetThread(t.Context(), child, eventlog.ThreadMeta{Continues: parent.ID}))
		parent = child
	}
	counted := &commands{}
	rdb.AddHook(counted)
	if a := w.start(parent); a.Policy != eventlog.PolicyPreserve {
		t.Errorf("policy %s", a.Policy)
	}
	if n := counted.sent.Load(); n != 1 {
		t.Errorf("admission took %d commands", n)
	}
}

// B27: a default against the kind is refused, too, and changes nothing.
func TestB27_ThreadDefaultMayNotContradictTheKind(t *testing.T) {
	conform(t, eventlog.Options{}, func(w *world) {
		th := w.thread()
		w.must(w.log.SetThread(w.Context(), th, eventlog.ThreadMeta{Kind: "research", KindPolicy: eventlog.PolicyPreserve}))
		got, err := w.log.SetPolicy(w.Context(), th, eventlog.PolicyCancel, eventlog.ScopeThread)
		if !errors.Is(err, eventlog.ErrPolicyConflict) || got != eventlog.PolicyPreserve {
			w.Errorf("set policy: %s, %v", got, err)
		}
		if err := w.log.SetThread(w.Context(), th, eventlog.ThreadMeta{Policy: eventlog.PolicyCancel}); !errors.Is(err, eventlog.ErrPolicyConflict) {
			w.Errorf("set thread: %v", err)
		}
		if m, _, err := w.log.Thread(w.Context(), th); err != nil || m.Policy != eventlog.PolicyUnset {
			w.Errorf("it left %+v, %v", m, err)
		}
	})
}
