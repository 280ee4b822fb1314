package agenttest_test

import (
	"context"
	"encoding/json"
	"errors"
	"testing"

	"go.uber.org/goleak"

	"turnlog/agent"
	"turnlog/agent/agenttest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestEmitRefusesWhatTheRuntimeRefuses(t *testing.T) {
	turn := agenttest.New(agent.Info{FrameLimit: 20})
	for in, want := range map[string]error{
		`{"type":"a"}`: nil, `{}`: agent.ErrInvalidFrame, "{\"type\":\"\xff\"}": agent.ErrInvalidFrame,
		`{"type":"a","b":"cccccccccc"}`: agent.ErrFrameTooLarge, `{"type":"a","chat_seq":123}`: nil,
	} {
		if err := turn.Emit(t.Context(), []byte(in)); !errors.Is(err, want) {
			t.Errorf("%s: %v", in, err)
		}
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(&agent.Ended{Outcome: "stopped"})
	var ended *agent.Ended
	if err := turn.Emit(ctx, []byte(`{"type":"a"}`)); !errors.As(err, &ended) {
		t.Error(err)
	}
	if got := turn.Frames(); len(got) != 2 || string(got[0]) != `{"type":"a"}` || string(got[1]) != `{"type":"a"}` {
		t.Errorf("recorded %s", got)
	}
}

func TestHistoryIsTheNewestRows(t *testing.T) {
	turn := agenttest.New(agent.Info{})
	turn.Rows = []json.RawMessage{[]byte("1"), []byte("2"), []byte("3")}
	if rows, err := turn.History(t.Context(), 2); err != nil || len(rows) != 2 || string(rows[0]) != "2" {
		t.Fatalf("%s, %v", rows, err)
	}
}
