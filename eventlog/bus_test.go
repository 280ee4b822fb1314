package eventlog_test

import (
	"context"
	"fmt"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"turnlog/eventlog"
)

// proxy passes bytes to Redis until it is told not to.
type proxy struct {
	ln     net.Listener
	target string
	hole   atomic.Bool // swallow everything, close nothing

	mu    sync.Mutex
	conns []net.Conn
	tasks sync.WaitGroup
}

func startProxy(tb testing.TB, target string) *proxy {
	tb.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		tb.Fatal(err)
	}
	p := &proxy{ln: ln, target: target}
	p.tasks.Go(p.accept)
	tb.Cleanup(func() {
		_ = ln.Close()
		p.cut()
		p.tasks.Wait()
	})
	return p
}

func (p *proxy) accept() {
	for {
		in, err := p.ln.Accept()
		if err != nil {
			return
		}
		out, err := net.Dial("tcp", p.target)
		if err != nil {
			_ = in.Close()
			continue
		}
		p.mu.Lock()
		p.conns = append(p.conns, in, out)
		p.mu.Unlock()
		p.tasks.Go(func() { p.copy(in, out) })
		p.tasks.Go(func() { p.copy(out, in) })
	}
}

func (p *proxy) copy(to, from net.Conn) {
	defer func() { _, _ = to.Close(), from.Close() }()
	buf := make([]byte, 32<<10)
	for {
		n, err := from.Read(buf)
		if err != nil {
			return
		}
		if p.hole.Load() {
			continue
		}
		if _, err := io.Writer(to).Write(buf[:n]); err != nil {
			return
		}
	}
}

// cut closes every connection.
func (p *proxy) cut() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, c := range p.conns {
		_ = c.Close()
	}
	p.conns = nil
}

// startBus runs a bus over addr until the test ends.
func startBus(tb testing.TB, addr string, opts eventlog.BusOptions) *eventlog.Bus {
	tb.Helper()
	rdb := redis.NewClient(&redis.Options{Addr: addr})
	bus := eventlog.NewBus(rdb, "n1", opts)
	stop := background(tb, bus.Run)
	tb.Cleanup(func() {
		stop()
		_ = rdb.Close()
	})
	return bus
}

// inbox collects messages.
type inbox struct {
	mu  sync.Mutex
	got []string
}

func (i *inbox) add(m string) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.got = append(i.got, m)
}

func (i *inbox) len() int {
	i.mu.Lock()
	defer i.mu.Unlock()
	return len(i.got)
}

func TestBus_WhatIsPublishedAfterSubscribeArrives(t *testing.T) {
	writerServers(t, func(t *testing.T, addr string) {
		bus := startBus(t, addr, eventlog.BusOptions{Linger: 10 * time.Millisecond})
		rdb := redis.NewClient(&redis.Options{Addr: addr})
		defer func() { _ = rdb.Close() }()
		for i := range 50 { // the linger runs out in between, or it does not
			var in inbox
			release, err := bus.Subscribe(t.Context(), "c", in.add)
			if err != nil {
				t.Fatal(err)
			}
			if n := rdb.Publish(t.Context(), "c", fmt.Sprint(i)).Val(); n != 1 {
				t.Fatalf("round %d: %d receivers", i, n)
			}
			eventually(t, "message arrives", func() bool { return in.len() == 1 })
			release()
			release()
			if i%10 == 0 {
				eventually(t, "unsubscribed", func() bool {
					return rdb.PubSubNumSub(t.Context(), "c").Val()["c"] == 0
				})
			}
		}
	})
}

func TestBus_ThousandsOfChannels(t *testing.T) {
	writerServers(t, func(t *testing.T, addr string) {
		bus := startBus(t, addr, eventlog.BusOptions{})
		rdb := redis.NewClient(&redis.Options{Addr: addr})
		defer func() { _ = rdb.Close() }()
		const n = 3000
		var in inbox
		var tasks sync.WaitGroup
		for i := range n {
			tasks.Go(func() {
				if _, err := bus.Subscribe(t.Context(), fmt.Sprintf("c%d", i), in.add); err != nil {
					t.Error(err)
				}
			})
		}
		tasks.Wait()
		pipe := rdb.Pipeline()
		for i := range n {
			pipe.Publish(t.Context(), fmt.Sprintf("c%d", i), "x")
		}
		if _, err := pipe.Exec(t.Context()); err != nil {
			t.Fatal(err)
		}
		eventually(t, "all messages", func() bool { return in.len() == n })
	})
}

