package client_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"

	"turnlog/agent"
	"turnlog/agent/demo"
	"turnlog/client"
	"turnlog/embedded"
	"turnlog/identity"
	"turnlog/internal/netproxy"
)

// enough is how long anything may take on a machine that is busy.
const enough = 2 * time.Minute

// world is two real nodes on one Redis, each behind a proxy that misbehaves on request.
type world struct {
	t       testing.TB
	redis   *miniredis.Miniredis
	nodes   []string // host:port
	proxies []*netproxy.Proxy
	http    *http.Client // whatever host is asked for, it reaches one of them
}

func newWorld(t testing.TB, auth identity.Authenticator) *world {
	t.Helper()
	w := &world{t: t, redis: miniredis.RunT(t)}
	for range 2 {
		addr := w.serve(auth)
		w.nodes = append(w.nodes, addr)
		proxy, err := netproxy.Start(addr, netproxy.Options{})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(proxy.Close)
		w.proxies = append(w.proxies, proxy)
	}
	dialer := &net.Dialer{}
	w.http = &http.Client{Transport: &http.Transport{DisableKeepAlives: true, DialContext: func(ctx context.Context, network, _ string) (net.Conn, error) {
		return dialer.DialContext(ctx, network, w.proxies[rand.IntN(len(w.proxies))].Addr())
	}}}
	return w
}

// serve runs a node until the test ends.
func (w *world) serve(auth identity.Authenticator) (addr string) {
	w.t.Helper()
	rdb := redis.NewClient(&redis.Options{Addr: w.redis.Addr()})
	node, err := embedded.New(w.t.Context(), rdb, map[string]agent.Agent{"demo": demo.Agent{}}, embedded.Options{Auth: auth})
	if err != nil {
		w.t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() {
		if err := node.Run(ctx); err != nil {
			w.t.Errorf("node: %v", err)
		}
	})
	server := httptest.NewServer(node.Handler())
	w.t.Cleanup(func() {
		stop()
		node.Hurry()
		running.Wait()
		server.Close()
		rdb.Close()
	})
	<-node.Ready()
	return strings.TrimPrefix(server.URL, "http://")
}

// dial connects to a node that the dice choose, now and after each loss; retries are quick.
func (w *world) dial(o client.Options) *client.Client {
	w.t.Helper()
	o.HTTPClient = w.http
	return w.connect("ws://127.0.0.1/ws", o)
}

// dialDirect connects past the proxies.
func (w *world) dialDirect(o client.Options) *client.Client {
	w.t.Helper()
	o.HTTPClient = &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	return w.connect("ws://"+w.nodes[0]+"/ws", o)
}

func (w *world) connect(url string, o client.Options) *client.Client {
	w.t.Helper()
	if o.MaxDelay == 0 {
		o.MaxDelay = 50 * time.Millisecond
	}
	if o.User == "" && o.Token == nil {
		o.User = "ann"
	}
	return start(w.t, url, o)
}

// all does something to both networks.
func (w *world) all(do func(*netproxy.Proxy)) {
	for _, p := range w.proxies {
		do(p)
	}
}

func (w *world) cut() { w.all(func(p *netproxy.Proxy) { p.Cut() }) }

// messages is the whole history of a thread.
func (w *world) messages(c *client.Client, thread string) (all []client.Entry) {
	w.t.Helper()
	for before := ""; ; {
		page, err := c.Messages(w.t.Context(), thread, before, 7)
		if err != nil {
			w.t.Fatal(err)
		}
		all = append(page.Messages, all...)
		if before = page.Next; before == "" {
			return all
		}
	}
}

// said is what the demo agent says in so many chunks.
func said(frames int) string {
	var b strings.Builder
	for n := 1; n <= frames; n++ {
		fmt.Fprintf(&b, "%d: ", n)
	}
	return b.String()
}

// script tells the demo agent what to do.
func script(frames int, interval float64, more object) map[string]any {
	d := object{"frames": frames, "interval_ms": interval}
	for k, v := range more {
		d[k] = v
	}
	return map[string]any{"demo": d}
}

// eventually polls until cond holds; false when that takes too long.
func eventually(cond func() bool) bool {
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	timeout := time.After(enough)
	for !cond() {
		select {
		case <-tick.C:
		case <-timeout:
			return false
		}
	}
	return true
}

func until(t testing.TB, what string, cond func() bool) {
	t.Helper()
	if !eventually(cond) {
		t.Fatalf("never: %s", what)
	}
}

// acked waits for the acknowledgement of a command.
func acked(t testing.TB, p *client.Pending, err error) client.Ack {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), enough)
	defer cancel()
	ack, err := p.Wait(ctx)
	if err != nil {
		t.Fatalf("acknowledgement: %v", err)
	}
	return ack
}
