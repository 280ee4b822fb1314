package session_test

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"turnlog/agent"
	"turnlog/eventlog"
	"turnlog/session"
)

func TestB42_StopFromAnyNode(t *testing.T) {
	for _, where := range []string{"same node", "other node"} {
		t.Run(where, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				log := newFakeLog()
				causes := make(chan error, 1)
				owner := startNode(t, log, waiting(causes), session.Options{})
				stopper := owner
				if where == "other node" {
					stopper = startNode(t, log, waiting(nil), session.Options{})
				}
				adm := owner.submit("go")
				settle()
				res, err := stopper.Stop(t.Context(), "alice", "t1", "")
				if err != nil || !res.Stopped || res.TurnID != adm.TurnID {
					t.Errorf("stop: %+v, %v", res, err)
				}
				settle()
				wantCause(t, causes, eventlog.OutcomeStopped)
				wantLog(t, log, thread, "turn_started", "chunk word", "message word stopped assistant", "generation_stopped", "chunk done", "turn_finished stopped")
				owner.stop()
				stopper.stop()
			})
		})
	}
}

func TestAStopMaySayWhy(t *testing.T) {
	for want, message := range map[string]string{"Generation stopped": "", "by an operator": "by an operator"} {
		synctest.Test(t, func(t *testing.T) {
			log := newFakeLog()
			n := startNode(t, log, waiting(nil), session.Options{})
			n.submit("go")
			settle()
			if res, err := n.StopSaying(t.Context(), thread, "", message); err != nil || !res.Stopped {
				t.Errorf("stop: %+v, %v", res, err)
			}
			settle()
			var said []string
			for _, f := range log.frames(thread) {
				if f.Type == "generation_stopped" {
					said = append(said, string(f.Frame))
				}
			}
			if len(said) != 1 || said[0] != `{"type":"generation_stopped","message":"`+want+`","job_id":null}` {
				t.Errorf("frames %v", said)
			}
			n.stop()
		})
	}
}

func TestB42_HungAgentIsAbandoned(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log := newFakeLog()
		release := make(chan struct{})
		var spoke error
		n := startNode(t, log, agentFunc(func(ctx context.Context, turn agent.Turn) error {
			_ = emit(ctx, turn, chunk("a"))
			<-release
			spoke = emit(context.Background(), turn, chunk("late"))
			return nil
		}), session.Options{StopTimeout: 10 * time.Second})
		n.submit("go")
		settle()
		started := time.Now()
		if _, err := n.Stop(t.Context(), "alice", "t1", ""); err != nil {
			t.Fatal(err)
		}
		settle()
		wantLog(t, log, thread, "turn_started", "chunk a", "message a stopped assistant", "generation_stopped")
		for n.RunningHere() > 0 {
			time.Sleep(time.Second)
			settle()
		}
		if took := time.Since(started); took > 11*time.Second {
			t.Errorf("abandoned after %s", took)
		}
		if got := ends(log, thread); len(got) != 1 || got[0] != "stopped" {
			t.Errorf("ends %v", got)
		}
		close(release)
		settle()
		if spoke == nil {
			t.Error("an abandoned agent could speak")
		}
		n.stop()
	})
}

func TestB43_StopRacingTheEnd(t *testing.T) {
	for i := range 200 {
		log := newFakeLog()
		synctest.Test(t, func(t *testing.T) {
			n := startNode(t, log, agentFunc(func(ctx context.Context, turn agent.Turn) error {
				return emit(ctx, turn, chunk("a"), chunk("b"))
			}), session.Options{})
			n.submit("go")
			if _, err := n.Stop(t.Context(), "alice", "t1", ""); err != nil {
				t.Fatal(err)
			}
			settle()
			n.stop()
		})
		if got := ends(log, thread); len(got) != 1 {
			t.Fatalf("round %d: ends %v in %v", i, got, log.brief(thread))
		}
	}
}

func TestB43_LateStopSparesTheNextTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log := newFakeLog()
		n := startNode(t, log, waiting(nil), session.Options{})
		old := n.submit("one")
		settle()
		n.submit("two")
		settle()
		res, err := n.Stop(t.Context(), "alice", "t1", old.TurnID)
		if err != nil || res.Stopped {
			t.Errorf("stop of the old turn: %+v, %v", res, err)
		}
		settle()
		if n.RunningHere() != 1 {
			t.Error("the new turn does not run any more")
		}
		n.stop()
	})
}

func TestB43_StopDropsTheQueue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log := newFakeLog()
		n := startNode(t, log, waiting(nil), session.Options{OnBusy: eventlog.OnBusyEnqueue})
		n.submit("one")
		second, third := n.submit("two"), n.submit("three")
		settle()
		res, err := n.Stop(t.Context(), "alice", "t1", second.TurnID)
		if err != nil || len(res.Dropped) != 1 || res.Dropped[0] != second.TurnID || res.Stopped {
			t.Errorf("stop of a queued turn: %+v, %v", res, err)
		}
		res, err = n.Stop(t.Context(), "alice", "t1", "")
		if err != nil || len(res.Dropped) != 1 || res.Dropped[0] != third.TurnID || !res.Stopped {
			t.Errorf("stop of the thread: %+v, %v", res, err)
		}
		settle()
		if n.RunningHere() != 0 {
			t.Error("something still runs")
		}
		n.stop()
	})
}

