package eventlog_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/google/uuid"
	"github.com/redis/go-redis/v9"

	"turnlog/eventlog"
)

// node is one process's share of the log: its own connections, bus and hub.
type node struct {
	id  string
	log *eventlog.Log
	hub *eventlog.Hub
}

func startNode(tb testing.TB, addr, id string, opt eventlog.Options, hubOpt eventlog.HubOptions) *node {
	tb.Helper()
	log, _ := openLog(tb, addr, opt)
	rdb := redis.NewClient(&redis.Options{Addr: addr})
	bus := eventlog.NewBus(rdb, id, eventlog.BusOptions{})
	n := &node{id: id, log: log, hub: eventlog.NewHub(log, bus, id, hubOpt)}
	stopBus, stopHub := background(tb, bus.Run), background(tb, n.hub.Run)
	tb.Cleanup(func() {
		stopHub()
		stopBus()
		_ = rdb.Close()
	})
	if _, err := log.Heartbeat(tb.Context(), id); err != nil {
		tb.Fatal(err)
	}
	return n
}

// begin starts a turn and returns its writer, whose commits feed the node's hub.
func (n *node) begin(tb testing.TB, t eventlog.Thread) (*eventlog.Writer, eventlog.Admission) {
	tb.Helper()
	id := uuid.Must(uuid.NewV7()).String()
	a, err := n.log.Begin(tb.Context(), eventlog.Begin{Thread: t, Node: n.id,
		Submission: eventlog.Submission{TurnID: id, Message: []byte(`{"role":"user","content":"go"}`), Policy: eventlog.PolicyPreserve}})
	if err != nil || a.Verdict != eventlog.VerdictStarted {
		tb.Fatalf("begin: %+v, %v", a, err)
	}
	n.hub.Committed(eventlog.Commit{Thread: t, Epoch: a.Epoch, Ordinal: a.Ordinal, Attempt: a.Attempt, TurnID: a.TurnID,
		FirstSeq: a.FirstSeq, Entries: []eventlog.Entry{{Type: "turn_started", Frame: a.Started}}})
	w := n.log.NewWriter(eventlog.Fence{Thread: t, TurnID: a.TurnID, Attempt: a.Attempt, Owner: n.id}, a,
		eventlog.WriterOptions{OnCommit: n.hub.Committed})
	return w, a
}

// end finishes a turn.
func end(tb testing.TB, w *eventlog.Writer) {
	tb.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	if _, err := w.Finish(ctx, eventlog.OutcomeCompleted, []eventlog.Entry{
		{Type: "chunk", Frame: []byte(`{"type":"chunk","content":"","done":true}`)},
		{Type: "turn_finished", Frame: []byte(`{"type":"turn_finished","outcome":"completed"}`)},
	}); err != nil {
		tb.Errorf("finish: %v", err)
	}
}

// watcher is a viewer that checks numbers and remembers types.
type watcher struct {
	tb       testing.TB
	v        *eventlog.Viewer
	woken    chan struct{}
	last     int64
	count    int
	headers  int
	finished int
}

func (n *node) watch(tb testing.TB, t eventlog.Thread, c eventlog.Cursor) *watcher {
	tb.Helper()
	w := &watcher{tb: tb, woken: make(chan struct{}, 1)}
	v, err := n.hub.Join(context.Background(), t, c, eventlog.JoinOptions{Wake: func(*eventlog.Viewer) {
		select {
		case w.woken <- struct{}{}:
		default:
		}
	}})
	if err != nil {
		tb.Fatalf("join: %v", err)
	}
	w.v = v
	if h := v.Header(); h != nil {
		w.last = h.LastSeq
		if h.ReplayCount > 0 {
			w.last = h.FirstSeq - 1
		}
	}
	return w
}

// pull takes what there is.
func (w *watcher) pull(ctx context.Context) error {
	for {
		d, err := w.v.Next(ctx, 64, 64<<10)
		if err != nil || d.Empty() {
			return err
		}
		if d.Header != nil {
			w.headers++
			w.last = d.Header.LastSeq
			if d.Header.ReplayCount > 0 {
				w.last = d.Header.FirstSeq - 1
			}
		}
		for _, f := range d.Frames {
			if f.Seq != w.last+1 {
				return fmt.Errorf("frame %d follows %d", f.Seq, w.last)
			}
			w.last = f.Seq
			w.count++
			if f.Type == "turn_finished" {
				w.finished++
			}
		}
	}
}

