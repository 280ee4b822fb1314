package openai_test

import (
	"context"
	"encoding/json"
	"errors"
	"testing"
	"time"

	"turnlog/agent"
	"turnlog/agent/agenttest"
)

func contextWithCause(t *testing.T) (context.Context, context.CancelCauseFunc) {
	ctx, cancel := context.WithCancelCause(t.Context())
	t.Cleanup(func() { cancel(nil) })
	return ctx, cancel
}

func await(t *testing.T, ch <-chan struct{}, what string) {
	t.Helper()
	timer := time.NewTimer(20 * time.Second)
	defer timer.Stop()
	select {
	case <-ch:
	case <-timer.C:
		t.Fatalf("still waiting for %s", what)
	}
}

// wantFault wants a typed failure.
func wantFault(t *testing.T, err error, typ string, status int) *agent.Error {
	t.Helper()
	var fault *agent.Error
	if !errors.As(err, &fault) || fault.Type != typ || fault.StatusCode != status || fault.Message == "" {
		t.Fatalf("want %s %d, got %#v", typ, status, err)
	}
	return fault
}

func newTurnWithLimit(message, tools string, limit int) *agenttest.Turn {
	return agenttest.New(agent.Info{
		Message: json.RawMessage(`{"role":"user","content":"` + message + `"}`), Tools: json.RawMessage(tools), FrameLimit: limit,
	})
}