func TestBus_WakeUps(t *testing.T) {
	writerServers(t, func(t *testing.T, addr string) {
		bus := startBus(t, addr, eventlog.BusOptions{})
		var in inbox
		bus.OnWake(func(p int) { in.add(fmt.Sprint(p)) })
		rdb := redis.NewClient(&redis.Options{Addr: addr})
		defer func() { _ = rdb.Close() }()
		eventually(t, "connected", bus.Connected)
		for _, m := range []string{"w 7", "nonsense", "w -1", "w 12"} {
			rdb.Publish(t.Context(), "turnlog:node:n1", m)
		}
		eventually(t, "both wake-ups", func() bool { return in.len() == 2 })
		if in.got[0] != "7" || in.got[1] != "12" {
			t.Errorf("got %v", in.got)
		}
	})
}

func TestBus_ANewNodeIDTakesThePlaceOfTheOldOne(t *testing.T) {
	writerServers(t, func(t *testing.T, addr string) {
		bus := startBus(t, addr, eventlog.BusOptions{Linger: 10 * time.Millisecond})
		var in inbox
		bus.OnWake(func(p int) { in.add(fmt.Sprint(p)) })
		rdb := redis.NewClient(&redis.Options{Addr: addr})
		defer func() { _ = rdb.Close() }()
		eventually(t, "connected", bus.Connected)
		for _, id := range []string{"n2", "n3"} {
			bus.ListenAs(id)
		}
		eventually(t, "only the newest id is listened to", func() bool {
			n := rdb.PubSubNumSub(t.Context(), "turnlog:node:n1", "turnlog:node:n2", "turnlog:node:n3").Val()
			return n["turnlog:node:n1"] == 0 && n["turnlog:node:n2"] == 0 && n["turnlog:node:n3"] == 1
		})
		rdb.Publish(t.Context(), "turnlog:node:n3", "w 7")
		eventually(t, "wake-up", func() bool { return in.len() == 1 })
	})
}

func TestBus_F12_B108_ALostOrSilentConnectionIsReplaced(t *testing.T) {
	for _, how := range []string{"cut", "black hole"} {
		t.Run(how, func(t *testing.T) {
			writerServers(t, func(t *testing.T, addr string) {
				p := startProxy(t, addr)
				bus := startBus(t, p.ln.Addr().String(), eventlog.BusOptions{ProbeEvery: 100 * time.Millisecond})
				var reconnects atomic.Int32
				bus.OnReconnect(func() { reconnects.Add(1) })
				var in inbox
				for i := range 20 {
					if _, err := bus.Subscribe(t.Context(), fmt.Sprintf("c%d", i), in.add); err != nil {
						t.Fatal(err)
					}
				}
				if how == "cut" {
					p.cut()
				} else {
					p.hole.Store(true)
					eventually(t, "silence noticed", func() bool { return !bus.Connected() })
					p.cut()
					p.hole.Store(false)
				}
				eventually(t, "told of the reconnect", func() bool { return reconnects.Load() > 0 })
				rdb := redis.NewClient(&redis.Options{Addr: addr})
				defer func() { _ = rdb.Close() }()
				for i := range 20 {
					rdb.Publish(t.Context(), fmt.Sprintf("c%d", i), "x")
				}
				eventually(t, "messages flow again", func() bool { return in.len() == 20 })
			})
		})
	}
}

func TestBus_SubscribeEndsWithItsContext(t *testing.T) {
	rdb := redis.NewClient(&redis.Options{Addr: "127.0.0.1:1"})
	defer func() { _ = rdb.Close() }()
	bus := eventlog.NewBus(rdb, "n1", eventlog.BusOptions{})
	defer background(t, bus.Run)()
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := bus.Subscribe(ctx, "c", func(string) {}); err == nil {
		t.Error("subscribed to nothing")
	}
}
