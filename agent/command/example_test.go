package command_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
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

func TestExamplesSpeakTheWholeProtocol(t *testing.T) {
	const tools = `[{"name":"get_location","description":"d","parameters":{}}]`
	history := []json.RawMessage{[]byte(`{"role":"user","content":"a"}`), []byte(`{"role":"assistant","content":[{"type":"text","text":"b"}]}`)}
	for language, program := range map[string][]string{
		"Python": {"python3", "../../examples/command/agent.py"},
		"Node":   {"node", "../../examples/command/agent.mjs"},
	} {
		a := newAgent(t, command.Options{Command: program})
		for name, tc := range map[string]struct {
			content string
			info    agent.Info
			answer  string
			text    string
		}{
			"plain":        {`"hi there"`, agent.Info{}, "", "You said: hi there "},
			"allowed":      {`[{"type":"text","text":"shout hi"}]`, agent.Info{}, `{"decision":"allow_for_chat"}`, "YOU SAID: SHOUT HI "},
			"denied":       {`"shout hi"`, agent.Info{}, `{"decision":"deny"}`, "You said: shout hi "},
			"expired":      {`"shout hi"`, agent.Info{}, "", "You said: shout hi "},
			"restarted":    {`"hi there"`, agent.Info{Attempt: 2, Checkpoint: []byte(`{"words":3}`)}, "", "there "},
			"tool":         {`"where"`, agent.Info{Tools: []byte(tools)}, `{"ok":true,"result":"Oslo"}`, "You are in Oslo "},
			"tool fails":   {`"where"`, agent.Info{Tools: []byte(tools)}, `{"ok":false,"error":"no GPS"}`, "You are in a place unknown (no GPS) "},
			"tool expires": {`"where"`, agent.Info{Tools: []byte(tools)}, "", "You are in a place unknown (expired) "},
			"no tools":     {`"where"`, agent.Info{}, "", "You said: where "},
			"history":      {`"earlier"`, agent.Info{}, "", "Earlier: user=a assistant=b "},
		} {
			t.Run(language+" "+name, func(t *testing.T) {
				t.Parallel()
				tc.info.Message = json.RawMessage(`{"role":"user","content":` + tc.content + `}`)
				turn := agenttest.New(tc.info)
				turn.Rows = history
				turn.Asking = func(context.Context, agent.Ask) (json.RawMessage, error) {
					if tc.answer == "" {
						return nil, agent.ErrExpired
					}
					return json.RawMessage(tc.answer), nil
				}
				if err := a.Run(t.Context(), turn); err != nil {
					t.Fatal(err)
				}
				if turn.Text() != tc.text || turn.Message() != tc.text {
					t.Fatalf("said %q", turn.Text())
				}
			})
		}
		t.Run(language+" stopped", func(t *testing.T) {
			t.Parallel()
			var log strings.Builder
			a := newAgent(t, command.Options{Command: program, Logger: slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))})
			turn := agenttest.New(agent.Info{Message: json.RawMessage(`{"content":"shout"}`)})
			ctx, cancel := context.WithCancelCause(t.Context())
			defer cancel(nil)
			done := make(chan error, 1)
			go func() { done <- a.Run(ctx, turn) }()
			turn.Await(t, "the request", func() bool { return len(turn.Asks()) == 1 })
			cancel(&agent.Ended{Outcome: "superseded"})
			if err := <-done; err == nil || !strings.Contains(log.String(), "stopped: superseded") {
				t.Fatalf("%v, log %s", err, log.String())
			}
		})
		t.Run(language+" steered", func(t *testing.T) {
			t.Parallel()
			long := strings.Repeat("word ", 40)
			turn := agenttest.New(agent.Info{Message: json.RawMessage(`{"content":"` + long + `"}`)})
			done := make(chan error, 1)
			go func() { done <- a.Run(t.Context(), turn) }()
			turn.Await(t, "the first word", func() bool { return turn.Count() > 0 })
			if !turn.Send(t.Context(), agent.Input{Kind: agent.InputSteer, Message: json.RawMessage(`{"content":"go on"}`)}) {
				t.Fatal("not taken")
			}
			if err := <-done; err != nil || turn.Text() != "You said: "+long+"And now: go on " {
				t.Fatalf("said %q, %v", turn.Text(), err)
			}
		})
	}
}
