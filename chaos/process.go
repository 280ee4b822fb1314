package chaos

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

// startPatience is how long a process may take to be ready on a busy machine.
const startPatience = 40 * time.Second

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

func (o *output) await(pattern *regexp.Regexp, done <-chan struct{}) ([]string, error) {
	timeout := time.NewTimer(startPatience)
	defer timeout.Stop()
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
		case <-timeout.C:
			return nil, fmt.Errorf("no %q within %v:\n%s", pattern, startPatience, o)
		}
	}
}

// process is a child of the run, ended by its pid, and with the run.
type process struct {
	cmd  *exec.Cmd
	out  *output
	done chan struct{}
}

func spawn(name string, args ...string) (*process, error) {
	p := &process{cmd: exec.Command(name, args...), out: newOutput(), done: make(chan struct{})}
	p.cmd.Stdout, p.cmd.Stderr = p.out, p.out
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

func (p *process) kill() {
	p.signal(syscall.SIGKILL)
	<-p.done
}

// ended waits for the process to end by itself.
func (p *process) ended(patience time.Duration) bool {
	timer := time.NewTimer(patience)
	defer timer.Stop()
	select {
	case <-p.done:
		return true
	case <-timer.C:
		return false
	}
}

// rss is the resident memory of the process.
func (p *process) rss() int64 {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", p.cmd.Process.Pid))
	if err != nil {
		return 0
	}
	fields := strings.Fields(string(b))
	if len(fields) < 2 {
		return 0
	}
	pages, _ := strconv.ParseInt(fields[1], 10, 64)
	return pages * int64(os.Getpagesize())
}

var redisReady = regexp.MustCompile(`Ready to accept connections|Address already in use`)

// startRedis starts a redis-server on a free port.
func startRedis(dir string) (*process, string, error) {
	for try := 0; ; try++ {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return nil, "", err
		}
		addr := l.Addr().String()
		_ = l.Close()
		_, port, _ := net.SplitHostPort(addr)
		p, err := spawn("redis-server", "--port", port, "--bind", "127.0.0.1", "--save", "", "--appendonly", "no", "--dir", dir, "--logfile", "")
		if err != nil {
			return nil, "", fmt.Errorf("%w (install Debian's redis-server: make deps)", err)
		}
		found, err := p.out.await(redisReady, p.done)
		switch {
		case err != nil:
			p.kill()
			return nil, "", err
		case strings.HasPrefix(found[0], "Ready"):
			return p, addr, nil
		}
		p.kill() // somebody was faster
		if try == 3 {
			return nil, "", fmt.Errorf("no free port for redis-server")
		}
	}
}

var listening = regexp.MustCompile(`msg=listening .*?addr="?([0-9.:]+)"?.*? node="?([^\s"]+)`)

// poll tries cond every few milliseconds until it holds or ctx ends.
func poll(ctx context.Context, cond func() bool) bool {
	tick := time.NewTicker(25 * time.Millisecond)
	defer tick.Stop()
	for !cond() {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return false
		}
	}
	return true
}
