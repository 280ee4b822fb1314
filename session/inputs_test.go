package session_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"turnlog/agent"
	"turnlog/eventlog"
	"turnlog/frame"
	"turnlog/session"
)

// openRequest returns the id of the newest request frame.
func openRequest(t *testing.T, log *fakeLog, name eventlog.Thread) string {
	t.Helper()
	for _, f := range slices.Backward(log.frames(name)) {
		for _, key := range []string{"tool_call_id", "approval_id"} {
			if id, ok := frame.String(f.Frame, key); ok && strings.HasPrefix(id, "req_") {
				return id
			}
		}
	}
	t.Fatalf("no request in %v", log.brief(name))
	return ""
}

// asking asks once and says what came back.
func asking(ask agent.Ask) agentFunc {
	return func(ctx context.Context, turn agent.Turn) error {
		a, err := turn.Ask(ctx, ask)
		if err != nil {
			return fmt.Errorf("ask: %w", err)
		}
		return emit(ctx, turn, chunk(fmt.Sprintf("%s auto=%t", a.Payload, a.Auto)))
	}
}

func TestB60_AnswersReachTheAgentFromAnyNode(t *testing.T) {
	tests := []struct {
		kind, frame, name string
		payload           string
	}{
		{agent.KindToolCall, "tool_call", "name", `{"ok":true,"result":{"a":[]}}`},
		{agent.KindToolApproval, "tool_approval_request", "tool_name", `{"decision":"allow_for_chat"}`},
		{agent.KindPlanApproval, "plan_approval_request", "name", `{"decision":"reject","feedback":"no"}`},
		{agent.KindSecret, "secret_request", "name", `{"status":"saved"}`},
	}
	for _, tt := range tests {
		t.Run(tt.kind, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				log := newFakeLog()
				owner := startNode(t, log, asking(agent.Ask{Kind: tt.kind, Name: "f", Fields: map[string]any{"args": map[string]any{"x": "<&>"}}}), session.Options{})
				other := startNode(t, log, waiting(nil), session.Options{})
				owner.submit("go")
				settle()
				f := log.frames(thread)[1]
				if name, _ := frame.String(f.Frame, tt.name); f.Type != tt.frame || name != "f" || !strings.Contains(string(f.Frame), `"<&>"`) {
					t.Errorf("the request looks like %s", f.Frame)
				}
				if err := other.Answer(t.Context(), "alice", session.Answer{RequestID: openRequest(t, log, thread), Payload: json.RawMessage(tt.payload)}); err != nil {
					t.Fatal(err)
				}
				settle()
				wantLog(t, log, thread, "turn_started", tt.frame, "request_closed answered", "chunk "+tt.payload+" auto=false", "chunk done", "turn_finished completed")
				owner.stop()
				other.stop()
			})
		})
	}
}

func TestB61_RequestsStayOpenAndExpire(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log := newFakeLog()
		n := startNode(t, log, asking(agent.Ask{Kind: agent.KindToolCall, Name: "f"}), session.Options{ToolTimeout: time.Minute})
		n.submit("go")
		time.Sleep(24 * time.Hour) // the clock of a request is the log's
		settle()
		if n.RunningHere() != 1 {
			t.Fatal("the turn did not wait")
		}
		_, err := log.SendInput(t.Context(), thread, "", eventlog.Input{ID: "x", Kind: eventlog.InputExpired, RequestID: openRequest(t, log, thread)})
		if err != nil {
			t.Fatal(err)
		}
		settle()
		wantLog(t, log, thread, "turn_started", "tool_call", "request_closed expired", "message failed assistant", "message failed tool", "error", "chunk done", "turn_finished failed")
		n.stop()
	})
}

func TestB61_AgentGivesUpAsking(t *testing.T) {
	for reason, why := range map[string]error{"expired": context.DeadlineExceeded, "turn_ended": fmt.Errorf("%w: it has said all", agent.ErrOver)} {
		t.Run(reason, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				log := newFakeLog()
				n := startNode(t, log, agentFunc(func(ctx context.Context, turn agent.Turn) error {
					short, cancel := context.WithCancelCause(ctx)
					defer cancel(nil)
					defer time.AfterFunc(time.Second, func() { cancel(why) }).Stop()
					if _, err := turn.Ask(short, agent.Ask{Kind: agent.KindSecret}); !errors.Is(err, why) {
						t.Errorf("ask: %v", err)
					}
					return emit(ctx, turn, chunk("on"))
				}), session.Options{})
				n.submit("go")
				time.Sleep(2 * time.Second)
				settle()
				wantLog(t, log, thread, "turn_started", "secret_request", "request_closed "+reason, "chunk on", "chunk done", "turn_finished completed")
				n.stop()
			})
		})
	}
}

