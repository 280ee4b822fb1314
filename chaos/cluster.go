package chaos

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"strings"
	"sync"
	"syscall"
	"time"

	"turnlog/chaos/verify"
	"turnlog/internal/netproxy"
	"turnlog/internal/process"
)

// cluster is Redis, the nodes, and the proxies around them.
type cluster struct {
	binary string
	flags  []string
	cuts   []int64
	redis  *process.Process
	addr   string // of Redis itself
	slots  [Nodes]*slot

	mu    sync.Mutex
	logs  []logged
	count int // connections to fronts, for cuts
}

// slot is the place of one node; processes come and go in it.
type slot struct {
	back   *netproxy.Proxy // to Redis
	taking sync.Mutex      // one fault of the process at a time: a drain may last longer than planned

	mu    sync.Mutex
	node  *process.Process
	id    string
	front *netproxy.Proxy // to the node; nil while it is down
	calm  bool            // no more cuts
}

// logged is the output of a process that ran.
type logged struct {
	node int
	name string
	out  *process.Output
}

func startCluster(binary, dir string, s *Schedule) (*cluster, error) {
	c := &cluster{binary: binary, cuts: s.Cuts, flags: []string{
		"--node.lease", s.Lease.String(), "--node.heartbeat", s.Heartbeat.String(), "--disconnect.grace", s.Grace.String(),
		"--disconnect.reconnect_window", "2s", "--turn.on_owner_lost", s.OwnerLost, "--turn.stop_timeout", "3s", "--turn.tool_timeout", "5s",
		"--drain.timeout", "2s", "--drain.close_spread", "500ms", "--redis.command_timeout", "2s",
		"--replay.max_frames", "1000000", "--replay.max_bytes", "1GiB", "--replay.retention", "1h", "--log.level", logLevel(),
	}}
	var err error
	if c.redis, c.addr, err = process.StartRedis(startPatience, dir); err != nil {
		return nil, err
	}
	for i := range c.slots {
		back, err := netproxy.Start(c.addr, netproxy.Options{Framing: netproxy.RESP})
		if err != nil {
			c.close()
			return nil, err
		}
		c.slots[i] = &slot{back: back}
	}
	errs := make(chan error, Nodes)
	for i := range c.slots {
		go func() { errs <- c.start(i) }()
	}
	for range c.slots {
		if e := <-errs; e != nil {
			err = e
		}
	}
	if err != nil {
		c.close()
		return nil, err
	}
	return c, nil
}

// start puts a node into an empty slot.
func (c *cluster) start(i int) error {
	s := c.slots[i]
	args := append([]string{"serve", "--listen", "127.0.0.1:0", "--redis", "redis://" + s.back.Addr(), "--redis.start_timeout", startPatience.String()}, c.flags...)
	p, err := process.Start(nil, c.binary, args...)
	if err != nil {
		return err
	}
	c.mu.Lock()
	c.logs = append(c.logs, logged{i, fmt.Sprintf("node %d, start %d", i, len(c.logs)), p.Stderr})
	c.mu.Unlock()
	s.mu.Lock()
	s.node = p
	s.mu.Unlock()
	addr, id, err := p.Listening(startPatience)
	if err != nil {
		return err
	}
	front, err := netproxy.Start(addr, netproxy.Options{})
	if err != nil {
		return err
	}
	front.CutAfter(func(int) int64 {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.count++
		if len(c.cuts) == 0 {
			return -1
		}
		return c.cuts[c.count%len(c.cuts)]
	})
	s.mu.Lock()
	defer s.mu.Unlock()
	s.id, s.front = id, front
	if s.calm {
		front.CutAfter(nil)
	}
	return nil
}

// stop empties a slot: the process has ended or is killed.
func (c *cluster) stop(i int) {
	s := c.slots[i]
	s.mu.Lock()
	node, front := s.node, s.front
	s.node, s.front = nil, nil
	s.mu.Unlock()
	if node != nil {
		node.Kill()
	}
	if front != nil {
		front.Close()
	}
}

