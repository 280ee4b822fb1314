package session_test

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"turnlog/agent"
	"turnlog/eventlog"
	"turnlog/session"
)

func TestB47_SteerReachesTheAgent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log := newFakeLog()
		n := startNode(t, log, agentFunc(func(ctx context.Context, turn agent.Turn) error {
			in := <-turn.Inputs()
			return emit(ctx, turn, chunk(in.Kind+" "+text(in.Message)))
		}), session.Options{})
		adm := n.submit("go")
		settle()
		for i := range 3 { // the same steer is taken once, also after the end
			res, err := n.Steer(t.Context(), session.Steer{Thread: thread, ID: "s1", Data: []byte(`{"content":"left"}`)})
			if err != nil || !res.Delivered || res.Duplicate != (i > 0) || i == 0 && res.TurnID != adm.TurnID {
				t.Errorf("steer %d: %+v, %v", i, res, err)
			}
			settle()
		}
		time.Sleep(5 * time.Second)
		settle()
		wantLog(t, log, thread, "turn_started", "chunk steer left", "chunk done", "turn_finished completed")
		n.stop()
	})
}

func TestB47_SteerThatWasNotTakenBecomesTheNextTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log := newFakeLog()
		release := make(chan struct{})
		n := startNode(t, log, agentFunc(func(ctx context.Context, turn agent.Turn) error {
			<-release
			return emit(ctx, turn, chunk(text(turn.Info().Message)))
		}), session.Options{})
		n.submit("go")
		settle()
		if _, err := n.Steer(t.Context(), session.Steer{Thread: thread, Data: []byte(`{"content":"late"}`)}); err != nil {
			t.Fatal(err)
		}
		settle()
		close(release)
		time.Sleep(5 * time.Second)
		settle()
		res, err := n.Steer(t.Context(), session.Steer{Thread: thread, Data: []byte(`{"content":"alone"}`)})
		if err != nil || res.Delivered || res.Admission == nil || res.Admission.Verdict != eventlog.VerdictStarted {
			t.Errorf("steer without a turn: %+v, %v", res, err)
		}
		settle()
		wantLog(t, log, thread, "turn_started", "chunk go", "chunk done", "turn_finished completed",
			"turn_started", "chunk late", "chunk done", "turn_finished completed",
			"turn_started", "chunk alone", "chunk done", "turn_finished completed")
		n.stop()
	})
}

func TestDrainWaitsThenShutsDown(t *testing.T) {
	for _, patient := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			log := newFakeLog()
			n := startNode(t, log, agentFunc(func(ctx context.Context, turn agent.Turn) error {
				select {
				case <-time.After(time.Minute):
					return emit(ctx, turn, chunk("a"))
				case <-ctx.Done():
					return context.Cause(ctx)
				}
			}), session.Options{})
			n.submit("go")
			n.submit("next", busy(eventlog.OnBusyEnqueue))
			wait := 10 * time.Second
			if patient {
				wait = 10 * time.Minute
			}
			drain, cancel := context.WithTimeout(t.Context(), wait)
			defer cancel()
			go func() {
				time.Sleep(time.Second)
				_, err := n.trySubmit("no", onThread("t2"))
				wantCode(t, err, session.CodeDraining)
			}()
			if err := n.Drain(drain); err != nil || !n.Draining() {
				t.Errorf("drain: %v", err)
			}
			want := "shutdown"
			if patient {
				want = "completed"
			}
			if got := ends(log, thread); !slices.Equal(got, []string{want}) {
				t.Errorf("ends %v, want %s", got, want)
			}
			n.stop()
			if len(log.leases) != 0 {
				t.Errorf("leases left: %v", log.leases)
			}
		})
	}
}

