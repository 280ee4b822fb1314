package reaper_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"turnlog/eventlog"
	"turnlog/reaper"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// fakeLog is a log with one dead or silent node and any number of due threads.
type fakeLog struct {
	mu      sync.Mutex
	leads   bool
	term    int64
	nodes   []eventlog.NodeState
	due     []eventlog.Thread
	frames  []eventlog.StoredFrame
	moves   int   // how often the log moves between look and close
	failing error // next Reap fails
	orphans []eventlog.Orphan
	calls   []string
	closed  []*eventlog.Closing
}

func (f *fakeLog) note(format string, args ...any) {
	f.calls = append(f.calls, fmt.Sprintf(format, args...))
}

func (f *fakeLog) LeadReaper(_ context.Context, node string, term int64) (int64, bool, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.leads {
		return 0, false, nil
	}
	if term == 0 {
		f.term++
	}
	f.note("lead %s %d", node, f.term)
	return f.term, true, nil
}

func (f *fakeLog) Nodes(context.Context) ([]eventlog.NodeState, error) { return f.nodes, nil }

func (f *fakeLog) DeclareDead(_ context.Context, node string) (bool, error) {
	f.note("declare %s", node)
	return true, nil
}

func (f *fakeLog) Bury(_ context.Context, node string) ([]eventlog.Thread, error) {
	f.note("bury %s", node)
	return nil, nil
}

func (f *fakeLog) DueThreads(context.Context, int) ([]eventlog.Thread, error) { return f.due, nil }

func (f *fakeLog) Reap(_ context.Context, r eventlog.Reap) (eventlog.Reaped, error) {
	if f.failing != nil {
		err := f.failing
		f.failing = nil
		return eventlog.Reaped{}, err
	}
	f.note("reap %s skip_grace=%v closing=%v", r.Thread.ID, r.SkipGrace, r.Closing != nil)
	last := int64(len(f.frames))
	turn := eventlog.RunningTurn{Thread: r.Thread, TurnID: "t", Attempt: 1, FirstSeq: 1, LastSeq: last}
	if r.Closing == nil || r.Closing.AsOf != last || f.moves > 0 {
		if r.Closing != nil && f.moves > 0 {
			f.moves--
		}
		return eventlog.Reaped{Ending: true, Outcome: eventlog.OutcomeOwnerLost, Turn: turn}, nil
	}
	f.closed = append(f.closed, r.Closing)
	return eventlog.Reaped{Ended: true, Outcome: eventlog.OutcomeOwnerLost, Finished: eventlog.Finished{Won: true}}, nil
}

func (f *fakeLog) Frames(_ context.Context, _ eventlog.Thread, after, until int64, limit, _ int) ([]eventlog.StoredFrame, error) {
	return f.frames[after:min(until, after+int64(limit))], nil
}

func (f *fakeLog) Sweep(_ context.Context, known []string) ([]eventlog.Orphan, error) {
	f.note("sweep %v", known)
	return f.orphans, nil
}

func (f *fakeLog) Lose(_ context.Context, o eventlog.Orphan) (bool, error) {
	f.note("lose %s", o.TurnID)
	return true, nil
}

func trusted(lease, heartbeat time.Duration) *reaper.Trust {
	t := reaper.NewTrust(lease, heartbeat)
	for at := time.Now().Add(-2 * lease); at.Before(time.Now()); at = at.Add(heartbeat) {
		t.Beat(at, nil)
	}
	return t
}

