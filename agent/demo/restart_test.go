package demo_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"testing"

	"turnlog/agent"
	"turnlog/agent/agenttest"
	"turnlog/agent/demo"
	"turnlog/frame"
)

var errLost = errors.New("node lost")

// TestB90_ARestartSaysEverythingOnce loses the node after every possible frame,
// twice, with different amounts of the log still held.
func TestB90_ARestartSaysEverythingOnce(t *testing.T) {
	for name, script := range map[string]string{
		"numbers":       `{"frames":7,"bytes":9,"checkpoint_every":2,"tool_call":{"name":"f","at":3},"approval":{"tool_name":"g","at":5}}`,
		"words":         `{"text":"one two three four five answer:x seven","checkpoint_every":2,"tool_call":{"name":"f","at":3}}`,
		"no checkpoint": `{"frames":6,"tool_call":{"name":"f","at":3}}`,
	} {
		for _, held := range []int{0, 1, 3, 1000} {
			t.Run(fmt.Sprintf("%s, %d held", name, held), func(t *testing.T) {
				want, err := run(t, info(script))
				if err != nil {
					t.Fatal(err)
				}
				for first := 0; first <= want.Count(); first++ {
					for second := 0; second <= 3; second++ {
						restarts(t, script, want, held, first, second)
					}
				}
			})
		}
	}
}

// restarts runs three attempts: the first two are lost after so many frames.
// The log is kept whole up to the last checkpoint, so at least what follows it
// is held, as in a log that trims by count.
func restarts(t *testing.T, script string, want *agenttest.Turn, held, first, second int) {
	t.Helper()
	var all []json.RawMessage
	var checkpoint []byte
	atCheckpoint := 0
	for attempt, limit := range []int{first, second, 1000} {
		in := info(script)
		in.Attempt, in.Checkpoint = attempt+1, checkpoint
		all = append(all, json.RawMessage(fmt.Sprintf(`{"type":"turn_started","attempt":%d}`, in.Attempt)))
		if attempt > 0 {
			from := max(0, min(len(all)-1-held, atCheckpoint))
			in.Emitted = append([]json.RawMessage(nil), all[from:len(all)-1]...)
		}
		turn := agenttest.New(in)
		turn.Asking = func(context.Context, agent.Ask) (json.RawMessage, error) {
			return json.RawMessage(`{"ok":true,"result":7}`), nil
		}
		turn.Emitting = func(n int, f []byte) error {
			if n > limit {
				return errLost
			}
			if state := turn.StateLocked(); state != nil && string(state) != string(checkpoint) {
				checkpoint, atCheckpoint = state, len(all)
			}
			all = append(all, f)
			return nil
		}
		err := demo.Agent{}.Run(t.Context(), turn)
		if err != nil && !errors.Is(err, errLost) {
			t.Fatal(err)
		}
	}
	text, messages, message := "", 0, ""
	for _, f := range all {
		switch typ, _ := frame.Type(f); typ {
		case "chunk":
			content, _ := frame.String(f, "content")
			text += content
		case "message":
			messages++
			message, _ = frame.String(f, "content")
		}
	}
	if text != want.Text() || messages != 1 || message != want.Message() {
		t.Fatalf("lost after %d and %d frames, %d held:\ntext    %q\nmessage %q (%d of them)\nwant    %q", first, second, held, text, message, messages, want.Text())
	}
}
