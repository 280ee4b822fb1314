package openai_test

import (
	"bufio"
	"context"
	"encoding/json"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"turnlog/agent"
	"turnlog/agent/openai"
)

// startMock runs an OpenAI-compatible server that this project did not write. It
// fails, rather than skips, when the server is not installed.
func startMock(t *testing.T) (url string, client *http.Client) {
	t.Helper()
	dir := filepath.Join("testdata", "aimock")
	program := filepath.Join(dir, "node_modules", "@copilotkit", "aimock", "dist", "cli.js")
	if _, err := os.Stat(program); err != nil {
		t.Fatal("aimock is not installed: run `make deps` (needs node and npm), or `npm ci` in agent/openai/testdata/aimock")
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	port := listener.Addr().(*net.TCPAddr).Port
	listener.Close()
	ctx, cancel := context.WithCancel(context.Background())
	cmd := exec.CommandContext(ctx, "node", program, "--port", strconv.Itoa(port), "--fixtures", filepath.Join(dir, "fixtures.json"),
		"--chunk-size", "3", "--strict", "--validate-on-load")
	output, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stderr = cmd.Stdout
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	drained := make(chan struct{})
	go func() {
		defer close(drained)
		for s := bufio.NewScanner(output); s.Scan(); {
			t.Log(s.Text())
		}
	}()
	transport := http.DefaultTransport.(*http.Transport).Clone()
	t.Cleanup(func() {
		transport.CloseIdleConnections()
		cancel()
		<-drained
		_ = cmd.Wait()
	})
	client = &http.Client{Transport: transport}
	base := "http://127.0.0.1:" + strconv.Itoa(port)
	deadline := time.NewTimer(60 * time.Second)
	defer deadline.Stop()
	look := time.NewTicker(50 * time.Millisecond)
	defer look.Stop()
	for {
		if res, err := client.Get(base + "/health"); err == nil {
			res.Body.Close()
			return base + "/v1", client
		}
		select {
		case <-look.C:
		case <-deadline.C:
			t.Fatal("aimock did not start")
		}
	}
}

func TestAnIndependentServer(t *testing.T) {
	url, client := startMock(t)
	a, err := openai.New(openai.Options{BaseURL: url, APIKey: "k", Model: "gpt-4o", System: "s", Approve: []string{"delete"}, RetryDelay: time.Millisecond, HTTPClient: client})
	if err != nil {
		t.Fatal(err)
	}
	for name, tc := range map[string]struct{ message, text, types, fault string }{
		"plain":    {"hello", "Hello! How can I help you today?", "message:assistant", ""},
		"tools":    {"weather everywhere", "It is sunny in both, 世界 😀.", "message:assistant message:tool message:tool message:assistant", ""},
		"denied":   {"delete it", "I will not.", "message:assistant message:tool message:assistant", ""},
		"thinking": {"think", "Done thinking.", "message:assistant", ""},
		"refused":  {"fail", "", "", "rate_limit_error"},
	} {
		t.Run(name, func(t *testing.T) {
			turn := newTurn(tc.message, `{"model":"`+map[bool]string{true: "deepseek-reasoner", false: "gpt-4o"}[name == "thinking"]+`"}`, manifest)
			cities := make(chan string, 2)
			turn.Asking = func(_ context.Context, ask agent.Ask) (json.RawMessage, error) {
				if ask.Kind == agent.KindToolApproval {
					return json.RawMessage(`{"decision":"deny"}`), nil
				}
				cities <- string(ask.Fields["args"].(json.RawMessage))
				return json.RawMessage(`{"ok":true,"result":"sunny"}`), nil
			}
			err := a.Run(t.Context(), turn)
			if tc.fault != "" {
				wantFault(t, err, tc.fault, http.StatusTooManyRequests)
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if turn.Message() != tc.text || types(rows(turn.Frames())) != tc.types {
				t.Errorf("%s", turn.Frames())
			}
			if name == "tools" {
				if got := <-cities + <-cities; !strings.Contains(got, "Zürich") || !strings.Contains(got, "東京") {
					t.Errorf("called with %s", got)
				}
			}
			if name == "thinking" && !strings.Contains(string(turn.Frames()[0]), `"thinking":true`) {
				t.Errorf("%s", turn.Frames()[0])
			}
			var usage struct {
				Total int `json:"total_tokens"`
			}
			if json.Unmarshal(turn.Usage(), &usage) != nil || usage.Total == 0 {
				t.Errorf("usage %s", turn.Usage())
			}
		})
	}
}
