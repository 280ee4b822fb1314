package eventlog_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"turnlog/eventlog"
)

// faultProxy stands between the log and Redis. It can deliver a request and
// drop the connection instead of its reply, or swallow everything.
type faultProxy struct {
	net.Listener
	target    string
	dropReply atomic.Int64 // how many replies to drop, with their connection
	dropRate  atomic.Int64 // per mille of replies dropped
	dropEvery atomic.Int64 // one reply in so many is dropped
	replies   atomic.Int64
	blackHole atomic.Bool // reads and never answers
	dropped   atomic.Int64

	mu    sync.Mutex
	conns map[net.Conn]struct{}
	wait  sync.WaitGroup
}

func startFaultProxy(tb testing.TB, target string) *faultProxy {
	tb.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		tb.Fatal(err)
	}
	p := &faultProxy{Listener: ln, target: target, conns: map[net.Conn]struct{}{}}
	p.wait.Go(func() {
		for {
			c, err := ln.Accept()
			if err != nil {
				return
			}
			p.wait.Go(func() { p.serve(c) })
		}
	})
	tb.Cleanup(func() {
		_ = ln.Close()
		p.cut()
		p.wait.Wait()
	})
	return p
}

func (p *faultProxy) addr() string { return p.Listener.Addr().String() }

func (p *faultProxy) track(c net.Conn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.conns[c] = struct{}{}
}

// cut closes all connections.
func (p *faultProxy) cut() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for c := range p.conns {
		_ = c.Close()
	}
	clear(p.conns)
}

func (p *faultProxy) serve(client net.Conn) {
	server, err := net.Dial("tcp", p.target)
	if err != nil {
		_ = client.Close()
		return
	}
	p.track(client)
	p.track(server)
	defer func() { _, _ = client.Close(), server.Close() }()
	p.wait.Go(func() { _, _ = io.Copy(server, client); _ = server.Close() })
	buf := make([]byte, 64<<10)
	for {
		n, err := server.Read(buf)
		if err != nil {
			return
		}
		switch {
		case p.blackHole.Load():
			p.dropped.Add(1)
			continue
		case p.dropReply.Load() > 0 && p.dropReply.Add(-1) >= 0, rand.Int64N(1000) < p.dropRate.Load(),
			p.dropEvery.Load() > 0 && p.replies.Add(1)%p.dropEvery.Load() == 0:
			p.dropped.Add(1)
			return
		}
		if _, err := client.Write(buf[:n]); err != nil {
			return
		}
	}
}

func TestB51_F23_LostReplyOfAppendLosesAndDoublesNothing(t *testing.T) {
	writerServers(t, func(t *testing.T, addr string) {
		proxy := startFaultProxy(t, addr)
		log, rdb := openLog(t, proxy.addr(), eventlog.Options{})
		tr := seedTurn(t, log, rdb, "u", "t")
		w := log.NewWriter(tr.fence, tr.admission, eventlog.WriterOptions{})
		defer w.Abandon()
		emit(t, w, chunk(0))
		flush(t, w)
		for i := range 20 {
			proxy.dropReply.Store(1 + int64(i%2))
			emit(t, w, chunk(1+i))
			flush(t, w)
		}
		if proxy.dropped.Load() < 20 {
			t.Errorf("only %d replies were dropped", proxy.dropped.Load())
		}
		proxy.dropReply.Store(0)
		wantChunks(t, rdb, tr.base, 21)
	})
}

func TestF22_OnePercentOfCallsFailWithoutAMissingNumber(t *testing.T) {
	writerServers(t, func(t *testing.T, addr string) {
		proxy := startFaultProxy(t, addr)
		log, _ := openLog(t, proxy.addr(), eventlog.Options{ReplayMaxFrames: 1 << 20})
		direct := redis.NewClient(&redis.Options{Addr: addr})
		defer func() { _ = direct.Close() }()
		proxy.dropEvery.Store(100)
		const turns, atLeast = 10, 100
		var wg sync.WaitGroup
		var trs [turns]turn
		var counts [turns]int
		for i := range turns {
			trs[i] = seedTurn(t, log, direct, "u", fmt.Sprint("t", i))
			w := log.NewWriter(trs[i].fence, trs[i].admission, eventlog.WriterOptions{})
			wg.Go(func() {
				defer w.Abandon()
				for counts[i] < atLeast || proxy.dropped.Load() < 5 {
					emit(t, w, chunk(counts[i]))
					counts[i]++
					flush(t, w)
				}
			})
		}
		wg.Wait()
		for i := range trs {
			wantChunks(t, direct, trs[i].base, counts[i])
		}
	})
}