// untilFinished follows until that many turns have ended.
func (w *watcher) untilFinished(turns int) error {
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	for {
		if err := w.pull(ctx); err != nil || w.finished >= turns {
			return err
		}
		select {
		case <-w.woken:
		case <-ctx.Done():
			return fmt.Errorf("after frame %d: %w", w.last, ctx.Err())
		}
	}
}

func TestB11_B20_B2_HubsOnTwoNodes(t *testing.T) {
	writerServers(t, func(t *testing.T, addr string) {
		one := startNode(t, addr, "n1", eventlog.Options{}, eventlog.HubOptions{RingFrames: 32})
		two := startNode(t, addr, "n2", eventlog.Options{}, eventlog.HubOptions{RingFrames: 32})
		thread := eventlog.Thread{User: "alice", ID: "t 1/é"}
		w, a := one.begin(t, thread)
		const frames = 1500
		var tasks sync.WaitGroup
		tasks.Go(func() {
			for i := range frames {
				if err := w.Emit(t.Context(), chunk(i)); err != nil {
					t.Error(err)
				}
			}
			end(t, w)
		})
		for i := range 20 { // viewers coming and resuming at any moment, on both nodes
			n := []*node{one, two}[i%2]
			tasks.Go(func() {
				var c eventlog.Cursor
				seen := int64(0)
				for range 3 {
					v := n.watch(t, thread, c)
					if c.LastSeq > 0 && v.last != c.LastSeq {
						t.Errorf("resumed at %d, replay starts behind %d", c.LastSeq, v.last)
					}
					stop := min(seen+rand.Int64N(frames/3), frames+3)
					for v.last < stop && v.finished == 0 {
						if err := v.pull(t.Context()); err != nil {
							t.Error(err)
							break
						}
						if v.last < stop {
							<-v.woken
						}
					}
					seen = v.last
					c = eventlog.Cursor{LastSeq: v.last, Epoch: a.Epoch}
					v.v.Leave(t.Context(), false)
				}
				v := n.watch(t, thread, c)
				defer v.v.Leave(context.Background(), false)
				if v.last < frames+3 {
					if err := v.untilFinished(1); err != nil {
						t.Errorf("viewer on %s: %v", n.id, err)
					}
				}
				if v.last != frames+3 {
					t.Errorf("viewer on %s ends at %d", n.id, v.last)
				}
			})
		}
		tasks.Wait()
	})
}

func TestB9_F8_ResumeAtTheVeryMoment(t *testing.T) {
	t.Run("miniredis", func(t *testing.T) { raceAtBirth(t, miniredis.RunT(t).Addr(), 1000) })
	t.Run("redis", func(t *testing.T) { raceAtBirth(t, startRealRedis(t), 10_000) })
}

// raceAtBirth begins short turns on one node while another one resumes them.
func raceAtBirth(t *testing.T, addr string, tries int64) {
	const racers = 32
	one := startNode(t, addr, "n1", eventlog.Options{}, eventlog.HubOptions{})
	two := startNode(t, addr, "n2", eventlog.Options{}, eventlog.HubOptions{})
	var next, before, during, after atomic.Int64
	attempt := func(thread eventlog.Thread) bool {
		// Whoever comes first, by how much is a matter of luck.
		pause := func() {
			for range rand.IntN(4) {
				_, _ = two.log.Peek(t.Context(), []eventlog.Thread{thread})
			}
		}
		var owner sync.WaitGroup
		owner.Go(func() {
			pause()
			w, _ := one.begin(t, thread)
			for k := range 3 {
				say(t, w, k)
			}
			end(t, w)
		})
		pause()
		v := two.watch(t, thread, eventlog.Cursor{})
		switch v.v.Header().Status {
		case eventlog.StatusUnknown:
			before.Add(1)
		case eventlog.StatusRunning:
			during.Add(1)
		default:
			after.Add(1)
		}
		err := v.untilFinished(1)
		if err != nil || v.count != 6 {
			t.Errorf("%s: %d frames, header %+v: %v", thread.ID, v.count, v.v.Header(), err)
		}
		owner.Wait()
		v.v.Leave(context.Background(), false)
		return err == nil
	}
	// On a busy machine one side may win nearly always: then the race goes on, up to ten times as long.
	wanted := tries / 50
	more := func(n int64) bool {
		return n <= tries || n <= 10*tries && (before.Load() < wanted || during.Load() < wanted)
	}
	var all sync.WaitGroup
	for range racers {
		all.Go(func() {
			for n := next.Add(1); more(n) && attempt(eventlog.Thread{User: "alice", ID: fmt.Sprintf("t%d", n)}); n = next.Add(1) {
			}
		})
	}
	all.Wait()
	t.Logf("%d resumes before the turn, %d while it ran, %d after it", before.Load(), during.Load(), after.Load())
	if before.Load() < wanted || during.Load() < wanted {
		t.Error("that was no race")
	}
}

