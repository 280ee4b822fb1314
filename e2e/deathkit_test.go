package e2e_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"turnlog/e2e/wire"
)

// Settings under which deaths are noticed soon, and what follows from them.
const (
	lease       = 2 * time.Second
	reaperLease = 5 * time.Second // not configurable
	notice      = 2 * time.Second // promised beyond the lease
	loaded      = 4 * time.Second // slack for a machine that runs many such tests at once
)

// quick are the flags for lease, with more behind them; later ones win.
func quick(more ...string) []string {
	return append([]string{
		"--node.lease", lease.String(), "--node.heartbeat", "500ms", "--disconnect.grace", "60s",
		"--turn.stop_timeout", "2s", "--drain.close_spread", "500ms",
	}, more...)
}

// within fails when something took longer than it may on a loaded machine.
func within(t testing.TB, what string, begin, end time.Time, bound time.Duration) {
	t.Helper()
	took := end.Sub(begin)
	if took > bound+loaded {
		t.Errorf("%s after %v, want within %v (+ %v on a loaded machine)", what, took.Round(time.Millisecond), bound, loaded)
	}
	t.Logf("%s after %v", what, took.Round(time.Millisecond))
}

// state is what Redis holds about a thread, empty without any.
func (p *place) state(t testing.TB, user, thread string) map[string]string {
	t.Helper()
	key := p.key(t, user, thread, "state")
	if key == "" {
		return nil
	}
	state, err := p.redis.own.HGetAll(context.Background(), key).Result()
	if err != nil {
		t.Fatal(err)
	}
	return state
}

// keys are the names behind the thread's prefix that exist.
func (p *place) keys(t testing.TB, user, thread string) []string {
	t.Helper()
	all, err := p.redis.own.Keys(context.Background(), fmt.Sprintf("turnlog:{*}:%s/%s:*", user, thread)).Result()
	if err != nil {
		t.Fatal(err)
	}
	for i, key := range all {
		_, all[i], _ = strings.Cut(key, "/"+thread+":")
	}
	slices.Sort(all)
	return all
}

func (p *place) key(t testing.TB, user, thread, name string) string {
	t.Helper()
	all, err := p.redis.own.Keys(context.Background(), fmt.Sprintf("turnlog:{*}:%s/%s:%s", user, thread, name)).Result()
	if err != nil {
		t.Fatal(err)
	}
	if len(all) == 0 {
		return ""
	}
	return all[0]
}

// logged are the entries of a thread's log: ordinal and type, oldest first.
func (p *place) logged(t testing.TB, user, thread string) []redis.XMessage {
	t.Helper()
	entries, err := p.redis.own.XRange(context.Background(), p.key(t, user, thread, "log"), "-", "+").Result()
	if err != nil {
		t.Fatal(err)
	}
	return entries
}

// oneEnd checks in the log itself that each turn ended at most once, with nothing
// of it behind its end, and gives how many ended.
func (p *place) oneEnd(t testing.TB, user, thread string) int {
	t.Helper()
	ended := map[string]bool{}
	for _, e := range p.logged(t, user, thread) {
		turn, typ := fmt.Sprint(e.Values["turn"]), e.Values["type"]
		if ended[turn] {
			t.Errorf("thread %s: %v of turn %s stands behind its end, at %s", thread, typ, turn, e.ID)
		}
		ended[turn] = ended[turn] || typ == "turn_finished"
	}
	n := 0
	for _, over := range ended {
		if over {
			n++
		}
	}
	return n
}

// leader is the node whose reaper leads.
func (p *place) leader(t testing.TB) *node {
	t.Helper()
	var found *node
	eventually(t, "a reaper leads", func() bool {
		held, err := p.redis.own.Get(context.Background(), "turnlog:{nodes}:reaper").Result()
		if err != nil && !errors.Is(err, redis.Nil) {
			t.Fatal(err)
		}
		name, _, _ := strings.Cut(held, " ")
		for _, n := range p.nodes {
			if n.id == name {
				found = n
			}
		}
		return found != nil
	})
	return found
}

// trusted waits until every node has lived through a lease, so that it may tell
// that others are dead.
func (p *place) trusted(t testing.TB) {
	t.Helper()
	p.leader(t)
	elapse(t, lease+time.Second)
}

// elapse lets time pass where the length itself is what is tested.
func elapse(t testing.TB, d time.Duration) {
	t.Helper()
	select {
	case <-time.After(d):
	case <-t.Context().Done():
	}
}

// says waits for text in the log of the node.
func (n *node) says(t testing.TB, text string) {
	t.Helper()
	eventually(t, fmt.Sprintf("node %s says %q", n.id, text), func() bool { return strings.Contains(n.stderr.String(), text) })
}

// readiness is the status of /readyz, 0 when nobody answers.
func (n *node) readiness() int {
	client := http.Client{Timeout: 2 * time.Second, Transport: &http.Transport{DisableKeepAlives: true}}
	resp, err := client.Get("http://" + n.addr + "/readyz")
	if err != nil {
		return 0
	}
	_ = resp.Body.Close()
	return resp.StatusCode
}

// started is the attempt that a turn_started announces, 0 for other frames.
func started(m wire.Message) int64 {
	if m.Type != "turn_started" {
		return 0
	}
	return m.Int("attempt")
}

// threads are n names.
func threads(n int) []string {
	out := make([]string, n)
	for i := range out {
		out[i] = "t" + strconv.Itoa(i)
	}
	return out
}
