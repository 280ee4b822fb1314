package session_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"turnlog/agent"
	"turnlog/eventlog"
	"turnlog/session"
)

func TestB40_FinishesUnattended(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log := newFakeLog()
		n := startNode(t, log, agentFunc(func(ctx context.Context, turn agent.Turn) error {
			if got := text(turn.Info().Message); got != "hi" {
				t.Errorf("the agent was told %q", got)
			}
			return emit(ctx, turn, chunk("a"), chunk("b"), `{"type":"message","role":"assistant","content":"ab","turn_id":"x"}`)
		}), session.Options{})
		adm := n.submit("hi")
		if adm.Verdict != eventlog.VerdictStarted || adm.FirstSeq != 1 {
			t.Errorf("admission %+v", adm)
		}
		settle()
		wantLog(t, log, thread, "turn_started", "chunk a", "chunk b", "message ab assistant", "chunk done", "turn_finished completed")
		if got := strings.Join(n.feed.types(), " "); got != "turn_started chunk chunk message chunk turn_finished" {
			t.Errorf("the node's viewers got %s", got)
		}
		if n.RunningHere() != 0 {
			t.Error("the turn is still held")
		}
		n.stop()
	})
}

func TestB41_Supersede(t *testing.T) {
	for _, where := range []string{"same node", "other node"} {
		t.Run(where, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				log := newFakeLog()
				causes := make(chan error, 2)
				late := make(chan error, 2)
				ag := agentFunc(func(ctx context.Context, turn agent.Turn) error {
					if text(turn.Info().Message) == "second" {
						return emit(ctx, turn, chunk("new"))
					}
					err := waiting(causes)(ctx, turn)
					late <- emit(context.WithoutCancel(ctx), turn, chunk("late"))
					return err
				})
				first := startNode(t, log, ag, session.Options{})
				second := first
				if where == "other node" {
					second = startNode(t, log, ag, session.Options{})
				}
				first.submit("first")
				settle()
				second.submit("second")
				settle()
				wantCause(t, causes, eventlog.OutcomeSuperseded)
				if err := <-late; err == nil {
					t.Error("a late frame was accepted")
				}
				wantLog(t, log, thread, "turn_started", "chunk word", "message word superseded assistant", "turn_finished superseded",
					"turn_started", "chunk new", "chunk done", "turn_finished completed")
				first.stop()
				second.stop()
			})
		})
	}
}

func TestB41_RejectAndEnqueue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log := newFakeLog()
		release := make(chan struct{})
		n := startNode(t, log, agentFunc(func(ctx context.Context, turn agent.Turn) error {
			<-release
			return emit(ctx, turn, chunk(text(turn.Info().Message)))
		}), session.Options{OnBusy: eventlog.OnBusyReject})
		n.submit("one")
		_, err := n.trySubmit("no")
		wantCode(t, err, session.CodeBusy)
		if adm := n.submit("two", busy(eventlog.OnBusyEnqueue)); adm.Verdict != eventlog.VerdictQueued || adm.Position != 1 {
			t.Errorf("admission %+v", adm)
		}
		n.submit("three", busy(eventlog.OnBusyEnqueue))
		close(release)
		time.Sleep(5 * time.Second) // the bubble's clock: queued turns are claimed by polling
		settle()
		wantLog(t, log, thread, "turn_started", "chunk one", "chunk done", "turn_finished completed",
			"turn_started", "chunk two", "chunk done", "turn_finished completed",
			"turn_started", "chunk three", "chunk done", "turn_finished completed")
		n.stop()
	})
}

func TestB41_EnqueuedRunsAfterTheOwnerDied(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log := newFakeLog()
		causes := make(chan error, 1)
		dying := startNode(t, log, waiting(causes), session.Options{})
		dying.submit("first")
		dying.submit("next", busy(eventlog.OnBusyEnqueue))
		settle()
		dead := dying.Node()
		startNode(t, log, agentFunc(func(ctx context.Context, turn agent.Turn) error {
			return emit(ctx, turn, chunk(text(turn.Info().Message)))
		}), session.Options{Poll: 10 * time.Millisecond})
		log.declareDead(dead, false)
		wantCause(t, causes, eventlog.OutcomeOwnerLost)
		time.Sleep(time.Second)
		settle()
		got := ends(log, thread)
		if len(got) != 2 || got[0] != "owner_lost" || got[1] != "completed" {
			t.Errorf("ends %v", got)
		}
	})
}