// process is the node in a slot, nil when there is none.
func (c *cluster) process(i int) *process.Process {
	c.slots[i].mu.Lock()
	defer c.slots[i].mu.Unlock()
	return c.slots[i].node
}

// front is the proxy before a node, nil when it is down.
func (c *cluster) front(i int) *netproxy.Proxy {
	c.slots[i].mu.Lock()
	defer c.slots[i].mu.Unlock()
	return c.slots[i].front
}

// reach names a node to connect to: the wanted one, or one that is up.
func (c *cluster) reach(want int) (node int, addr string) {
	for i := range Nodes {
		node = (want + i) % Nodes
		if f := c.front(node); f != nil {
			return node, f.Addr()
		}
	}
	return want, "127.0.0.1:1"
}

// dial connects to a random node whatever the address is: what a load balancer does.
func (c *cluster) dial(ctx context.Context, network, _ string) (net.Conn, error) {
	_, addr := c.reach(rand.IntN(Nodes))
	return new(net.Dialer).DialContext(ctx, network, addr)
}

// heal ends every fault and has every node running and ready.
func (c *cluster) heal(ctx context.Context) error {
	for i, s := range c.slots {
		s.back.SetFilter(nil)
		s.back.Delay(0)
		s.back.Resume()
		s.mu.Lock()
		s.calm = true
		if s.front != nil {
			s.front.CutAfter(nil)
			s.front.Resume()
			s.front.Cut()
		}
		s.mu.Unlock()
		if p := c.process(i); p != nil {
			p.Signal(syscall.SIGCONT)
		}
	}
	for i := range c.slots {
		if p := c.process(i); p == nil || p.Ended(0) {
			c.stop(i)
			if err := c.start(i); err != nil {
				return err
			}
		}
		if !poll(ctx, func() bool { return c.ready(i) }) {
			return fmt.Errorf("node %d is not ready again", i)
		}
	}
	return nil
}

func (c *cluster) ready(i int) bool {
	f := c.front(i)
	if f == nil {
		return false
	}
	resp, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Get("http://" + f.Addr() + "/readyz")
	if err != nil {
		return false
	}
	_ = resp.Body.Close()
	return resp.StatusCode == http.StatusOK
}

func (c *cluster) close() {
	for i, s := range c.slots {
		if s == nil {
			continue
		}
		if p := c.process(i); p != nil {
			p.Signal(syscall.SIGCONT)
		}
		c.stop(i)
		s.back.Close()
	}
	c.redis.Kill()
}

// complaints are lines that no fault excuses.
func (c *cluster) complaints() map[string][]string {
	c.mu.Lock()
	defer c.mu.Unlock()
	out := map[string][]string{}
	for _, l := range c.logs {
		for line := range strings.Lines(l.out.String()) {
			if strings.Contains(line, "panic") || strings.Contains(line, "DATA RACE") || strings.Contains(line, "fatal error") {
				out[l.name] = append(out[l.name], strings.TrimSpace(line))
			}
		}
	}
	return out
}

// declared are the times around which a node was told that it had been declared dead. On a
// machine that stands still for a lease that happens without a fault of the schedule.
func (c *cluster) declared(lease time.Duration) (out []verify.Window) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, l := range c.logs {
		for line := range strings.Lines(l.out.String()) {
			stamp, rest, _ := strings.Cut(strings.TrimPrefix(line, "time="), " ")
			if at, err := time.Parse(time.RFC3339Nano, stamp); err == nil && renamed.MatchString(rest) {
				out = append(out, verify.Window{Node: l.node, From: at.Add(-2*lease - 5*time.Second), To: at.Add(5 * time.Second)})
			}
		}
	}
	return out
}

// mentions are the lines of all nodes' logs that name something.
func (c *cluster) mentions(what string) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	var b strings.Builder
	for _, l := range c.logs {
		for line := range strings.Lines(l.out.String()) {
			if strings.Contains(line, what) {
				b.WriteString(l.name + ": " + line)
			}
		}
	}
	return b.String()
}

// logLevel is CHAOS_LOG, for looking into a failure.
func logLevel() string {
	if level := os.Getenv("CHAOS_LOG"); level != "" {
		return level
	}
	return "info"
}
