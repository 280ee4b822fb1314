package eventlog_test

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"strings"
	"sync"
	"testing"

	"turnlog/eventlog"
)

// fakeBus delivers publishes at once, in the publisher's goroutine.
type fakeBus struct {
	mu       sync.Mutex
	handlers map[string]map[int]func(string)
	next     int
	lose     func(payload string) bool // loses what it says true to
	onSub    func()
	hooks    []func()
}

func newFakeBus() *fakeBus { return &fakeBus{handlers: make(map[string]map[int]func(string))} }

func (b *fakeBus) Subscribe(ctx context.Context, channel string, receive func(string)) (func(), error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.onSub != nil {
		b.onSub()
	}
	if b.handlers[channel] == nil {
		b.handlers[channel] = make(map[int]func(string))
	}
	b.next++
	id := b.next
	b.handlers[channel][id] = receive
	return func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		delete(b.handlers[channel], id)
	}, ctx.Err()
}

func (b *fakeBus) OnReconnect(fn func()) { b.hooks = append(b.hooks, fn) }

func (b *fakeBus) publish(channel, payload string) {
	b.mu.Lock()
	var to []func(string)
	if b.lose == nil || !b.lose(payload) {
		for _, fn := range b.handlers[channel] {
			to = append(to, fn)
		}
	}
	b.mu.Unlock()
	for _, fn := range to {
		fn(payload)
	}
}

func (b *fakeBus) setLose(fn func(string) bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.lose = fn
}

// subscriptions counts the channels somebody listens to.
func (b *fakeBus) subscriptions() (n int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, m := range b.handlers {
		n += len(m)
	}
	return n
}

// fakeThread is a thread of a fakeStore.
type fakeThread struct {
	snap    eventlog.Snapshot
	frames  []eventlog.StoredFrame
	turns   map[int64]string
	viewers map[string]int64
}

// fakeStore keeps threads in memory; it fails and interferes on demand.
type fakeStore struct {
	bus *fakeBus

	mu      sync.Mutex
	threads map[eventlog.Thread]*fakeThread
	fail    map[string]error  // by operation
	before  map[string]func() // called before the operation looks
	after   map[string]func() // called after it looked, before it returns
	calls   map[string]int
	largest int64   // bytes of the largest page
	detach  []int64 // generations, in the order of the calls
}

var _ eventlog.Store = (*fakeStore)(nil)

func newFakeStore(bus *fakeBus) *fakeStore {
	return &fakeStore{bus: bus, threads: make(map[eventlog.Thread]*fakeThread), fail: make(map[string]error),
		before: make(map[string]func()), after: make(map[string]func()), calls: make(map[string]int)}
}

// enter counts a call and takes the lock.
func (s *fakeStore) enter(op string) (leave func(), err error) {
	s.mu.Lock()
	s.calls[op]++
	before, after := s.before[op], s.after[op]
	s.mu.Unlock()
	if before != nil {
		before()
	}
	s.mu.Lock()
	err = s.fail[op]
	return func() {
		s.mu.Unlock()
		if after != nil {
			after()
		}
	}, err
}

func (s *fakeStore) on(when map[string]func(), op string, fn func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	when[op] = fn
}

func (s *fakeStore) setFail(op string, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.fail[op] = err
}

func (s *fakeStore) count(op string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.calls[op]
}

// threadLocked finds or makes a thread.
func (s *fakeStore) threadLocked(t eventlog.Thread) *fakeThread {
	th := s.threads[t]
	if th == nil {
		th = &fakeThread{turns: make(map[int64]string), viewers: make(map[string]int64)}
		th.snap.Status = eventlog.StatusUnknown
		s.threads[t] = th
	}
	return th
}

// change edits a thread.
func (s *fakeStore) change(t eventlog.Thread, fn func(*fakeThread)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	fn(s.threadLocked(t))
}

func (s *fakeStore) LiveChannel(t eventlog.Thread) (string, error) { return t.User + "/" + t.ID, nil }

func (s *fakeStore) Attach(_ context.Context, a eventlog.Attach) (eventlog.Snapshot, error) {
	leave, err := s.enter("attach")
	defer leave()
	if err != nil {
		return eventlog.Snapshot{}, err
	}
	th := s.threadLocked(a.Thread)
	if a.Generation > th.viewers[a.Node] {
		th.viewers[a.Node] = a.Generation
	}
	snap := th.snap
	snap.FirstHeld = 0
	if len(th.frames) > 0 {
		snap.FirstHeld = th.frames[0].Seq
	}
	from := max(snap.TurnFirstSeq, snap.LastMessageSeq+1)
	if c := a.Cursor; c.LastSeq > 0 && (c.Epoch == "" || c.Epoch == snap.Epoch) {
		from = c.LastSeq + 1
	}
	snap.Page = th.page(from-1, 0, a.PageFrames)
	for size, i := 0, 0; i < len(snap.Page); i++ {
		if size += len(snap.Page[i].Frame); size > a.PageBytes && i > 0 {
			snap.Page = snap.Page[:i]
		}
	}
	if n := len(snap.Page); n > 0 {
		snap.Behind = th.size(snap.Page[n-1].Seq)
	}
	return snap, nil
}

