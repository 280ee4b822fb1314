package command_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"turnlog/agent"
	"turnlog/agent/agenttest"
	"turnlog/agent/command"
)

// huge is a turn whose start line is far larger than any pipe.
func huge() *agenttest.Turn {
	turn := turn()
	turn.Rows = []json.RawMessage{[]byte(`{"role":"user","content":"` + strings.Repeat("x", 900_000) + `"}`)}
	return turn
}

func TestAProgramNeedNotReadItsInput(t *testing.T) {
	for name, script := range map[string]string{
		"leaves it unread": `echo a`,
		"reads one byte":   `head -c 1 >/dev/null; echo a`,
		"closes it":        `exec 0<&-; echo a`,
		"is slow to end":   `echo a; sleep 0.3`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			turn := huge()
			began := time.Now()
			err := newAgent(t, command.Options{Command: []string{"sh", "-c", script}}).Run(t.Context(), turn)
			if err != nil || turn.Message() != "a\n" || time.Since(began) > 5*time.Second {
				t.Fatalf("%v, said %q", err, turn.Message())
			}
		})
	}
}

func TestLinesOfAnyLengthAndEnd(t *testing.T) {
	const many = 20 << 20
	for name, tc := range map[string]struct {
		script string
		bytes  int
		types  string
	}{
		"a line of 20 MiB":           {`head -c 20971520 /dev/zero | tr '\0' a`, many, ""},
		"an object without newline":  {`printf '{"type":"x"}'`, 0, "x"},
		"an object with CRLF":        {`printf '{"type":"x"}\r\n'`, 0, "x"},
		"an object cut in its key":   {`printf '{"ty'`, 4, "chunk message"},
		"only newlines":              {`printf '\n\n\n'`, 3, "chunk chunk chunk message"},
		"a bracket and 1 MiB spaces": {`printf '{'; head -c 1048576 /dev/zero | tr '\0' ' '`, 1<<20 + 1, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			turn := turn()
			size := 0
			turn.Emitting = func(_ int, frame []byte) error {
				var chunk struct{ Type, Content string }
				if err := json.Unmarshal(frame, &chunk); err != nil {
					return err
				}
				if chunk.Type == "chunk" {
					size += len(chunk.Content)
				}
				return nil
			}
			if err := sh(t, tc.script).Run(t.Context(), turn); err != nil {
				t.Fatal(err)
			}
			if got := types(turn.Frames()); size != tc.bytes || (tc.types != "" && got != tc.types) {
				t.Fatalf("%d bytes of text, frames %.200s", size, got)
			}
		})
	}
}

func TestAProgramMayNameTheVersionItSpeaks(t *testing.T) {
	for name, tc := range map[string]struct{ line, want string }{
		"this one":          {`{"type":"protocol","version":1}`, ""},
		"several":           {`{"type":"protocol","version":[3,1]}`, ""},
		"a later one":       {`{"type":"protocol","version":2}`, "The agent speaks version 2 of the agent protocol, this node speaks version 1."},
		"several later":     {`{"type":"protocol","version":[2,3]}`, "The agent speaks version 2, 3 of the agent protocol, this node speaks version 1."},
		"no number":         {`{"type":"protocol","version":"one"}`, `whose "version" is "one"; it must be a whole number`},
		"nothing":           {`{"type":"protocol"}`, `whose "version" is missing;`},
		"null":              {`{"type":"protocol","version":null}`, `whose "version" is null;`},
		"an empty list":     {`{"type":"protocol","version":[]}`, `whose "version" is [];`},
		"later, and exit 1": {`{"type":"protocol","version":2}'; exit 1; echo '`, "this node speaks version 1."},
	} {
		t.Run(name, func(t *testing.T) {
			turn := turn()
			err := sh(t, `echo '`+tc.line+`'; echo a`).Run(t.Context(), turn)
			if tc.want == "" {
				if err != nil || types(turn.Frames()) != "chunk message" {
					t.Fatalf("%v, %s", err, turn.Frames())
				}
				return
			}
			if err == nil || !strings.Contains(err.Error(), tc.want) || turn.Count() != 0 {
				t.Fatalf("%v, %s", err, turn.Frames())
			}
			var fault *agent.Error
			if strings.Contains(tc.want, "this node") && (!errors.As(err, &fault) || fault.Type != "unsupported_protocol") {
				t.Fatalf("%#v", err)
			}
		})
	}
}
