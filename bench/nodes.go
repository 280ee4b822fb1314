package bench

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"time"
)

// node is a running turnlog node.
type node struct {
	url string // ws://host:port/ws
	pid int    // 0 when it is not ours
	end func()
}

// nodeURL turns what a person names into the WebSocket endpoint.
func nodeURL(base string) string {
	base = strings.TrimSuffix(strings.TrimSuffix(base, "/"), "/ws")
	for from, to := range map[string]string{"http://": "ws://", "https://": "wss://"} {
		if rest, ok := strings.CutPrefix(base, from); ok {
			return to + rest + "/ws"
		}
	}
	if !strings.Contains(base, "://") {
		base = "ws://" + base
	}
	return base + "/ws"
}

// openNodes uses the given nodes or starts so many.
func openNodes(ctx context.Context, o Options, redisURL string, count int, flags ...string) ([]*node, error) {
	var nodes []*node
	if len(o.Nodes) > 0 {
		for i := range count {
			nodes = append(nodes, &node{url: nodeURL(o.Nodes[i%len(o.Nodes)]), end: func() {}})
		}
		return nodes, nil
	}
	for range count {
		n, err := startNode(ctx, o.Program, redisURL, flags...)
		if err != nil {
			endNodes(nodes)
			return nil, err
		}
		nodes = append(nodes, n)
	}
	return nodes, nil
}

func endNodes(nodes []*node) {
	var all sync.WaitGroup
	for _, n := range nodes {
		all.Go(n.end)
	}
	all.Wait()
}

// startNode runs the program on a free port and waits until it listens.
func startNode(ctx context.Context, program, redisURL string, flags ...string) (*node, error) {
	args := append([]string{
		"serve", "--listen", "127.0.0.1:0", "--redis.url", redisURL, "--log.format", "json",
		"--limits.running_turns_per_user", "0", "--drain.timeout", "1s", "--drain.close_spread", "0s",
	}, flags...)
	cmd := exec.Command(program, args...)
	for _, kv := range os.Environ() { // nothing but the flags shall count
		if !strings.HasPrefix(kv, "TURNLOG_") {
			cmd.Env = append(cmd.Env, kv)
		}
	}
	stderr, err := cmd.StderrPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("start a node: %w", err)
	}
	addresses := make(chan string, 1)
	tail := make(chan string, 1)
	go func() { tail <- readLog(stderr, addresses) }()
	ended := make(chan error, 1)
	var once sync.Once
	end := func() {
		once.Do(func() {
			_ = cmd.Process.Signal(syscall.SIGTERM)
			kill := time.AfterFunc(10*time.Second, func() { _ = cmd.Process.Kill() })
			<-tail
			ended <- cmd.Wait()
			kill.Stop()
		})
	}
	timeout := time.NewTimer(30 * time.Second)
	defer timeout.Stop()
	select {
	case addr := <-addresses:
		return &node{url: "ws://" + addr + "/ws", pid: cmd.Process.Pid, end: end}, nil
	case last := <-tail:
		_ = cmd.Wait()
		return nil, fmt.Errorf("a node ended at its start: %s", last)
	case <-ctx.Done():
		end()
		return nil, context.Cause(ctx)
	case <-timeout.C:
		end()
		return nil, errors.New("a node does not listen after 30 s")
	}
}

// readLog finds the address in a node's log and returns the log's last line.
func readLog(r io.Reader, addresses chan<- string) (last string) {
	lines := bufio.NewScanner(r)
	for lines.Scan() {
		var line struct{ Msg, Addr string }
		if json.Unmarshal(lines.Bytes(), &line) == nil && line.Msg == "listening" {
			select {
			case addresses <- line.Addr:
			default:
			}
		}
		last = lines.Text()
	}
	_, _ = io.Copy(io.Discard, r)
	return last
}
