package embedded_test

import (
	"bufio"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/coder/websocket"
)

// TestExampleServesItsOwnAgent builds examples/embedded, talks to it and stops it.
func TestExampleServesItsOwnAgent(t *testing.T) {
	server := miniredis.RunT(t)
	program := filepath.Join(t.TempDir(), "embedded")
	if out, err := exec.Command("go", "build", "-o", program, "../examples/embedded").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	source, err := os.ReadFile("../examples/embedded/main.go")
	if lines := strings.Count(string(source), "\n"); err != nil || lines >= 60 {
		t.Errorf("the example has %d lines, %v", lines, err)
	}
	cmd := exec.Command(program)
	cmd.Env = append(os.Environ(), "REDIS_URL=redis://"+server.Addr(), "LISTEN=127.0.0.1:0")
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer cmd.Process.Kill()
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 60*time.Second)
	defer cancel()
	ws, _, err := websocket.Dial(ctx, strings.TrimPrefix(strings.TrimSpace(line), "listening on "), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer ws.CloseNow()
	const ask = `{"command":"chat_message","data":{"thread_id":"t1","id":"m1","content":"hello you"}}` // the id: asked twice, it is one turn
	if err := ws.Write(ctx, websocket.MessageText, []byte(ask)); err != nil {
		t.Fatal(err)
	}
	var seen string
	for !strings.Contains(seen, `"turn_finished"`) {
		_, b, err := ws.Read(ctx)
		if err != nil {
			t.Fatalf("%v after %s", err, seen)
		}
		if strings.Contains(string(b), `"code":"draining"`) || strings.Contains(string(b), `"code":"unavailable"`) { // not ready yet
			_ = ws.Write(ctx, websocket.MessageText, []byte(ask))
		}
		seen += string(b)
	}
	if !strings.Contains(seen, `"content":"HELLO YOU"`) || !strings.Contains(seen, `"completed"`) {
		t.Errorf("%s", seen)
	}
	_ = cmd.Process.Signal(syscall.SIGTERM)
	if err := cmd.Wait(); err != nil {
		t.Errorf("stopped with %v", err)
	}
}