func newReaper(t *testing.T, log reaper.Log, trust *reaper.Trust) *reaper.Reaper {
	t.Helper()
	r, err := reaper.New(log, reaper.Options{Node: func() string { return "me" }, Trust: trust})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func (f *fakeLog) called(prefix string) bool {
	return slices.ContainsFunc(f.calls, func(c string) bool { return strings.HasPrefix(c, prefix) })
}

func TestB83_OnlyTheLeaderActs(t *testing.T) {
	log := &fakeLog{due: []eventlog.Thread{{User: "u", ID: "a"}}, nodes: []eventlog.NodeState{{ID: "gone", Past: true}}}
	r := newReaper(t, log, trusted(10*time.Second, 3*time.Second))
	if err := r.RunOnce(t.Context()); err != nil || len(log.calls) != 0 {
		t.Fatalf("calls %v, err %v; want none", log.calls, err)
	}
	log.leads = true
	if err := r.RunOnce(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"lead me 1", "declare gone", "bury gone", "reap a skip_grace=false closing=false", "reap a skip_grace=false closing=true"} {
		if !log.called(want) {
			t.Errorf("missing %q in %v", want, log.calls)
		}
	}
}

// B85: without trust neither nodes are declared dead nor graces acted on; a
// death that somebody else declared is buried all the same.
func TestB85_WithoutTrustNobodyIsDeclaredDead(t *testing.T) {
	log := &fakeLog{leads: true, due: []eventlog.Thread{{User: "u", ID: "a"}},
		nodes: []eventlog.NodeState{{ID: "silent", Past: true}, {ID: "dead", Past: true, Dead: true}, {ID: "done", Past: true, Dead: true, Buried: true}}}
	r := newReaper(t, log, reaper.NewTrust(10*time.Second, 3*time.Second))
	if err := r.RunOnce(t.Context()); err != nil {
		t.Fatal(err)
	}
	if log.called("declare") || log.called("bury silent") || log.called("bury done") {
		t.Errorf("acted without trust: %v", log.calls)
	}
	if !log.called("bury dead") || !log.called("reap a skip_grace=true") {
		t.Errorf("left undone: %v", log.calls)
	}
}

// B49: the partial text of a reaped turn, longer than one page of frames, is kept.
func TestB49_ReapedTurnKeepsItsText(t *testing.T) {
	log := &fakeLog{leads: true, due: []eventlog.Thread{{User: "u", ID: "a"}}, moves: 1}
	var want strings.Builder
	for i := range 1200 {
		fmt.Fprintf(&want, "%d ", i)
		log.frames = append(log.frames, eventlog.StoredFrame{Seq: int64(i + 1), Type: "chunk", Frame: fmt.Appendf(nil, `{"type":"chunk","content":"%d "}`, i)})
	}
	r := newReaper(t, log, trusted(10*time.Second, 3*time.Second))
	if err := r.RunOnce(t.Context()); err != nil {
		t.Fatal(err)
	}
	if len(log.closed) != 1 {
		t.Fatalf("closed %d times, want once; calls %v", len(log.closed), log.calls)
	}
	frames := log.closed[0].Frames
	if frames[0].Type != "message" || !strings.Contains(string(frames[0].Frame), want.String()) {
		t.Errorf("first closing frame is %s, want the partial message", frames[0].Frame[:80])
	}
	if last := frames[len(frames)-1]; last.Type != "turn_finished" {
		t.Errorf("last closing frame is %s", last.Frame)
	}
}

func TestReapOneFailureDoesNotKeepOthersWaiting(t *testing.T) {
	log := &fakeLog{leads: true, failing: errors.New("broken thread"), due: []eventlog.Thread{{User: "u", ID: "a"}, {User: "u", ID: "b"}}}
	r := newReaper(t, log, trusted(10*time.Second, 3*time.Second))
	if err := r.RunOnce(t.Context()); err == nil || !strings.Contains(err.Error(), "broken thread") {
		t.Errorf("err = %v, want the broken thread's", err)
	}
	if !log.called("reap b") {
		t.Errorf("thread b was not reaped: %v", log.calls)
	}
}

func TestRunTicksUntilItsContextEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log := &fakeLog{leads: true}
		r := newReaper(t, log, reaper.NewTrust(10*time.Second, 3*time.Second))
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		if err := r.Run(ctx); err != nil {
			t.Fatal(err)
		}
		if looks := len(log.calls); looks < 18 || looks > 23 {
			t.Errorf("%d looks in 10 s, want about 20", looks)
		}
	})
}

func TestNewNamesWhatIsMissing(t *testing.T) {
	if _, err := reaper.New(&fakeLog{}, reaper.Options{}); err == nil || !strings.Contains(err.Error(), "Node") {
		t.Errorf("err = %v, want one that names Node", err)
	}
}

// B89: a turn that nobody runs and whose owner nobody knows is found and ended,
// but not at first sight: its node may be registering again.
func TestB89_SweepEndsOrphansSeenTwice(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		orphan := eventlog.Orphan{Thread: eventlog.Thread{User: "u", ID: "left"}, TurnID: "turn-left", Attempt: 1, Owner: "forgotten"}
		log := &fakeLog{leads: true, orphans: []eventlog.Orphan{orphan}, nodes: []eventlog.NodeState{{ID: "me"}, {ID: "done", Past: true, Dead: true, Buried: true}}}
		trust := trusted(10*time.Second, 3*time.Second)
		r := newReaper(t, log, trust)
		look := func() {
			t.Helper()
			trust.Beat(time.Now(), nil)
			if err := r.RunOnce(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		look()
		look() // too early for another sweep
		if !log.called("sweep [me]") || log.called("lose") {
			t.Fatalf("calls %v; want one sweep and nothing lost", log.calls)
		}
		for range 25 {
			time.Sleep(3 * time.Second) // synctest: fake time
			look()
		}
		if !log.called("lose turn-left") || !log.called("reap left") {
			t.Fatalf("calls %v; want the orphan lost and reaped", log.calls)
		}
	})
}