func TestB50_AgentSeesWhyItsContextEnded(t *testing.T) {
	tests := []struct {
		outcome eventlog.Outcome
		end     func(n *node)
	}{
		{eventlog.OutcomeStopped, func(n *node) { _, _ = n.Stop(n.t.Context(), "alice", "t1", "") }},
		{eventlog.OutcomeSuperseded, func(n *node) { n.submit("next") }},
		{eventlog.OutcomeTimedOut, func(n *node) { n.log.endTurn(thread, eventlog.OutcomeTimedOut) }},
		{eventlog.OutcomeStalled, func(n *node) { n.log.endTurn(thread, eventlog.OutcomeStalled) }},
		{eventlog.OutcomeDetached, func(n *node) { n.log.fenceTurn(thread, eventlog.OutcomeDetached) }},
		{eventlog.OutcomeOwnerLost, func(n *node) { n.log.declareDead(n.Node(), false); time.Sleep(5 * time.Second) }},
		{eventlog.OutcomeShutdown, func(n *node) { n.end() }},
	}
	for _, tt := range tests {
		t.Run(string(tt.outcome), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				log := newFakeLog()
				causes := make(chan error, 2)
				n := startNode(t, log, waiting(causes), session.Options{})
				n.submit("go")
				settle()
				tt.end(n)
				wantCause(t, causes, tt.outcome)
				settle()
				if got := ends(log, thread); len(got) != 1 || got[0] != string(tt.outcome) {
					t.Errorf("ends %v", got)
				}
				n.stop()
			})
		})
	}
}

func TestB23_PolicyCancelEndsOnWhateverNode(t *testing.T) {
	for _, where := range []string{"owner", "other node"} {
		t.Run(where, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				log := newFakeLog()
				causes := make(chan error, 1)
				owner := startNode(t, log, waiting(causes), session.Options{})
				leaving := owner
				if where == "other node" {
					leaving = startNode(t, log, waiting(nil), session.Options{})
				}
				owner.submit("go", func(s *session.Submit) { s.Policy = eventlog.PolicyCancel })
				settle()
				log.fenceTurn(thread, eventlog.OutcomeDetached) // what detach does
				log.mu.Lock()
				res := eventlog.DetachResult{Changed: true, Last: true, Ending: true, Turn: log.thread(thread).busy(thread)}
				log.mu.Unlock()
				leaving.Detached(t.Context(), thread, res)
				wantCause(t, causes, eventlog.OutcomeDetached)
				settle()
				wantLog(t, log, thread, "turn_started", "chunk word", "message word detached assistant", "chunk done", "turn_finished detached")
				owner.stop()
				leaving.stop()
			})
		})
	}
}

func TestB25_PoliciesReachTheLog(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log := newFakeLog()
		n := startNode(t, log, waiting(nil), session.Options{
			Kind: func(s session.Submit) (string, eventlog.Policy) {
				if s.Thread.ID == "job" {
					return "job", eventlog.PolicyPreserve
				}
				return "", ""
			},
		})
		adm := n.submit("go", func(s *session.Submit) { s.Policy = eventlog.PolicyGrace })
		if adm.Policy != eventlog.PolicyGrace {
			t.Errorf("policy %q", adm.Policy)
		}
		if p, err := n.SetPolicy(t.Context(), thread, eventlog.PolicyPreserve, ""); err != nil || p != eventlog.PolicyPreserve {
			t.Errorf("set policy: %q, %v", p, err)
		}
		_, err := n.SetPolicy(t.Context(), thread, eventlog.PolicyCancel, "turn")
		wantCode(t, err, session.CodePolicyConflict)
		_, err = n.SetPolicy(t.Context(), thread, "forever", "turn")
		wantCode(t, err, session.CodeInvalid)
		_, err = n.SetPolicy(t.Context(), thread, eventlog.PolicyGrace, "galaxy")
		wantCode(t, err, session.CodeInvalid)
		_, err = n.trySubmit("go", onThread("job"), func(s *session.Submit) { s.Policy = eventlog.PolicyCancel })
		wantCode(t, err, session.CodePolicyConflict)
		n.stop()
	})
}

func TestStopOfNothingChangesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log := newFakeLog()
		n := startNode(t, log, waiting(nil), session.Options{})
		for _, name := range []string{"t1", "other"} {
			if res, err := n.Stop(t.Context(), "alice", name, ""); err != nil || res.Stopped || res.TurnID != "" {
				t.Errorf("stop: %+v, %v", res, err)
			}
		}
		n.submit("go")
		settle()
		if res, err := n.Stop(t.Context(), "mallory", "t1", ""); err != nil || res.Stopped {
			t.Errorf("stop of another user's turn: %s", fmt.Sprint(res, err))
		}
		settle()
		if n.RunningHere() != 1 {
			t.Error("another user could stop the turn")
		}
		n.stop()
	})
}
