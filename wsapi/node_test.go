package wsapi_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"

	"turnlog/agent"
	"turnlog/agent/demo"
	"turnlog/eventlog"
	"turnlog/identity"
	"turnlog/session"
	"turnlog/wsapi"
)

// node runs the real session, hub and log on a Redis and serves them.
// It returns the ws:// address.
func node(t testing.TB, redisAddr string, opts wsapi.Options) string {
	t.Helper()
	rdb := redis.NewClient(&redis.Options{Addr: redisAddr})
	t.Cleanup(func() { rdb.Close() })
	ctx, cancel := context.WithCancel(context.Background())
	log, err := eventlog.Open(ctx, rdb, eventlog.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { log.Close() })

	var svc *session.Service
	feed := &lateFeed{}
	svc, err = session.New(session.On(log), feed, map[string]agent.Agent{"demo": demo.Agent{}}, session.Options{})
	if err != nil {
		t.Fatal(err)
	}
	bus := eventlog.NewBus(rdb, svc.Node(), eventlog.BusOptions{})
	hub := eventlog.NewHub(log, bus, svc.Node(), eventlog.HubOptions{OnDetach: svc.Detached})
	feed.hub = hub
	bus.OnWake(svc.Wake)

	var running sync.WaitGroup
	for _, run := range []func(context.Context) error{bus.Run, hub.Run, svc.Run} {
		running.Go(func() { _ = run(ctx) })
	}
	t.Cleanup(func() {
		cancel()
		running.Wait()
	})
	select {
	case <-svc.Ready():
	case <-time.After(patience):
		t.Fatal("the node got no lease")
	}
	s, err := wsapi.New(svc, wsapi.NewHub(hub), log, identity.NoAuth{}, opts)
	if err != nil {
		t.Fatal(err)
	}
	return listen(t, s)
}

type lateFeed struct{ hub *eventlog.Hub }

func (f *lateFeed) Committed(c eventlog.Commit) { f.hub.Committed(c) }

// pair runs two nodes on one miniredis.
func pair(t testing.TB) (a, b string) {
	t.Helper()
	mini := miniredis.RunT(t)
	return node(t, mini.Addr(), wsapi.Options{}), node(t, mini.Addr(), wsapi.Options{})
}

// until reads frames up to one that pleases, and returns all.
func (p *peer) until(what string, ok func(map[string]any) bool) []map[string]any {
	p.t.Helper()
	var all []map[string]any
	for {
		f := p.next()
		all = append(all, f)
		if ok(f) {
			return all
		}
		if len(all) > 100000 {
			p.t.Fatalf("no %s among %d frames", what, len(all))
		}
	}
}

func isType(typ string) func(map[string]any) bool {
	return func(f map[string]any) bool { return f["type"] == typ }
}

// contents joins the text of chunks, checking that numbers rise by one.
func contents(t testing.TB, frames []map[string]any, after float64) (text string, last float64) {
	t.Helper()
	for _, f := range frames {
		seq, ok := f["chat_seq"].(float64)
		if !ok {
			continue
		}
		if seq != after+1 {
			t.Fatalf("chat_seq %v after %v: %v", seq, after, f)
		}
		after = seq
		if s, ok := f["content"].(string); ok && f["type"] == "chunk" {
			text += s
		}
	}
	return text, after
}

func demoText(frames, bytes int) (text string) {
	for n := 1; n <= frames; n++ {
		c := fmt.Sprintf("%d:", n)
		for len(c) < bytes {
			c += "x"
		}
		text += c + " "
	}
	return text
}