func (s *fakeStore) Detach(_ context.Context, t eventlog.Thread, node string, generation int64, _ bool) (eventlog.DetachResult, error) {
	leave, err := s.enter("detach")
	defer leave()
	if err != nil {
		return eventlog.DetachResult{}, err
	}
	s.detach = append(s.detach, generation)
	th := s.threadLocked(t)
	if stored, ok := th.viewers[node]; !ok || stored > generation {
		return eventlog.DetachResult{}, nil
	}
	delete(th.viewers, node)
	return eventlog.DetachResult{Changed: true, Last: len(th.viewers) == 0}, nil
}

func (s *fakeStore) Page(_ context.Context, t eventlog.Thread, after, until int64, limit int, turns bool) (eventlog.Page, error) {
	leave, err := s.enter("frames")
	defer leave()
	if err != nil {
		return eventlog.Page{}, err
	}
	th := s.threadLocked(t)
	p := eventlog.Page{Frames: th.page(after, until, limit), Epoch: th.snap.Epoch, LastSeq: th.snap.LastSeq}
	if n := len(p.Frames); n > 0 {
		p.Behind = th.size(p.Frames[n-1].Seq)
		s.largest = max(s.largest, th.size(after)-p.Behind)
	}
	if turns {
		p.Turns = maps.Clone(th.turns)
	}
	return p, nil
}

// size is how many bytes of frames follow a number.
func (th *fakeThread) size(after int64) (n int64) {
	for i := len(th.frames) - 1; i >= 0 && th.frames[i].Seq > after; i-- {
		n += int64(len(th.frames[i].Frame))
	}
	return n
}

func (s *fakeStore) TurnIDs(_ context.Context, t eventlog.Thread) (map[int64]string, error) {
	leave, err := s.enter("turns")
	defer leave()
	out := make(map[int64]string)
	for k, v := range s.threadLocked(t).turns {
		out[k] = v
	}
	return out, err
}

func (s *fakeStore) Peek(_ context.Context, threads []eventlog.Thread) ([]eventlog.Peek, error) {
	leave, err := s.enter("peek")
	defer leave()
	if err != nil {
		return nil, err
	}
	var out []eventlog.Peek
	for _, t := range threads {
		snap := s.threadLocked(t).snap
		out = append(out, eventlog.Peek{Thread: t, Epoch: snap.Epoch, LastSeq: snap.LastSeq, Status: snap.Status, Ordinal: snap.Ordinal})
	}
	return out, nil
}

func (s *fakeStore) Viewing(_ context.Context, node string) (out []eventlog.Thread, err error) {
	leave, err := s.enter("viewing")
	defer leave()
	for t, th := range s.threads {
		if _, ok := th.viewers[node]; ok {
			out = append(out, t)
		}
	}
	return out, err
}

func (th *fakeThread) page(after, until int64, limit int) []eventlog.StoredFrame {
	var out []eventlog.StoredFrame
	for _, f := range th.frames {
		if f.Seq > after && (until == 0 || f.Seq <= until) && len(out) < limit {
			out = append(out, f)
		}
	}
	return out
}

// append writes frames of the given types and publishes them like one append.
func (s *fakeStore) append(t eventlog.Thread, types ...string) eventlog.Commit {
	s.mu.Lock()
	th := s.threadLocked(t)
	if th.snap.Epoch == "" {
		th.snap.Epoch = "E1"
	}
	c := eventlog.Commit{Thread: t, Epoch: th.snap.Epoch, Attempt: 1, FirstSeq: th.snap.LastSeq + 1}
	for _, typ := range types {
		th.snap.LastSeq++
		seq := th.snap.LastSeq
		switch typ {
		case "turn_started":
			th.snap.Ordinal++
			th.snap.TurnID = fmt.Sprintf("turn-%d", th.snap.Ordinal)
			th.turns[th.snap.Ordinal] = th.snap.TurnID
			th.snap.TurnFirstSeq, th.snap.LastMessageSeq, th.snap.Status = seq, 0, eventlog.StatusRunning
		case "turn_finished":
			th.snap.Status, th.snap.Outcome, th.snap.Open = eventlog.StatusFinished, eventlog.OutcomeCompleted, nil
		case "message":
			th.snap.LastMessageSeq = seq
		}
		frame := []byte(fmt.Sprintf(`{"type":%q,"content":"%d"}`, typ, seq))
		th.frames = append(th.frames, eventlog.StoredFrame{Seq: seq, Ordinal: th.snap.Ordinal, Type: typ, Frame: frame})
		c.Entries = append(c.Entries, eventlog.Entry{Type: typ, Frame: frame})
	}
	c.Ordinal, c.TurnID = th.snap.Ordinal, th.snap.TurnID
	s.mu.Unlock()
	channel, _ := s.LiveChannel(t)
	s.bus.publish(channel, encodePayload(c))
	return c
}

