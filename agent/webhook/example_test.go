package webhook_test

import (
	"bufio"
	"context"
	"encoding/json"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"turnlog/agent"
	"turnlog/agent/agenttest"
	"turnlog/agent/webhook"
)

const secret = "0123456789abcdef0123"

// startExample runs a server of examples/webhook and returns its URL.
func startExample(t *testing.T, command ...string) string {
	t.Helper()
	cmd := exec.Command(command[0], command[1:]...)
	cmd.Env = append(os.Environ(), "PORT=0", "WEBHOOK_SECRET="+secret)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	_, url, _ := strings.Cut(strings.TrimSpace(line), "listening on ")
	return url
}

func TestExamplesInThreeLanguages(t *testing.T) {
	dir := "../../examples/webhook/"
	program := filepath.Join(t.TempDir(), "server")
	if out, err := exec.Command("go", "build", "-o", program, dir+"go").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	for name, server := range map[string][]string{
		"Python": {"python3", dir + "agent.py"}, "Node": {"node", dir + "agent.mjs"}, "Go": {program},
	} {
		t.Run(name, func(t *testing.T) {
			url := startExample(t, server...)
			transport := http.DefaultTransport.(*http.Transport).Clone()
			defer transport.CloseIdleConnections()
			a, err := webhook.New(webhook.Options{URL: url, Secret: secret, Transport: transport})
			if err != nil {
				t.Fatal(err)
			}
			for name, tc := range map[string]struct{ content, decision, text string }{
				"plain":   {`"hi wörld"`, "", "You said: hi wörld "},
				"blocks":  {`[{"type":"text","text":"hi"}]`, "", "You said: hi "},
				"allowed": {`"shout hi"`, "allow_for_chat", "You said: SHOUT HI "},
				"denied":  {`"shout hi"`, "deny", "You said: shout hi "},
			} {
				t.Run(name, func(t *testing.T) {
					turn := agenttest.New(agent.Info{Message: json.RawMessage(`{"role":"user","content":` + tc.content + `}`)})
					turn.Asking = func(context.Context, agent.Ask) (json.RawMessage, error) {
						return json.RawMessage(`{"decision":"` + tc.decision + `"}`), nil
					}
					if err := a.Run(t.Context(), turn); err != nil {
						t.Fatal(err)
					}
					if turn.Text() != tc.text || turn.Message() != tc.text || !strings.Contains(string(turn.Usage()), `"words"`) {
						t.Fatalf("%s, usage %s", turn.Frames(), turn.Usage())
					}
				})
			}
			forged, _ := webhook.New(webhook.Options{URL: url, Secret: strings.Repeat("x", 20), Transport: transport})
			turn := agenttest.New(agent.Info{Message: json.RawMessage(`{"content":"hi"}`)})
			wantFault(t, forged.Run(t.Context(), turn), "webhook_refused", http.StatusUnauthorized)
		})
	}
}