func TestNodeDeclaredDeadRejoins(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log := newFakeLog()
		causes := make(chan error, 1)
		var joined []string
		n := startNode(t, log, waiting(causes), session.Options{
			OnRejoin: func(_ context.Context, node string) { joined = append(joined, node) },
		})
		n.submit("go")
		settle()
		old := n.Node()
		log.declareDead(old, false)
		wantCause(t, causes, eventlog.OutcomeOwnerLost)
		time.Sleep(10 * time.Second)
		settle()
		if n.Node() == old || len(joined) != 1 || joined[0] != n.Node() {
			t.Errorf("node %s -> %s, told %v", old, n.Node(), joined)
		}
		n.submit("again")
		settle()
		if n.RunningHere() != 1 {
			t.Error("the new id runs nothing")
		}
		n.stop()
	})
}

func TestSubmitOnADeadNodeRejoinsFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log := newFakeLog()
		n := startNode(t, log, waiting(nil), session.Options{})
		log.mu.Lock()
		log.dead[n.Node()] = true
		log.mu.Unlock()
		if adm := n.submit("go"); adm.Verdict != eventlog.VerdictStarted {
			t.Errorf("admission %+v", adm)
		}
		settle()
		if n.RunningHere() != 1 {
			t.Error("the turn does not run")
		}
		n.stop()
	})
}

func TestB89_OwnedTurnThatDoesNotRunIsEnded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log := newFakeLog()
		n := startNode(t, log, waiting(nil), session.Options{})
		log.mu.Lock() // a begin whose reply never came
		log.thread(thread).start(eventlog.Submission{TurnID: "t-lost", Message: []byte(`{"role":"user","content":"x"}`)}, n.Node(), 1)
		log.mu.Unlock()
		time.Sleep(40 * time.Second)
		settle()
		if got := ends(log, thread); got != nil {
			t.Errorf("ended after one look: %v", got)
		}
		time.Sleep(30 * time.Second)
		settle()
		wantLog(t, log, thread, "turn_started", "error", "chunk done", "turn_finished owner_lost")
		n.stop()
	})
}

type restartable struct{ agentFunc }

func (restartable) Restartable() bool { return true }

func TestB81_B90_NextAttemptIsToldWhatWasSaid(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log := newFakeLog()
		ag := restartable{func(ctx context.Context, turn agent.Turn) error {
			info := turn.Info()
			history, err := turn.History(ctx, 0)
			if err != nil {
				return err
			}
			if info.Attempt == 1 {
				if err := turn.Checkpoint(ctx, make([]byte, agent.MaxCheckpoint+1)); err == nil {
					t.Error("a huge checkpoint was accepted")
				}
				if err := turn.Checkpoint(ctx, []byte("here")); err != nil {
					return err
				}
				return waiting(nil)(ctx, turn)
			}
			return emit(ctx, turn, chunk(fmt.Sprintf("attempt %d from %s after %d frames, history %d", info.Attempt, info.Checkpoint, len(info.Emitted), len(history))))
		}}
		first := startNode(t, log, ag, session.Options{Attempts: 3})
		adm := first.submit("go")
		if adm.Submission.Attempts != 3 {
			t.Errorf("attempts %d", adm.Submission.Attempts)
		}
		settle()
		second := startNode(t, log, ag, session.Options{Attempts: 3})
		log.declareDead(first.Node(), true)
		time.Sleep(5 * time.Second)
		settle()
		wantLog(t, log, thread, "turn_started", "chunk word", "turn_started", "chunk attempt 2 from here after 2 frames, history 0", "chunk done", "turn_finished completed")
		first.stop()
		second.stop()
	})
}

func TestOptionsAreChecked(t *testing.T) {
	ag := map[string]agent.Agent{"a": waiting(nil), "b": waiting(nil)}
	for name, opts := range map[string]session.Options{
		"no default agent": {},
		"unknown default":  {DefaultAgent: "c"},
		"negative stop":    {DefaultAgent: "a", StopTimeout: -1},
		"negative limit":   {DefaultAgent: "a", MaxDuration: -1},
		"tiny frames":      {DefaultAgent: "a", FrameLimit: 10},
		"on busy":          {DefaultAgent: "a", OnBusy: "panic"},
		"attempts":         {DefaultAgent: "a", Attempts: -1},
	} {
		if _, err := session.New(newFakeLog(), &feed{}, ag, opts); err == nil {
			t.Errorf("%s was accepted", name)
		}
	}
}
