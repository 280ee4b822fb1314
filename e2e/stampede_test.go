package e2e_test

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"turnlog/client"
	"turnlog/e2e/wire"
)

// cpu is the time a process has spent on processors.
func cpu(t testing.TB, n *node) time.Duration {
	t.Helper()
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", n.Pid()))
	if err != nil {
		t.Fatal(err)
	}
	fields := strings.Fields(string(b[strings.LastIndexByte(string(b), ')')+2:]))
	var ticks int64
	for _, f := range fields[11:13] { // utime, stime; 100 per second
		n, err := strconv.ParseInt(f, 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		ticks += n
	}
	return time.Duration(ticks) * 10 * time.Millisecond
}

// crowded is how many viewers lose their node. All of them live in the process of
// the tests, on the node's own processors.
const crowded = 2000

// door leads new connections to the node of the moment, as a balancer does, and
// remembers when they came, and how long they had decided to wait.
type door struct {
	mu    sync.Mutex
	addr  string
	came  []time.Time
	waits []time.Duration
}

// state hears of a viewer's connection.
func (d *door) state(s client.State) {
	if s.Phase == client.Waiting {
		d.mu.Lock()
		d.waits = append(d.waits, s.Delay)
		d.mu.Unlock()
	}
}

func (d *door) dial(ctx context.Context, network, _ string) (net.Conn, error) {
	d.mu.Lock()
	addr := d.addr
	d.came = append(d.came, time.Now())
	d.mu.Unlock()
	return new(net.Dialer).DialContext(ctx, network, addr)
}

func TestF34_AKilledNodesCrowdComesBackSpread(t *testing.T) {
	const talks = 40
	p := own(t, twoNodes, "--node.lease", "10s", "--node.heartbeat", "3s", "--limits.running_turns_per_user", "0",
		"--limits.connections_per_user", "5000", "--limits.commands_per_second", "5000") // all of it is one user
	user := someone()
	owner := dial(t, p.url(0, user))
	acks := map[string]wire.Message{}
	for _, thread := range threads(talks) {
		acks[thread] = owner.say(thread, object{"frames": 1_000_000, "interval_ms": 1000})
	}
	way := &door{addr: p.nodes[1].addr}
	through := &http.Client{Transport: &http.Transport{DialContext: way.dial, DisableKeepAlives: true}}
	var ends, incomplete atomic.Int64
	var clients []*client.Client
	defer func() {
		var closing sync.WaitGroup
		for _, c := range clients {
			closing.Go(func() { _ = c.Close() })
		}
		closing.Wait()
	}()
	for i := range crowded {
		thread := i % talks
		online := false
		c, err := client.Dial(t.Context(), "ws://crowd.localhost/ws", client.Options{
			User: user, HTTPClient: through, DialTimeout: patience,
			Handler: client.Handler{
				OnState:  way.state,
				OnFinish: func(client.Finish) { ends.Add(1) },
				OnHeader: func(h client.Header) {
					if online && h.ReplayIncomplete {
						incomplete.Add(1)
					}
					online = true
				},
			},
		})
		if err != nil {
			t.Fatalf("viewer %d: %v", i, err)
		}
		clients = append(clients, c)
		if err := c.Open("t"+strconv.Itoa(thread), client.OpenOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	all := func() bool {
		for i := range clients {
			if !clients[i].Thread("t" + strconv.Itoa(i%talks)).Busy {
				return false
			}
		}
		return true
	}
	eventually(t, "all watch a running turn", all)

	way.mu.Lock()
	way.addr, way.came, way.waits = p.nodes[0].addr, nil, nil
	way.mu.Unlock()
	before, killed := cpu(t, p.nodes[0]), time.Now()
	p.nodes[1].kill()
	eventually(t, "all are back", func() bool {
		way.mu.Lock()
		defer way.mu.Unlock()
		return len(way.came) >= crowded
	})
	for thread := range acks {
		owner.ok("stop", object{"thread_id": thread})
	}
	eventually(t, "all have seen the end", func() bool { return ends.Load() >= crowded })
	spent := cpu(t, p.nodes[0]) - before
	t.Logf("%d viewers were back and saw the end within %v; the node used %v of processor time", crowded, time.Since(killed).Round(time.Millisecond), spent)

	way.mu.Lock()
	came, waits := slices.Clone(way.came), slices.Clone(way.waits)
	way.mu.Unlock()
	slices.SortFunc(came, time.Time.Compare)
	slices.Sort(waits)
	// What the viewers decided counts: this machine spreads what comes at once too.
	const window = 100 * time.Millisecond
	most := 0
	for i, j := 0, 0; i < len(waits); i++ {
		for waits[i]-waits[j] > window {
			j++
		}
		most = max(most, i-j+1)
	}
	t.Logf("%d connects over %v, at most %d planned within %v", len(came), came[len(came)-1].Sub(came[0]).Round(time.Millisecond), most, window)
	if most > crowded/5 {
		t.Errorf("%d of %d viewers planned to come back within one %v: a storm", most, crowded, window)
	}
	if len(came) > crowded*3/2 {
		t.Errorf("%d connects of %d viewers", len(came), crowded)
	}
	if per := spent / crowded; per > 5*time.Millisecond {
		t.Errorf("a returning viewer costs the node %v of processor time", per)
	}
	if ends.Load() != crowded {
		t.Errorf("%d ends seen by %d viewers", ends.Load(), crowded)
	}
	if n := incomplete.Load(); n > 0 {
		t.Errorf("%d viewers that came back were told of a hole", n)
	}
}