func TestB45_FailingAgents(t *testing.T) {
	big := `{"type":"x","s":"` + strings.Repeat("b", 2000) + `"}`
	tests := []struct {
		name   string
		run    agentFunc
		reason string
	}{
		{"error", func(context.Context, agent.Turn) error { return errors.New("no luck") }, "no luck"},
		{"panic", func(context.Context, agent.Turn) error { panic("secret detail") }, "the agent panicked"},
		{"goexit", func(context.Context, agent.Turn) error { goexit(); return nil }, "ended its goroutine"},
		{"not JSON", func(ctx context.Context, turn agent.Turn) error { return emit(ctx, turn, `{"type":`) }, "JSON object"},
		{"no type", func(ctx context.Context, turn agent.Turn) error { return emit(ctx, turn, `{"a":1}`) }, "JSON object"},
		{"invalid UTF-8", func(ctx context.Context, turn agent.Turn) error {
			return emit(ctx, turn, "{\"type\":\"x\",\"s\":\"\xff\"}")
		}, "UTF-8"},
		{"too large", func(ctx context.Context, turn agent.Turn) error { return emit(ctx, turn, big) }, "larger than"},
		{"the runtime's frame", func(ctx context.Context, turn agent.Turn) error {
			return emit(ctx, turn, `{"type":"turn_finished","outcome":"completed"}`)
		}, "turn_finished"},
		{"unknown request", func(ctx context.Context, turn agent.Turn) error {
			_, err := turn.Ask(ctx, agent.Ask{Kind: "riddle"})
			return err
		}, "unknown kind"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				log := newFakeLog()
				n := startNode(t, log, tt.run, session.Options{FrameLimit: 1024})
				n.submit("go")
				settle()
				wantLog(t, log, thread, "turn_started", "error", "chunk done", "turn_finished failed")
				if frame := string(log.frames(thread)[1].Frame); !strings.Contains(frame, tt.reason) || strings.Contains(frame, "secret") {
					t.Errorf("the error frame says %s", frame)
				}
				n.stop()
			})
		})
	}
}

func TestB46_DeadlinesOfTheLogEndTheAgent(t *testing.T) {
	for _, outcome := range []eventlog.Outcome{eventlog.OutcomeTimedOut, eventlog.OutcomeStalled} {
		t.Run(string(outcome), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				log := newFakeLog()
				causes := make(chan error, 1)
				n := startNode(t, log, waiting(causes), session.Options{MaxDuration: time.Hour, StallAfter: time.Minute})
				adm := n.submit("go")
				if adm.Submission.MaxDuration != time.Hour || adm.Submission.StallAfter != time.Minute {
					t.Errorf("the log is not told the limits: %+v", adm.Submission)
				}
				settle()
				log.endTurn(thread, outcome)
				wantCause(t, causes, outcome)
				settle()
				if got := ends(log, thread); len(got) != 1 || got[0] != string(outcome) {
					t.Errorf("ends %v", got)
				}
				n.stop()
			})
		})
	}
}

func TestB48_Quota(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log := newFakeLog()
		n := startNode(t, log, waiting(nil), session.Options{Quota: 2})
		n.submit("a", onThread("1"))
		n.submit("b", onThread("2"))
		settle()
		_, err := n.trySubmit("c", onThread("3"))
		wantCode(t, err, session.CodeQuota)
		n.submit("b2", onThread("2")) // superseding frees its own place
		if _, err := n.Stop(t.Context(), "alice", "1", ""); err != nil {
			t.Fatal(err)
		}
		settle()
		n.submit("c", onThread("3"))
		n.stop()
	})
}

func TestB49_EarlyEndLeavesAPartialAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log := newFakeLog()
		n := startNode(t, log, agentFunc(func(ctx context.Context, turn agent.Turn) error {
			if err := emit(ctx, turn, chunk("so "), chunk("far")); err != nil {
				return err
			}
			_, err := turn.Ask(ctx, agent.Ask{Kind: agent.KindToolCall, Name: "look", Fields: map[string]any{"args": map[string]any{"n": []int{}}}})
			return err
		}), session.Options{})
		n.submit("go")
		settle()
		if _, err := n.Stop(t.Context(), "alice", "t1", ""); err != nil {
			t.Fatal(err)
		}
		settle()
		wantLog(t, log, thread, "turn_started", "chunk so ", "chunk far", "tool_call", "message so far stopped assistant", "message stopped tool",
			"generation_stopped", "request_closed turn_ended", "chunk done", "turn_finished stopped")
		n.stop()
	})
}

func TestFailuresAndUsageAreTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log := newFakeLog()
		n := startNode(t, log, agentFunc(func(ctx context.Context, turn agent.Turn) error {
			agent.ReportUsage(turn, []byte(`{"total_tokens":1}`))
			for _, refused := range []string{`[1]`, `{`, `{"a":"` + strings.Repeat("x", agent.MaxUsage) + `"}`, ``} {
				agent.ReportUsage(turn, []byte(refused))
			}
			agent.ReportUsage(turn, []byte(` {"total_tokens":2,"odd":"\ud83d"} `))
			return fmt.Errorf("ask the model: %w", &agent.Error{Message: "slow down", Type: "rate_limit_error", StatusCode: 429, Err: errors.New("secret")})
		}), session.Options{})
		n.submit("hi")
		settle()
		var last []string
		for _, c := range n.feed.commits {
			for _, e := range c.Entries {
				last = append(last, string(e.Frame))
			}
		}
		got := strings.Join(last, "\n")
		for _, want := range []string{
			`{"type":"error","message":"ask the model: slow down","error_type":"rate_limit_error","status_code":429}`,
			`{"type":"turn_finished","outcome":"failed","error":"ask the model: slow down","usage":{"total_tokens":2,"odd":"\ufffd"}}`,
		} {
			if !strings.Contains(got, want) {
				t.Errorf("want %s in\n%s", want, got)
			}
		}
		n.stop()
	})
}

func TestAgentsOfMessagesThatNameNone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log := newFakeLog()
		speaking := func(word string) agentFunc {
			return func(ctx context.Context, turn agent.Turn) error { return emit(ctx, turn, chunk(word)) }
		}
		var failing error
		n := startAgents(t, log, map[string]agent.Agent{"a": speaking("A"), "b": speaking("B")}, session.Options{
			DefaultAgent: "a", AdmitBudget: time.Second,
			AgentOf: func(_ context.Context, s session.Submit) (string, error) {
				return map[string]string{"kind-b": "b", "gone": "c"}[s.Thread.ID], failing
			},
		})
		for _, row := range []struct{ thread, agent, want string }{
			{"t1", "", "chunk A"}, {"kind-b", "", "chunk B"}, {"kind-b", "a", "chunk A"},
		} {
			n.submit("hi", onThread(row.thread), func(s *session.Submit) { s.Agent = row.agent })
			settle()
			got := log.brief(eventlog.Thread{User: "alice", ID: row.thread})
			if !strings.Contains(strings.Join(got, "\n"), row.want) {
				t.Errorf("%+v: %v", row, got)
			}
		}
		_, err := n.trySubmit("hi", onThread("gone"))
		wantCode(t, err, session.CodeUnknownAgent)
		if !strings.Contains(err.Error(), `"c"`) || !strings.Contains(err.Error(), "there is a, b") {
			t.Error(err)
		}
		failing = eventlog.ErrUnavailable
		_, err = n.trySubmit("hi", onThread("kind-b"))
		wantCode(t, err, session.CodeUnavailable)
		n.stop()
	})
}
