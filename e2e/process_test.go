package e2e_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"syscall"
	"testing"
	"time"

	proc "turnlog/internal/process"
)

// patience is how long anything may take that should be quick.
const patience = 60 * time.Second

// process is a child of the test, ended by its pid.
type process struct {
	*proc.Process
	stdout *proc.Output
	stderr *proc.Output
	done   <-chan struct{}
}

func spawn(stdin io.Reader, name string, args ...string) (*process, error) {
	p, err := proc.Start(stdin, name, args...)
	if err != nil {
		return nil, err
	}
	return adopt(p), nil
}

func adopt(p *proc.Process) *process {
	return &process{Process: p, stdout: p.Stdout, stderr: p.Stderr, done: p.Done()}
}

func (p *process) signal(s syscall.Signal) { p.Signal(s) }
func (p *process) kill()                   { p.Kill() }

// exit waits for the process to end by itself and returns its code.
func (p *process) exit(t testing.TB) int {
	t.Helper()
	if !p.Ended(patience) {
		t.Fatalf("%s did not end within %v:\n%s", p, patience, p.stderr)
	}
	return p.ExitCode()
}

// node is one running "turnlog serve".
type node struct {
	*process
	addr string
	id   string
}

// serve starts a node and waits until it is ready.
func serve(args ...string) (*node, error) { return serveAs(binary(), args...) }

// serveAs is serve with another program.
func serveAs(program string, args ...string) (*node, error) {
	args = append([]string{"serve", "--listen", "127.0.0.1:0"}, args...)
	p, err := spawn(nil, program, args...)
	if err != nil {
		return nil, err
	}
	n := &node{process: p}
	if n.addr, n.id, err = p.Listening(patience); err != nil {
		p.kill()
		return nil, err
	}
	if err := n.ready(); err != nil {
		p.kill()
		return nil, err
	}
	return n, nil
}

func (n *node) ready() error {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	for {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+n.addr+"/readyz", nil)
		if err != nil {
			return err
		}
		if resp, err := http.DefaultClient.Do(req); err == nil {
			_ = resp.Body.Close()
			if resp.StatusCode == http.StatusOK {
				return nil
			}
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("node %s is not ready:\n%s", n.addr, n.stderr)
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// url is the node's WebSocket for a user; more is further query.
func (n *node) url(user, more string) string {
	u := "ws://" + n.addr + "/ws?user=" + user
	if more != "" {
		u += "&" + more
	}
	return u
}

// pause and cont stop and continue the process where it is.
func (n *node) pause() { n.signal(syscall.SIGSTOP) }
func (n *node) cont()  { n.signal(syscall.SIGCONT) }

// complaints are lines of the log that a healthy node does not write.
func (n *node) complaints() string {
	var bad []string
	for line := range strings.Lines(n.stderr.String()) {
		if strings.Contains(line, `msg="agent panicked"`) && strings.Contains(line, "panic=string") {
			continue // the demo, as asked; a bug would be a runtime error
		}
		if strings.Contains(line, "panic:") || strings.Contains(line, "DATA RACE") || strings.Contains(line, "level=ERROR") {
			bad = append(bad, line)
		}
	}
	return strings.Join(bad, "")
}
