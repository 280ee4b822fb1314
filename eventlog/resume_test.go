package eventlog_test

import (
	"context"
	"fmt"
	"net"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/redis/go-redis/v9"

	"turnlog/eventlog"
)

// trips counts round trips: a pipeline is one.
type trips struct{ n atomic.Int64 }

func (h *trips) DialHook(next redis.DialHook) redis.DialHook {
	return func(ctx context.Context, network, addr string) (net.Conn, error) { return next(ctx, network, addr) }
}

func (h *trips) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		h.count(cmd)
		return next(ctx, cmd)
	}
}

func (h *trips) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		h.count(cmds[0])
		return next(ctx, cmds)
	}
}

// count leaves out the greetings of new connections.
func (h *trips) count(first redis.Cmder) {
	if name := first.Name(); name != "hello" && name != "client" {
		h.n.Add(1)
	}
}

// cold is a hub that knows nothing, on a client whose round trips are counted.
func cold(tb testing.TB, addr string, opts eventlog.HubOptions) (*eventlog.Hub, *trips) {
	tb.Helper()
	log, rdb := openLog(tb, addr, eventlog.Options{})
	bus := eventlog.NewBus(rdb, "cold", eventlog.BusOptions{})
	tb.Cleanup(background(tb, bus.Run))
	if _, err := log.Heartbeat(tb.Context(), "cold"); err != nil {
		tb.Fatal(err)
	}
	count := &trips{}
	rdb.AddHook(count)
	return eventlog.NewHub(log, bus, "cold", opts), count
}

// emitMany logs n frames of about size bytes.
func emitMany(tb testing.TB, w *eventlog.Writer, n, size int) {
	tb.Helper()
	text := strings.Repeat("x", size)
	for i := range n {
		if err := w.Emit(tb.Context(), eventlog.Entry{Type: "chunk", Frame: fmt.Appendf(nil, `{"type":"chunk","n":%d,"content":"%s"}`, i, text)}); err != nil {
			tb.Fatal(err)
		}
	}
	if err := w.Flush(tb.Context()); err != nil {
		tb.Fatal(err)
	}
}

func TestB2_ResumeOf2000FramesTakesThreeRoundTrips(t *testing.T) {
	writerServers(t, func(t *testing.T, addr string) {
		owner := startNode(t, addr, "n1", eventlog.Options{ReplayMaxFrames: 10_000}, eventlog.HubOptions{})
		w, _ := owner.begin(t, alice)
		emitMany(t, w, 1000, 100)
		end(t, w)
		w, _ = owner.begin(t, alice)
		emitMany(t, w, 1500, 100)
		epoch, last := w.Position()
		owner.watch(t, alice, eventlog.Cursor{}).v.Leave(context.Background(), false) // Redis knows the scripts
		for name, missed := range map[string]int64{"within the running turn": 1500, "over two turns": 2000} {
			hub, count := cold(t, addr, eventlog.HubOptions{})
			follow := &watcher{tb: t, woken: make(chan struct{}, 1), last: last - missed}
			v, err := hub.Join(t.Context(), alice, eventlog.Cursor{LastSeq: last - missed, Epoch: epoch}, eventlog.JoinOptions{})
			if err != nil {
				t.Fatal(err)
			}
			follow.v = v
			if err := follow.pull(t.Context()); err != nil || follow.last != last {
				t.Fatalf("%s: ended at %d of %d: %v", name, follow.last, last, err)
			}
			// The subscription is the first one; it does not go over the counted connections.
			if n := 1 + count.n.Load(); n > 3 {
				t.Errorf("%s: %d round trips, want 3", name, n)
			}
			if held := hub.HeldBytes(); held != 0 {
				t.Errorf("%s: %d bytes are held at the end", name, held)
			}
			v.Leave(context.Background(), false)
		}
		end(t, w)
	})
}