// chunks appends n chunks, one append each.
func (s *fakeStore) chunks(t eventlog.Thread, n int) {
	for range n {
		s.append(t, "chunk")
	}
}

// trim drops the frames before this number.
func (s *fakeStore) trim(t eventlog.Thread, first int64) {
	s.change(t, func(th *fakeThread) {
		for len(th.frames) > 0 && th.frames[0].Seq < first {
			th.frames = th.frames[1:]
		}
	})
}

// rig is a hub over fakes.
type rig struct {
	*fakeStore
	hub *eventlog.Hub
}

var alice = eventlog.Thread{User: "alice", ID: "t1"}

func newRig(opts eventlog.HubOptions) *rig {
	store := newFakeStore(newFakeBus())
	return &rig{fakeStore: store, hub: eventlog.NewHub(store, store.bus, "n1", opts)}
}

func (r *rig) join(tb testing.TB, t eventlog.Thread, c eventlog.Cursor) *tail {
	tb.Helper()
	tl := newTail(tb)
	v, err := r.hub.Join(tb.Context(), t, c, eventlog.JoinOptions{Wake: tl.wake})
	if err != nil {
		tb.Fatalf("join: %v", err)
	}
	tl.begin(v)
	return tl
}

// tail is a client: it checks that between two headers numbers are strictly +1.
type tail struct {
	tb      testing.TB
	v       *eventlog.Viewer
	woken   chan struct{}
	headers []eventlog.Header // the first one is Join's
	frames  []string          // "seq type" since the newest header
	last    int64
	target  []string
}

func newTail(tb testing.TB) *tail { return &tail{tb: tb, woken: make(chan struct{}, 1)} }

func (tl *tail) wake(*eventlog.Viewer) {
	select {
	case tl.woken <- struct{}{}:
	default:
	}
}

func (tl *tail) begin(v *eventlog.Viewer) {
	tl.v = v
	if h := v.Header(); h != nil {
		tl.head(*h)
	}
}

func (tl *tail) head(h eventlog.Header) {
	tl.headers = append(tl.headers, h)
	tl.frames = nil
	tl.last = h.FirstSeq - 1
	if h.ReplayCount == 0 {
		tl.last = 0 // the next frame may have any number
		if h.Status != eventlog.StatusUnknown {
			tl.last = h.LastSeq
		}
	}
}

// pull takes one delivery; false: there was nothing.
func (tl *tail) pull() bool {
	tl.tb.Helper()
	d, err := tl.v.Next(tl.tb.Context(), 100, 1<<20)
	if err != nil {
		tl.tb.Errorf("next: %v", err)
		return false
	}
	if d.Header != nil {
		tl.head(*d.Header)
	}
	for _, f := range d.Frames {
		if tl.last != 0 && f.Seq != tl.last+1 {
			tl.tb.Errorf("frame %d follows %d", f.Seq, tl.last)
		}
		tl.last = f.Seq
		var got struct {
			Content string `json:"content"`
			Seq     int64  `json:"chat_seq"`
			Thread  string `json:"thread_id"`
			Turn    string `json:"turn_id"`
		}
		if err := json.Unmarshal(f.JSON, &got); err != nil || got.Content != fmt.Sprint(f.Seq) || got.Seq != f.Seq ||
			got.Thread != tl.v.Thread().ID || got.Turn == "" || got.Turn != f.TurnID {
			tl.tb.Errorf("frame %d arrived as %s (%v)", f.Seq, f.JSON, err)
		}
		tl.frames = append(tl.frames, fmt.Sprintf("%d %s", f.Seq, f.Type))
	}
	tl.target = append(tl.target, d.Retarget...)
	return !d.Empty()
}

// drain pulls until there is nothing more.
func (tl *tail) drain() {
	tl.tb.Helper()
	for tl.pull() {
	}
}

// until pulls until the frame with this number has come, waiting for wake-ups.
func (tl *tail) until(last int64) {
	tl.tb.Helper()
	for tl.drain(); tl.last < last; tl.drain() {
		select {
		case <-tl.woken:
		case <-tl.tb.Context().Done():
			tl.tb.Fatalf("frame %d did not come; the last one was %d", last, tl.last)
		}
	}
}

// want compares what came since the newest header.
func (tl *tail) want(frames ...string) {
	tl.tb.Helper()
	if got := strings.Join(tl.frames, ","); got != strings.Join(frames, ",") {
		tl.tb.Errorf("got %s, want %s", got, strings.Join(frames, ","))
	}
}