func TestB107_ScriptFlushUnderLoadLosesNothing(t *testing.T) {
	writerServers(t, func(t *testing.T, addr string) {
		log, rdb := openLog(t, addr, eventlog.Options{})
		stop := make(chan struct{})
		var flusher, wg sync.WaitGroup
		flusher.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
					if err := rdb.ScriptFlush(t.Context()).Err(); err != nil {
						t.Error(err)
						return
					}
				}
			}
		})
		const turns, n = 20, 100
		trs := make([]turn, turns)
		for i := range turns {
			trs[i] = seedTurn(t, log, rdb, "u", fmt.Sprint("t", i))
			w := log.NewWriter(trs[i].fence, trs[i].admission, eventlog.WriterOptions{})
			wg.Go(func() {
				defer w.Abandon()
				for j := range n {
					emit(t, w, chunk(j))
					if j%5 == 0 {
						flush(t, w)
					}
				}
				flush(t, w)
			})
		}
		wg.Wait()
		close(stop)
		flusher.Wait()
		for i := range trs {
			wantChunks(t, rdb, trs[i].base, n)
		}
	})
}

func TestF18_BlackHoledConnectionIsNoticedAndGivenUpAfterTheBudget(t *testing.T) {
	addr := startRealRedis(t)
	proxy := startFaultProxy(t, addr)
	log, rdb := openLog(t, proxy.addr(), eventlog.Options{CommandTimeout: 100 * time.Millisecond, OutageBudget: 2 * time.Second})
	tr := seedTurn(t, log, rdb, "u", "t")
	lost := make(chan error, 1)
	w := log.NewWriter(tr.fence, tr.admission, eventlog.WriterOptions{OnLost: func(err error) { lost <- err }})
	emit(t, w, chunk(0))
	flush(t, w)

	proxy.blackHole.Store(true)
	emit(t, w, chunk(1))
	eventually(t, "several tries", func() bool { return proxy.dropped.Load() > 1 })
	proxy.blackHole.Store(false)
	proxy.cut()
	flush(t, w)
	wantChunks(t, rdb, tr.base, 2)

	proxy.blackHole.Store(true)
	emit(t, w, chunk(2))
	if err := w.Flush(t.Context()); !errors.Is(err, eventlog.ErrUnavailable) {
		t.Fatalf("flush: %v", err)
	}
	if err := <-lost; !errors.Is(err, eventlog.ErrUnavailable) {
		t.Errorf("OnLost: %v", err)
	}
	if err := w.Emit(t.Context(), chunk(3)); !errors.Is(err, eventlog.ErrUnavailable) {
		t.Errorf("emit is not sticky: %v", err)
	}
}

func TestB106_OutOfMemoryWaitsThenFails(t *testing.T) {
	addr := startRealRedis(t, "--maxmemory-policy", "noeviction")
	log, rdb := openLog(t, addr, eventlog.Options{OutageBudget: time.Second})
	tr := seedTurn(t, log, rdb, "u", "t")
	w := log.NewWriter(tr.fence, tr.admission, eventlog.WriterOptions{})
	emit(t, w, chunk(0))
	flush(t, w)

	limit := func(v string) {
		if err := rdb.ConfigSet(t.Context(), "maxmemory", v).Err(); err != nil {
			t.Fatal(err)
		}
	}
	limit("1")
	emit(t, w, chunk(1))
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	if err := w.Flush(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Fatalf("flush while memory is full: %v", err)
	}
	limit("0")
	flush(t, w)
	wantChunks(t, rdb, tr.base, 2)

	limit("1")
	emit(t, w, chunk(2))
	if err := w.Flush(t.Context()); !errors.Is(err, eventlog.ErrOutOfMemory) {
		t.Fatalf("flush: %v", err)
	}
	limit("0")
	wantChunks(t, rdb, tr.base, 2)
}

func TestWriter_EmitBlocksWhileTooMuchIsPending(t *testing.T) {
	for name, row := range map[string]struct {
		size, fits int
	}{
		"frames": {20, 256},
		"bytes":  {300 << 10, 3},
	} {
		t.Run(name, func(t *testing.T) {
			proxy := startFaultProxy(t, startRealRedis(t))
			log, rdb := openLog(t, proxy.addr(), eventlog.Options{CommandTimeout: 200 * time.Millisecond, ReplayMaxFrames: 5000})
			tr := seedTurn(t, log, rdb, "u", "t")
			w := log.NewWriter(tr.fence, tr.admission, eventlog.WriterOptions{})
			defer w.Abandon()
			emit(t, w, chunk(0))
			flush(t, w)
			proxy.blackHole.Store(true)
			e := eventlog.Entry{Type: "chunk", Frame: []byte(`{"type":"chunk","content":"` + strings.Repeat("x", row.size) + `"}`)}
			emit(t, w, e) // on its way, some time soon
			eventually(t, "the call is on its way", func() bool { return proxy.dropped.Load() > 0 })
			for range row.fits {
				emit(t, w, e)
			}
			ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
			defer cancel()
			if err := w.Emit(ctx, e); !errors.Is(err, context.DeadlineExceeded) {
				t.Fatalf("emit beyond the bound: %v", err)
			}
			done := make(chan error, 1)
			go func() { done <- w.Emit(t.Context(), e) }()
			proxy.blackHole.Store(false)
			proxy.cut()
			if err := <-done; err != nil {
				t.Fatalf("blocked emit: %v", err)
			}
			flush(t, w)
			if _, seq := w.Position(); seq != int64(row.fits)+4 {
				t.Errorf("position %d, want %d", seq, row.fits+4)
			}
		})
	}
}