// A resume of 100,000 frames needs memory for a page, not for the frames.
func TestF25_ResumeOf100000FramesStaysWithin32MiB(t *testing.T) {
	const frames = 100_000
	addr := startRealRedis(t)
	owner := startNode(t, addr, "n1", eventlog.Options{ReplayMaxFrames: 2 * frames, ReplayMaxBytes: 1 << 30}, eventlog.HubOptions{})
	w, _ := owner.begin(t, alice)
	emitMany(t, w, frames, 600)
	epoch, last := w.Position()
	hub, count := cold(t, addr, eventlog.HubOptions{})
	heap := func() uint64 {
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	runtime.GC()
	before, peak := heap(), uint64(0)
	v, err := hub.Join(t.Context(), alice, eventlog.Cursor{LastSeq: 1, Epoch: epoch}, eventlog.JoinOptions{})
	if err != nil {
		t.Fatal(err)
	}
	at := int64(1)
	for pulls := 0; at < last; pulls++ {
		d, err := v.Next(t.Context(), 64, 64<<10)
		if err != nil || len(d.Frames) == 0 || d.Frames[0].Seq != at+1 {
			t.Fatalf("after %d: %+v, %v", at, d, err)
		}
		at += int64(len(d.Frames))
		if pulls%16 == 0 {
			peak = max(peak, heap())
		}
	}
	if peak > before && peak-before > 32<<20 {
		t.Errorf("%d MiB of memory", (peak-before)>>20)
	}
	if n := count.n.Load(); n > 250 { // 66 MiB in pages of half a MiB to one
		t.Errorf("%d round trips", n)
	}
	t.Logf("%d KiB at most, %d round trips", (max(peak, before)-before)>>10, count.n.Load())
	v.Leave(context.Background(), false)
	end(t, w)
}

// Viewers that lag at once share a budget; whoever finds no room goes on in
// smaller steps, and pages of clients that do not read are let go.
func TestF26_ManyLaggingViewersHoldNoMoreThanTheBudget(t *testing.T) {
	const budget, viewers, frames = 1 << 20, 40, 3000
	r := newRig(eventlog.HubOptions{ReadAheadBytes: budget, CheckEvery: 5e6, IdleCheckEvery: 5e6})
	var all []*tail
	for i := range viewers {
		thread := eventlog.Thread{User: "alice", ID: fmt.Sprint("t", i)}
		r.append(thread, "turn_started")
		r.chunks(thread, frames)
		all = append(all, r.join(t, thread, eventlog.Cursor{LastSeq: 1, Epoch: "E1"}))
	}
	most := int64(0)
	for range 3 {
		for _, tl := range all {
			tl.pull()
			most = max(most, r.hub.HeldBytes())
		}
	}
	if most > budget || most < budget/2 {
		t.Errorf("%d bytes were held, the budget is %d", most, budget)
	}
	stop := r.run(t)
	eventually(t, "the pages of clients that do not read to be let go", func() bool { return r.hub.HeldBytes() == 0 })
	for _, tl := range all {
		tl.until(frames + 1)
		tl.v.Leave(context.Background(), false)
	}
	stop()
	if held := r.hub.HeldBytes(); held != 0 {
		t.Errorf("%d bytes are held at the end", held)
	}
}

// Large frames between small ones do not make pages large.
func TestF25_PagesFollowTheSizeOfFrames(t *testing.T) {
	r := newRig(eventlog.HubOptions{})
	r.append(alice, "turn_started")
	r.chunks(alice, 100)
	r.change(alice, func(th *fakeThread) {
		for range 200 {
			th.snap.LastSeq++
			frame := fmt.Appendf(nil, `{"type":"message","content":"%d","x":"%s"}`, th.snap.LastSeq, strings.Repeat("x", 200<<10))
			th.frames = append(th.frames, eventlog.StoredFrame{Seq: th.snap.LastSeq, Ordinal: 1, Type: "message", Frame: frame})
		}
	})
	tl := r.join(t, alice, eventlog.Cursor{LastSeq: 1, Epoch: "E1"})
	most := int64(0)
	for tl.pull() {
		most = max(most, r.hub.HeldBytes())
	}
	if tl.last != 301 || most > 1<<20 {
		t.Errorf("ended at %d, %d bytes were held", tl.last, most)
	}
	if r.largest > 16*210<<10 { // as many as are read at least
		t.Errorf("a page of %d bytes was read", r.largest)
	}
	tl.v.Leave(context.Background(), false)
}
