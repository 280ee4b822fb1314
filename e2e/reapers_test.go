package e2e_test

import (
	"bytes"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"turnlog/e2e/wire"
	"turnlog/internal/netproxy"
)

// burial is three nodes of which the first leads the reaper behind a proxy; the
// second runs turns that the third watches.
type burial struct {
	*place
	net   *netproxy.Proxy
	user  string
	names []string
	b     *viewer
}

func newBurial(t *testing.T, turns int) *burial {
	t.Helper()
	p, nets := behindProxies(t, 1, quick("--limits.running_turns_per_user", "0")...)
	for range 2 {
		n, err := serve(append([]string{"--redis", p.redis.url()}, quick("--limits.running_turns_per_user", "0")...)...)
		if err != nil {
			t.Fatal(err)
		}
		p.nodes = append(p.nodes, n)
	}
	g := &burial{place: p, net: nets[0], user: someone(), names: threads(turns)}
	if p.leader(t) != p.nodes[0] {
		t.Fatal("the first node does not lead the reaper")
	}
	p.trusted(t)
	a := dial(t, p.url(1, g.user))
	g.b = dial(t, p.url(2, g.user))
	for _, thread := range g.names {
		g.b.ok("follow", object{"thread_id": thread})
		a.say(thread, object{"frames": 9, "hang_at": 5})
		g.b.await(thread, "its text", func(m wire.Message) bool { return strings.HasPrefix(m.Str("content"), "4:") })
	}
	return g
}

// at calls f once, when the leader sends its k-th step of the burial: declaring,
// burying and reaping are script calls that name the dead node or its threads.
func (g *burial) at(k int64, f func()) (reached func() bool) {
	dead, thread := []byte(g.nodes[1].id), []byte(g.user+"/")
	var steps atomic.Int64
	g.net.SetFilter(func(piece netproxy.Piece) netproxy.Verdict {
		if piece.Dir == netproxy.ToServer && (bytes.Contains(piece.Data, dead) || bytes.Contains(piece.Data, thread)) && steps.Add(1) == k {
			f()
		}
		return netproxy.Pass
	})
	return func() bool { return steps.Load() >= k }
}

// settled checks that every turn ended once and that every thread goes on.
func (g *burial) settled(t *testing.T, killed time.Time, bound time.Duration) {
	t.Helper()
	var last time.Time
	for _, thread := range g.names {
		end := g.b.end(thread, "")
		if end.Str("outcome") != "owner_lost" {
			t.Errorf("%s ended %s", thread, end)
		}
		if end.At.After(last) {
			last = end.At
		}
	}
	within(t, "all lost turns ended", killed, last, bound)
	for _, thread := range g.names {
		next := g.b.say(thread, object{"frames": 2}, object{"on_busy": "reject"})
		if end := g.b.end(thread, next.Str("turn_id")); end.Str("outcome") != "completed" {
			t.Errorf("the next turn of %s ended %s", thread, end)
		}
	}
}

func (g *burial) once(t *testing.T) {
	t.Helper()
	for _, thread := range g.names {
		if n := g.oneEnd(t, g.user, thread); n != 2 {
			t.Errorf("%s holds %d ended turns, want 2", thread, n)
		}
		wantNumbers(t, g.b, thread, 1, g.b.Story(t, thread).Cursor)
	}
}

// Story is what this socket was told about a thread.
func (v *viewer) Story(t testing.TB, thread string) *wire.Story {
	t.Helper()
	s := wire.NewStory(thread)
	if bad := s.Add(v.Messages()); len(bad) > 0 {
		t.Error(bad)
	}
	return s
}

// With 64 partitions declaring is step 1 and burying goes to about step 66; the
// turns are ended behind that, two steps each.
var burialSteps = []int64{1, 2, 20, 66, 68, 71, 80, 95}

func TestB83_ALeadingReaperKilledAtAnyPoint(t *testing.T) {
	t.Parallel()
	for _, k := range burialSteps {
		t.Run(fmt.Sprint("at step ", k), func(t *testing.T) {
			t.Parallel()
			g := newBurial(t, 12)
			leader := g.nodes[0]
			reached := g.at(k, func() { leader.signal(9) })
			killed := time.Now()
			g.nodes[1].kill()
			eventually(t, "the leader is killed in the middle", reached)
			<-leader.done
			g.settled(t, killed, lease+reaperLease+notice)
			g.once(t)
			if g.leader(t) != g.nodes[2] {
				t.Error("the last node does not lead")
			}
		})
	}
}

func TestB84_APausedLeaderGoesOnBesideItsSuccessor(t *testing.T) {
	t.Parallel()
	for _, k := range []int64{1, 40, 68, 75} {
		t.Run(fmt.Sprint("at step ", k), func(t *testing.T) {
			t.Parallel()
			g := newBurial(t, 12)
			leader := g.nodes[0]
			reached := g.at(k, leader.pause)
			killed := time.Now()
			g.nodes[1].kill()
			eventually(t, "the leader is paused in the middle", reached)
			g.nodes[2].says(t, "reaper leads")
			leader.cont() // in the middle of what the other one begins to do
			g.settled(t, killed, lease+reaperLease+notice)
			g.once(t)
		})
	}
}

func TestB84_ManyReapersAtOnce(t *testing.T) {
	t.Parallel()
	g := newBurial(t, 30)
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() { // nobody's lease holds, so every look of every node finds it free
		defer close(stopped)
		for {
			select {
			case <-stop:
				return
			case <-time.After(2 * time.Millisecond):
				_ = g.redis.own.Del(t.Context(), "turnlog:{nodes}:reaper").Err()
			}
		}
	}()
	killed := time.Now()
	g.nodes[1].kill()
	g.settled(t, killed, lease+notice)
	close(stop)
	<-stopped
	g.once(t)
	for _, n := range []*node{g.nodes[0], g.nodes[2]} {
		if !strings.Contains(n.stderr.String(), "reaper leads") {
			t.Errorf("node %s never led", n.id)
		}
	}
}