func TestB62_FirstAnswerWins(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log := newFakeLog()
		one := startNode(t, log, asking(agent.Ask{Kind: agent.KindToolApproval, Name: "f"}), session.Options{})
		two := startNode(t, log, waiting(nil), session.Options{})
		one.submit("go")
		settle()
		req := openRequest(t, log, thread)
		for i, n := range []*node{two, one, two} {
			if err := n.Answer(t.Context(), "alice", session.Answer{RequestID: req, Payload: fmt.Appendf(nil, `{"n":%d}`, i)}); err != nil {
				t.Fatal(err)
			}
		}
		settle()
		wantLog(t, log, thread, "turn_started", "tool_approval_request", "request_closed answered", `chunk {"n":0} auto=false`, "chunk done", "turn_finished completed")
		one.stop()
		two.stop()
	})
}

func TestB63_LostWakeUpAndLostPoll(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log := newFakeLog()
		n := startNode(t, log, asking(agent.Ask{Kind: agent.KindToolCall}), session.Options{})
		other := startNode(t, log, waiting(nil), session.Options{})
		n.submit("go")
		settle()
		log.mu.Lock()
		log.wake = nil // wake-ups get lost
		log.mu.Unlock()
		log.fail("poll", 4, true) // and so do polls that had emptied the inbox
		if err := other.Answer(t.Context(), "alice", session.Answer{RequestID: openRequest(t, log, thread), Payload: []byte(`{}`)}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(10 * time.Second)
		settle()
		if got := ends(log, thread); len(got) != 1 || got[0] != "completed" {
			t.Errorf("ends %v", got)
		}
		n.stop()
		other.stop()
	})
}

func TestB64_AnotherUsersAnswerDoesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log := newFakeLog()
		n := startNode(t, log, asking(agent.Ask{Kind: agent.KindToolCall}), session.Options{})
		n.submit("go")
		settle()
		for _, req := range []string{openRequest(t, log, thread), "req_unknown", ""} {
			if err := n.Answer(t.Context(), "mallory", session.Answer{RequestID: req, Payload: []byte(`{}`)}); err != nil {
				t.Errorf("the answer is told apart: %v", err)
			}
		}
		settle()
		wantLog(t, log, thread, "turn_started", "tool_call")
		n.stop()
	})
}

func TestB65_TheEndClosesRequests(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log := newFakeLog()
		n := startNode(t, log, agentFunc(func(ctx context.Context, turn agent.Turn) error {
			go func() { _, _ = turn.Ask(ctx, agent.Ask{Kind: agent.KindSecret}) }()
			synctestYield()
			return emit(ctx, turn, chunk("done asking"))
		}), session.Options{})
		n.submit("go")
		time.Sleep(time.Second)
		settle()
		wantLog(t, log, thread, "turn_started", "secret_request", "chunk done asking", "request_closed turn_ended", "chunk done", "turn_finished completed")
		n.stop()
	})
}

// synctestYield lets the bubble's other goroutines run until they wait.
func synctestYield() { time.Sleep(time.Millisecond) }

func TestB67_RequestIDsAreTheRuntimes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log := newFakeLog()
		n := startNode(t, log, agentFunc(func(ctx context.Context, turn agent.Turn) error {
			for range 2 {
				a, err := turn.Ask(ctx, agent.Ask{Kind: agent.KindToolCall, Name: "f", Fields: map[string]any{
					"tool_call_id": "call_0", "call_id": "call_0", "type": "chunk", "thread_id": "x", "args": map[string]any{},
				}})
				if err != nil {
					return err
				}
				if err := emit(ctx, turn, chunk(string(a.Payload))); err != nil {
					return err
				}
			}
			return nil
		}), session.Options{})
		n.submit("go")
		settle()
		first := openRequest(t, log, thread)
		answer := func(req, payload string) {
			if err := n.Answer(t.Context(), "alice", session.Answer{RequestID: req, Payload: []byte(payload)}); err != nil {
				t.Fatal(err)
			}
			settle()
		}
		answer(first, `1`)
		answer(first, `again`)
		second := openRequest(t, log, thread)
		if first == second {
			t.Fatal("an id was used twice")
		}
		answer(second, `2`)
		wantLog(t, log, thread, "turn_started", "tool_call", "request_closed answered", "chunk 1",
			"tool_call", "request_closed answered", "chunk 2", "chunk done", "turn_finished completed")
		n.stop()
	})
}

func TestPermissionModeAutoAllowsOpenToolApprovals(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log := newFakeLog()
		modes := make(chan string, 4)
		n := startNode(t, log, agentFunc(func(ctx context.Context, turn agent.Turn) error {
			err := asking(agent.Ask{Kind: agent.KindToolApproval, Name: "rm"})(ctx, turn)
			modes <- (<-turn.Inputs()).Mode
			return err
		}), session.Options{})
		n.submit("go")
		settle()
		for _, mode := range []string{"plan", "auto"} {
			if err := n.SetPermissionMode(t.Context(), thread, mode); err != nil {
				t.Fatal(err)
			}
			settle()
		}
		wantLog(t, log, thread, "turn_started", "tool_approval_request", "request_closed answered",
			`chunk {"decision":"allow"} auto=true`, "chunk done", "turn_finished completed")
		if m := <-modes; m != "plan" {
			t.Errorf("mode %q", m)
		}
		wantCode(t, n.SetPermissionMode(t.Context(), thread, ""), session.CodeInvalid)
		n.stop()
	})
}
