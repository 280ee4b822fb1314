package session_test

import (
	"encoding/json"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"turnlog/agent"
	"turnlog/eventlog"
	"turnlog/session"
)

// B66: a tool call is meant for the connection that submitted, unless that one
// said which tools it has and this is none of them.
func TestB66_PreferredTarget(t *testing.T) {
	for _, row := range []struct {
		name, tools, want string
	}{
		{"no manifest", ``, "conn"},
		{"has the tool", `[{"name":"other"},{"name":"search"}]`, "conn"},
		{"lacks the tool", `[{"name":"other"}]`, ""},
		{"has no tools", `[]`, ""},
		{"unreadable", `{"name":1}`, "conn"},
	} {
		t.Run(row.name, func(t *testing.T) {
			sub := eventlog.Submission{Conn: "conn", Tools: json.RawMessage(row.tools)}
			if got := session.Preferred(sub, "search"); got != row.want {
				t.Errorf("preferred %q, want %q", got, row.want)
			}
		})
	}
}

// Agents that must keep an order of their own learn when a request has its place.
func TestAskTellsWhenTheRequestIsQueued(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log := newFakeLog()
		queued := make(chan struct{}, 2)
		n := startNode(t, log, asking(agent.Ask{Kind: agent.KindSecret, Queued: func() { queued <- struct{}{} }}), session.Options{})
		n.submit("go")
		settle()
		if len(queued) != 1 {
			t.Fatalf("told %d times before the answer, want once", len(queued))
		}
		if err := n.Answer(t.Context(), "alice", session.Answer{RequestID: openRequest(t, log, thread), Payload: json.RawMessage(`{"status":"saved"}`)}); err != nil {
			t.Fatal(err)
		}
		settle()
		wantLog(t, log, thread, "turn_started", "secret_request", "request_closed answered", `chunk {"status":"saved"} auto=false`, "chunk done", "turn_finished completed")
		n.stop()
	})
}

// B27: a refusal is told at once, not after the time that is kept for outages.
func TestB27_PolicyConflictIsTheLogsLastWord(t *testing.T) {
	onRedis(t, func(t *testing.T, addr string) {
		n := startReal(t, addr, waiting(nil), session.Options{AdmitBudget: time.Hour})
		if _, err := n.SetPolicy(t.Context(), thread, eventlog.PolicyPreserve, "thread"); err != nil {
			t.Fatal(err)
		}
		_, err := n.SetPolicy(t.Context(), thread, eventlog.PolicyCancel, "turn")
		var refusal *session.Refusal
		if !errors.As(err, &refusal) || refusal.Code != session.CodePolicyConflict {
			t.Fatalf("cancel on a preserve thread: %v, want %s", err, session.CodePolicyConflict)
		}
	})
}