func TestF3_B5_TabStaysOpenOverTwoTurns(t *testing.T) {
	writerServers(t, func(t *testing.T, addr string) {
		one := startNode(t, addr, "n1", eventlog.Options{}, eventlog.HubOptions{})
		two := startNode(t, addr, "n2", eventlog.Options{}, eventlog.HubOptions{})
		w, _ := one.begin(t, alice)
		tab := one.watch(t, alice, eventlog.Cursor{})
		say(t, w, 1)
		end(t, w)
		if err := tab.untilFinished(1); err != nil {
			t.Fatal(err)
		}
		p, _ := one.log.Partition(alice.User)
		rdb := redis.NewClient(&redis.Options{Addr: addr})
		defer func() { _ = rdb.Close() }()
		if n := rdb.Del(t.Context(), fmt.Sprintf("turnlog:{%d}:alice/t1:log", p)).Val(); n != 1 {
			t.Fatal("the log was not there")
		}
		w, a := two.begin(t, alice)
		say(t, w, 2)
		end(t, w)
		if err := tab.untilFinished(2); err != nil || tab.count != 8 || a.FirstSeq != 5 || tab.headers != 0 {
			t.Errorf("%d frames, turn 2 began at %d, %d headers: %v", tab.count, a.FirstSeq, tab.headers, err)
		}
	})
}

func TestB14_LogTrimmedPastAViewerOnRealLogs(t *testing.T) {
	writerServers(t, func(t *testing.T, addr string) {
		one := startNode(t, addr, "n1", eventlog.Options{ReplayMaxFrames: 20}, eventlog.HubOptions{RingFrames: 8})
		w, _ := one.begin(t, alice)
		slow := one.watch(t, alice, eventlog.Cursor{})
		for i := range 100 {
			say(t, w, i)
		}
		end(t, w)
		if err := slow.untilFinished(1); err != nil || slow.headers != 1 || slow.last != 103 {
			t.Errorf("%d headers, last %d: %v", slow.headers, slow.last, err)
		}
		if h := slow.v.Header(); !h.ReplayIncomplete || h.ReplayCount != 20 || h.FirstSeq != 84 {
			t.Errorf("header %+v", h)
		}
	})
}

func TestDelete_ViewersOnBothNodesFollowTheNextLife(t *testing.T) {
	writerServers(t, func(t *testing.T, addr string) {
		one := startNode(t, addr, "n1", eventlog.Options{}, eventlog.HubOptions{CheckEvery: 50 * time.Millisecond, IdleCheckEvery: 100 * time.Millisecond})
		two := startNode(t, addr, "n2", eventlog.Options{}, eventlog.HubOptions{CheckEvery: 50 * time.Millisecond, IdleCheckEvery: 100 * time.Millisecond})
		w, _ := one.begin(t, alice)
		say(t, w, 1)
		end(t, w)
		far := two.watch(t, alice, eventlog.Cursor{})
		if err := far.untilFinished(1); err != nil {
			t.Fatal(err)
		}
		if _, err := one.log.Delete(t.Context(), alice); err != nil {
			t.Fatal(err)
		}
		eventually(t, "the viewer is told", func() bool {
			return far.pull(t.Context()) == nil && far.headers > 0 && far.v.Header().Status == eventlog.StatusUnknown
		})
		w, _ = one.begin(t, alice)
		far.last = 0
		say(t, w, 1)
		end(t, w)
		if err := far.untilFinished(2); err != nil {
			t.Errorf("after header %+v: %v", far.v.Header(), err)
		}
	})
}

// say emits one chunk.
func say(tb testing.TB, w *eventlog.Writer, i int) {
	tb.Helper()
	if err := w.Emit(context.Background(), chunk(i)); err != nil {
		tb.Errorf("emit: %v", err)
	}
}
