package e2e_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"os/exec"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// patience is how long anything may take that should be quick.
const patience = 60 * time.Second

// output collects what a process writes and wakes whoever waits for a line.
type output struct {
	mu      sync.Mutex
	buf     bytes.Buffer
	changed chan struct{}
}

func newOutput() *output { return &output{changed: make(chan struct{})} }

func (o *output) Write(b []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	close(o.changed)
	o.changed = make(chan struct{})
	return o.buf.Write(b)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.buf.String()
}

// await waits for a match of pattern; done ends the wait early.
func (o *output) await(pattern *regexp.Regexp, done <-chan struct{}) ([]string, error) {
	timeout := time.After(patience)
	for {
		o.mu.Lock()
		found, changed := pattern.FindStringSubmatch(o.buf.String()), o.changed
		o.mu.Unlock()
		if found != nil {
			return found, nil
		}
		select {
		case <-changed:
		case <-done:
			return nil, fmt.Errorf("process ended before %q:\n%s", pattern, o)
		case <-timeout:
			return nil, fmt.Errorf("no %q within %v:\n%s", pattern, patience, o)
		}
	}
}

// process is a child of the test, ended by its pid.
type process struct {
	cmd    *exec.Cmd
	stdout *output
	stderr *output
	done   chan struct{}
}

func spawn(stdin io.Reader, name string, args ...string) (*process, error) {
	p := &process{cmd: exec.Command(name, args...), stdout: newOutput(), stderr: newOutput(), done: make(chan struct{})}
	p.cmd.Stdin, p.cmd.Stdout, p.cmd.Stderr = stdin, p.stdout, p.stderr
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	p.cmd.WaitDelay = 5 * time.Second
	if err := p.cmd.Start(); err != nil {
		return nil, fmt.Errorf("start %s: %w", name, err)
	}
	go func() {
		_ = p.cmd.Wait()
		close(p.done)
	}()
	return p, nil
}

func (p *process) signal(s syscall.Signal) { _ = p.cmd.Process.Signal(s) }

// kill ends the process the hard way and waits for it.
func (p *process) kill() {
	p.signal(syscall.SIGKILL)
	<-p.done
}

// exit waits for the process to end by itself and returns its code.
func (p *process) exit(t testing.TB) int {
	t.Helper()
	select {
	case <-p.done:
	case <-time.After(patience):
		t.Fatalf("%v did not end within %v:\n%s", p.cmd.Args, patience, p.stderr)
	}
	return p.cmd.ProcessState.ExitCode()
}

// node is one running "turnlog serve".
type node struct {
	*process
	addr string
	id   string
}

var listening = regexp.MustCompile(`msg=listening .*?addr="?([0-9.:]+)"?.*? node="?([^\s"]+)`)

// serve starts a node and waits until it is ready.
func serve(args ...string) (*node, error) {
	args = append([]string{"serve", "--listen", "127.0.0.1:0"}, args...)
	p, err := spawn(nil, binary(), args...)
	if err != nil {
		return nil, err
	}
	found, err := p.stderr.await(listening, p.done)
	if err != nil {
		p.kill()
		return nil, err
	}
	n := &node{process: p, addr: found[1], id: found[2]}
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
		if strings.Contains(line, `panic="demo: `) {
			continue // as asked
		}
		if strings.Contains(line, "panic:") || strings.Contains(line, "DATA RACE") || strings.Contains(line, "level=ERROR") {
			bad = append(bad, line)
		}
	}
	return strings.Join(bad, "")
}
