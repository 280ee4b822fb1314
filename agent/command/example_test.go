package command_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"turnlog/agent"
	"turnlog/agent/agenttest"
	"turnlog/agent/command"
)

func Example() {
	upper, err := command.New(command.Options{Command: []string{"tr", "a-z", "A-Z"}, Stdin: command.StdinText})
	if err != nil {
		fmt.Println(err)
		return
	}
	turn := agenttest.New(agent.Info{Message: json.RawMessage(`{"role":"user","content":"hello"}`)})
	if err := upper.Run(context.Background(), turn); err != nil {
		fmt.Println(err)
	}
	for _, frame := range turn.Frames() {
		fmt.Printf("%s\n", frame)
	}
	// Output:
	// {"type":"chunk","content":"HELLO\n"}
	// {"type":"message","role":"assistant","content":"HELLO\n"}
}

func TestExampleShell(t *testing.T) {
	turn := turn()
	a := newAgent(t, command.Options{Command: []string{"sh", "../../examples/command/shell.sh"}})
	if err := a.Run(t.Context(), turn); err != nil {
		t.Fatal(err)
	}
	want := "You are in thread thread, and this is turn turn.\nText without a newline is streamed as well: \n"
	if !strings.HasPrefix(turn.Text(), want) || turn.Message() != turn.Text() || !strings.HasPrefix(types(turn.Frames()), "task_update chunk") {
		t.Fatalf("%s", turn.Frames())
	}
}

func TestExamplePython(t *testing.T) {
	a := newAgent(t, command.Options{Command: []string{"python3", "../../examples/command/agent.py"}})
	for name, tc := range map[string]struct {
		info   agent.Info
		answer string
		text   string
	}{
		"plain":     {agent.Info{Message: json.RawMessage(`{"content":"hi there"}`)}, "", "You said: hi there "},
		"allowed":   {agent.Info{Message: json.RawMessage(`{"content":[{"type":"text","text":"shout hi"}]}`)}, `{"decision":"allow"}`, "YOU SAID: SHOUT HI "},
		"denied":    {agent.Info{Message: json.RawMessage(`{"content":"shout hi"}`)}, `{"decision":"deny"}`, "You said: shout hi "},
		"restarted": {agent.Info{Message: json.RawMessage(`{"content":"hi there"}`), Attempt: 2, Checkpoint: []byte(`{"words":3}`)}, "", "there "},
	} {
		t.Run(name, func(t *testing.T) {
			turn := agenttest.New(tc.info)
			turn.Asking = func(context.Context, agent.Ask) (json.RawMessage, error) { return json.RawMessage(tc.answer), nil }
			if err := a.Run(t.Context(), turn); err != nil {
				t.Fatal(err)
			}
			if turn.Text() != tc.text {
				t.Fatalf("said %q", turn.Text())
			}
		})
	}
}
