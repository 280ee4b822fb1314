package openai_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"turnlog/agent"
	"turnlog/agent/agenttest"
	"turnlog/agent/openai"
)

// inbox is a turn whose inputs wait as if their senders had been there for long.
type inbox struct {
	*agenttest.Turn
	waiting chan agent.Input
}

func (t *inbox) Inputs() <-chan agent.Input { return t.waiting }

func TestB47_SteersAreTakenBetweenRounds(t *testing.T) {
	p := newProvider(t, stream(calling(0, "call_0", "delete", `{}`), finish("tool_calls"), done),
		stream(calling(0, "call_0", "delete", `{}`), finish("tool_calls"), done), stream(text("ok"), finish("stop"), done), stream(text("bye"), finish("stop"), done))
	turn := &inbox{newTurn("go", "", manifest), make(chan agent.Input, 8)}
	turn.Asking = func(_ context.Context, ask agent.Ask) (json.RawMessage, error) {
		if ask.Kind == agent.KindToolApproval {
			turn.waiting <- agent.Input{Kind: agent.InputSteer, Message: []byte(`{"role":"user","content":"shorter"}`)}
			turn.waiting <- agent.Input{Kind: agent.InputPermissionMode, Mode: "auto"}
		}
		return json.RawMessage(`{"decision":"allow","ok":true,"result":1}`), nil
	}
	turn.Emitting = func(_ int, b []byte) error {
		if strings.Contains(string(b), `"ok"`) && strings.Contains(string(b), `"message"`) { // as the turn is about to end
			turn.waiting <- agent.Input{Kind: agent.InputSteer, Message: []byte(`{"role":"user","content":"and now?"}`)}
		}
		return nil
	}
	if err := p.agent(t, openai.Options{Approve: []string{"*"}}).Run(t.Context(), turn); err != nil {
		t.Fatal(err)
	}
	if !strings.HasSuffix(p.request(1), `{"role":"user","content":"shorter"}]`) || !strings.HasSuffix(p.request(3), `{"role":"assistant","content":"ok"},{"role":"user","content":"and now?"}]`) {
		t.Errorf("second request %s, last one %s", p.request(1), p.request(3))
	}
	if !strings.Contains(fmt.Sprintf("%s", turn.Frames()), `{"type":"message","role":"user","content":"shorter","steer":true}`) || turn.Message() != "bye" {
		t.Errorf("not kept: %s", turn.Frames())
	}
	if asks := turn.Asks(); len(asks) != 3 || asks[2].Kind != agent.KindToolCall {
		t.Errorf("mode auto still asks: %+v", asks)
	}
}
