package redistest

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"slices"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"
)

type server struct {
	addr string
	cmd  *exec.Cmd
}

var (
	mu   sync.Mutex
	idle []*server
)

// Start returns the address of an empty redis-server that is this test's alone.
func Start(tb testing.TB) string {
	tb.Helper()
	mu.Lock()
	var s *server
	if n := len(idle); n > 0 {
		s, idle = idle[n-1], idle[:n-1]
	}
	mu.Unlock()
	if s == nil {
		s = launch(tb)
	}
	flush(tb, s.addr)
	tb.Cleanup(func() {
		mu.Lock()
		defer mu.Unlock()
		if !slices.Contains(idle, s) {
			idle = append(idle, s)
		}
	})
	return s.addr
}

// Mini returns the address of a miniredis that lives as long as the test.
func Mini(tb testing.TB) (string, *miniredis.Miniredis) {
	tb.Helper()
	m := miniredis.RunT(tb)
	return m.Addr(), m
}

// Stop ends the servers that no test holds. A TestMain may call it at the end.
func Stop() {
	mu.Lock()
	defer mu.Unlock()
	for _, s := range idle {
		_ = s.cmd.Process.Kill()
		_ = s.cmd.Wait()
	}
	idle = nil
}

// FreeAddr returns a loopback address on which nobody listens right now.
func FreeAddr(tb testing.TB) string {
	tb.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		tb.Fatalf("find a free port: %v", err)
	}
	defer func() { _ = ln.Close() }()
	return ln.Addr().String()
}

// Launch starts a redis-server of the test's own, with further arguments, and
// ends it with the test.
func Launch(tb testing.TB, args ...string) (addr string, process *os.Process) {
	tb.Helper()
	s := launch(tb, append(args, "--dir", tb.TempDir())...)
	tb.Cleanup(func() {
		_ = s.cmd.Process.Kill()
		_ = s.cmd.Wait()
	})
	return s.addr, s.cmd.Process
}

func launch(tb testing.TB, args ...string) *server {
	tb.Helper()
	path, err := exec.LookPath("redis-server")
	if err != nil {
		tb.Fatalf("redis-server is not installed (apt-get install redis-server): %v", err)
	}
	addr := FreeAddr(tb)
	_, port, err := net.SplitHostPort(addr)
	if err != nil {
		tb.Fatal(err)
	}
	full := append([]string{"--port", port, "--bind", "127.0.0.1", "--save", "", "--appendonly", "no", "--dir", os.TempDir(),
		"--logfile", "/dev/null"}, args...)
	cmd := exec.Command(path, full...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := cmd.Start(); err != nil {
		tb.Fatalf("start redis-server: %v", err)
	}
	if err := await(addr); err != nil {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		tb.Fatalf("redis-server on %s: %v", addr, err)
	}
	return &server{addr: addr, cmd: cmd}
}

// await polls until the server answers.
func await(addr string) error {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	rdb := redis.NewClient(&redis.Options{Addr: addr, MaxRetries: -1})
	defer func() { _ = rdb.Close() }()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for {
		err := rdb.Ping(ctx).Err()
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("does not answer: %w", err)
		case <-tick.C:
		}
	}
}

func flush(tb testing.TB, addr string) {
	tb.Helper()
	rdb := redis.NewClient(&redis.Options{Addr: addr})
	defer func() { _ = rdb.Close() }()
	if err := rdb.FlushAll(tb.Context()).Err(); err != nil {
		tb.Fatalf("empty redis on %s: %v", addr, err)
	}
	if err := rdb.ScriptFlush(tb.Context()).Err(); err != nil {
		tb.Fatalf("forget the scripts of redis on %s: %v", addr, err)
	}
	if err := rdb.ConfigSet(tb.Context(), "maxmemory", "0").Err(); err != nil {
		tb.Fatalf("reset maxmemory of redis on %s: %v", addr, err)
	}
}
