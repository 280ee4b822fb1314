package relay_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"turnlog/agent"
	"turnlog/agent/agenttest"
	"turnlog/agent/relay"
)

func TestTheStartLine(t *testing.T) {
	for name, tc := range map[string]struct {
		info  agent.Info
		limit int
		want  string
	}{
		"bare": {agent.Info{}, 0, `"message":null,"history":[]}`},
		"whole": {agent.Info{
			Message: []byte("{\"role\":\"user\",\n \"content\":\"hi\"}"), Tools: []byte(`[{"name":"f"}]`), Data: []byte(`{"k":1.0}`), Attempt: 2,
			Checkpoint: []byte(`{"n":1}`), Emitted: []json.RawMessage{[]byte(`{"type":"a"}`)},
		}, 2, `"message":{"role":"user","content":"hi"},"history":[2,3],"tools":[{"name":"f"}],"data":{"k":1.0},"checkpoint":{"n":1},"emitted":[{"type":"a"}]}`},
		"another agent's checkpoint": {agent.Info{Checkpoint: []byte("\x00bin")}, -1, `"message":null,"history":[]}`},
	} {
		t.Run(name, func(t *testing.T) {
			turn := agenttest.New(tc.info)
			turn.Rows = []json.RawMessage{[]byte("1"), []byte("2"), []byte("3")}
			line, err := relay.Start(t.Context(), turn, tc.limit)
			want := fmt.Sprintf(`{"type":"start","protocol":1,"thread_id":"thread","turn_id":"turn","attempt":%d,"user":"alice",`, max(1, tc.info.Attempt)) + tc.want + "\n"
			if err != nil || string(line) != want {
				t.Errorf("%v\n got %s\nwant %s", err, line, want)
			}
		})
	}
}

func TestTheStartLineHasTheNewestMiBOfHistory(t *testing.T) {
	turn := agenttest.New(agent.Info{})
	for n := range 5 {
		turn.Rows = append(turn.Rows, fmt.Appendf(nil, `{"n":%d,"c":"%s"}`, n, strings.Repeat("x", 400_000)))
	}
	line, err := relay.Start(t.Context(), turn, 100)
	if err != nil || len(line) > 1<<20 || strings.Count(string(line), `{"n":`) != 2 || !strings.Contains(string(line), `{"n":3`) {
		t.Errorf("%d bytes, %v", len(line), err)
	}
}

type forgetful struct{ agent.Turn }

var errForgotten = errors.New("forgotten")

func (forgetful) History(context.Context, int) ([]json.RawMessage, error) { return nil, errForgotten }

func TestAHistoryThatCannotBeReadIsAnError(t *testing.T) {
	turn := forgetful{agenttest.New(agent.Info{})}
	if _, err := relay.Start(t.Context(), turn, 1); !errors.Is(err, errForgotten) {
		t.Error(err)
	}
	if _, err := relay.Start(t.Context(), turn, 0); err != nil {
		t.Errorf("asked for none: %v", err)
	}
}

func TestB47_InputsBecomeLinesAndTheUsersWordsMessages(t *testing.T) {
	for line, tc := range map[string]struct {
		in   agent.Input
		kept string
	}{
		`{"type":"input","kind":"steer","message":{"content":"x"}}`: {agent.Input{Kind: agent.InputSteer, Message: []byte("{\"content\":\n\"x\"}")}, `[{"type":"message","content":"x","steer":true}]`},
		`{"type":"input","kind":"steer","message":{"id":"i","role":"user","content":[1e3],"type":"t","steer":1}}`: {
			agent.Input{Kind: agent.InputSteer, Message: []byte(`{"id":"i","role":"user","content":[1e3],"type":"t","steer":1}`)},
			`[{"type":"message","id":"i","role":"user","content":[1e3],"steer":true}]`,
		},
		`{"type":"input","kind":"permission_mode","mode":"auto"}`: {agent.Input{Kind: agent.InputPermissionMode, Mode: "auto"}, `[]`},
	} {
		turn := agenttest.New(agent.Info{})
		r, _ := newRelay(turn)
		got, err := r.Input(t.Context(), tc.in)
		if err != nil || string(got) != line+"\n" || strings.ReplaceAll(fmt.Sprintf("%s", turn.Frames()), "\n", "") != tc.kept {
			t.Errorf("%s kept as %s, %v", got, turn.Frames(), err)
		}
	}
	turn := agenttest.New(agent.Info{})
	r, _ := newRelay(turn)
	if _, err := r.Input(t.Context(), agent.Input{Kind: agent.InputSteer, Message: []byte("{")}); err == nil || turn.Count() != 0 {
		t.Error("an input that is not JSON became a line")
	}
}

func TestVersionsOfAHeader(t *testing.T) {
	for list, want := range map[string]string{"": "[] false", "latest": "[] false", "1": "[1] true", " 2 , x, 1": "[2 1] true"} {
		got, ok := relay.Versions(list)
		if fmt.Sprint(got, ok) != want {
			t.Errorf("%q: %v %t", list, got, ok)
		}
	}
}
