package eventlog

import (
	"context"
	"fmt"
	"sync"
	"time"
)

// Store is what the hub needs of the log. *Log implements it.
type Store interface {
	Attach(ctx context.Context, a Attach) (Snapshot, error)
	Detach(ctx context.Context, t Thread, node string, generation int64, byServer bool) (DetachResult, error)
	Page(ctx context.Context, t Thread, after, until int64, limit int, turns bool) (Page, error)
	TurnIDs(ctx context.Context, t Thread) (map[int64]string, error)
	Peek(ctx context.Context, threads []Thread) ([]Peek, error)
	Viewing(ctx context.Context, node string) ([]Thread, error)
	LiveChannel(t Thread) (string, error)
}

// Subscriber delivers what is published on channels. *Bus implements it.
type Subscriber interface {
	// Subscribe returns once the subscription is confirmed: what is published
	// from then on reaches receive, which must not block. release ends it.
	Subscribe(ctx context.Context, channel string, receive func(payload string)) (release func(), err error)
	// OnReconnect names what to call after messages may have been lost.
	OnReconnect(func())
}

var _ Subscriber = (*Bus)(nil)

// Hub follows threads for the viewers of one node: one follower per thread,
// however many viewers it has. A viewer is a cursor: it pulls what comes after
// its position from the follower's cache of recent frames, each encoded once
// for the whole node, else page by page from the log. So a slow viewer slows
// nobody, and costs no memory but the page it is being given: at most about
// 1 MiB, at most ReadAheadBytes for all viewers of the node together, and
// nothing any more once it has not asked for a while.
//
// The log is the only truth; live messages merely say that it grew. They are
// subscribed before the log is read, so nothing falls between the two. Repeats
// are dropped, holes are read from the log, and frames of another epoch are
// believed only after the log confirmed it; then, or when the log was trimmed
// past a viewer, it gets a new header in-band. A live message that is lost
// leaves nothing but a delay: Run compares followed threads with the log every
// CheckEvery (threads where nothing runs every IdleCheckEvery), and at once
// after a reconnect.
//
// While Redis is away viewers get what the cache holds, then errors from Next.
// All methods are safe for concurrent use.
type Hub struct {
	store Store
	bus   Subscriber
	opts  HubOptions
	kick  chan struct{} // a thread is under suspicion: compare now
	ahead budget        // for the pages that viewers hold

	mu          sync.Mutex
	node        string
	generation  int64
	followers   map[Thread]*follower
	suspects    map[*follower]struct{}
	owed        map[Thread]owedDetach // detaches that Redis did not confirm
	strangers   map[Thread]struct{}   // viewed according to the log, but not here
	compareAll  bool
	reconnected bool
}

type owedDetach struct {
	node       string
	generation int64
	byServer   bool
}

// cleanupTimeout bounds the detach of a viewer whose own context has ended.
const cleanupTimeout = 5 * time.Second

// NewHub makes the hub of a node. It panics on options that make no sense,
// which are constants of the program. Run must be running for lost messages
// to be noticed; everything else works without it.
func NewHub(store Store, bus Subscriber, node string, opts HubOptions) *Hub {
	opts = opts.withDefaults()
	if err := opts.validate(); err != nil {
		panic("eventlog: hub options: " + err.Error())
	}
	h := &Hub{
		store: store, bus: bus, opts: opts, node: node,
		kick:      make(chan struct{}, 1),
		ahead:     budget{limit: opts.ReadAheadBytes},
		followers: make(map[Thread]*follower),
		suspects:  make(map[*follower]struct{}),
		owed:      make(map[Thread]owedDetach),
	}
	bus.OnReconnect(h.CompareAll)
	return h
}

// JoinOptions describe a viewer.
type JoinOptions struct {
	// Policy is asked for together with the attach; PolicyUnset asks for nothing.
	Policy Policy

	// Wake is called when there is something new after Next had delivered all
	// there was. It must not block and may be called from any goroutine, also
	// while Next runs, but never with a lock of the hub held.
	Wake func(*Viewer)
}

// Join makes a viewer that goes on after the cursor. The live channel is
// subscribed, and confirmed, before the log is read. It blocks for two round
// trips to Redis, and up to RepairWait when the cursor is ahead of a running
// log. The header is Viewer.Header; Next delivers only later ones.
func (h *Hub) Join(ctx context.Context, t Thread, c Cursor, opts JoinOptions) (*Viewer, error) {
	v, err := h.Reserve(ctx, t, opts)
	if err != nil {
		return nil, err
	}
	if err := v.attach(ctx, c, opts.Policy, false); err != nil {
		v.Leave(ctx, true)
		return nil, fmt.Errorf("attach: %w", err)
	}
	return v, nil
}

// Reserve makes a viewer that is subscribed and counted but not attached: its
// Generation goes into a begin, which attaches the node itself. Then Start,
// Rejoin or Leave must follow; until then Next delivers nothing. Blocks for the
// confirmation of the live channel, at most JoinWait.
func (h *Hub) Reserve(ctx context.Context, t Thread, opts JoinOptions) (*Viewer, error) {
	channel, err := h.store.LiveChannel(t)
	if err != nil {
		return nil, err
	}
	h.mu.Lock()
	f := h.followers[t]
	if f == nil {
		f = newFollower(h, t, channel)
		h.followers[t] = f
	}
	f.count++
	v := &Viewer{follower: f, onWake: opts.Wake, generation: h.nextGenerationLocked(f)}
	h.mu.Unlock()
	f.add(v)
	waiting, cancel := context.WithTimeoutCause(ctx, h.opts.JoinWait, errNotConfirmed)
	defer cancel()
	if err := f.listen(waiting); err != nil {
		v.forget()
		return nil, fmt.Errorf("subscribe: %w", err)
	}
	return v, nil
}

// errNotConfirmed is the end of JoinWait.
var errNotConfirmed = fmt.Errorf("%w: the live channel is not confirmed", ErrUnavailable)

// nextGenerationLocked allots a generation. Generations rise over the whole
// node, so a detach that is overtaken by a later attach changes nothing.
func (h *Hub) nextGenerationLocked(f *follower) int64 {
	h.generation++
	f.generation = h.generation
	return h.generation
}

// uncount takes a viewer off the count; last: the node is to be detached.
func (h *Hub) uncount(f *follower, byServer bool) (owed owedDetach, last bool) {
	h.mu.Lock()
	f.count--
	if f.count > 0 {
		h.mu.Unlock()
		return owedDetach{}, false
	}
	if h.followers[f.thread] == f {
		delete(h.followers, f.thread)
	}
	delete(h.suspects, f)
	owed = owedDetach{node: h.node, generation: f.generation, byServer: byServer}
	h.mu.Unlock()
	f.close()
	return owed, true
}

// left takes a viewer off the count; the last one detaches the node.
func (h *Hub) left(ctx context.Context, f *follower, byServer bool) {
	owed, last := h.uncount(f, byServer)
	if !last {
		return
	}
	// The connection's context has usually ended by now, and the node must
	// still stop counting as a viewer.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), cleanupTimeout)
	defer cancel()
	h.detach(ctx, f.thread, owed)
}

// detach tells the log that the node no longer watches; Run repeats what fails.
func (h *Hub) detach(ctx context.Context, t Thread, d owedDetach) {
	result, err := h.store.Detach(ctx, t, d.node, d.generation, d.byServer)
	if err == nil {
		h.opts.OnDetach(ctx, t, result)
		return
	}
	h.opts.Logger.WarnContext(ctx, "detach of a thread will be repeated", "thread_id", t.ID, "error", err)
	h.owe(t, d)
}

// owe leaves a detach to Run.
func (h *Hub) owe(t Thread, d owedDetach) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.owed[t].generation <= d.generation {
		h.owed[t] = d
	}
}

// Committed feeds the frames of an append made by this node, so that its own
// viewers need no hop over Redis. Never blocks on viewers.
func (h *Hub) Committed(c Commit) {
	if len(c.Entries) == 0 {
		return
	}
	if f := h.follower(c.Thread); f != nil {
		f.accept(batch{epoch: c.Epoch, ordinal: c.Ordinal, turnID: c.TurnID, first: c.FirstSeq, entries: c.Entries})
	}
}

// Retarget tells the viewers of this node that the target of an open tool
// call left. Other nodes are told over the live channel.
func (h *Hub) Retarget(t Thread, requestID string) {
	if f := h.follower(t); f != nil {
		f.retarget(requestID)
	}
}

// Following reports whether this node has viewers of the thread.
func (h *Hub) Following(t Thread) bool { return h.follower(t) != nil }

// Followed lists the threads that have viewers on this node.
func (h *Hub) Followed() []Thread {
	h.mu.Lock()
	defer h.mu.Unlock()
	out := make([]Thread, 0, len(h.followers))
	for t := range h.followers {
		out = append(out, t)
	}
	return out
}

// Viewers counts the viewers of this node, one per connection and thread, and
// the threads that they follow.
func (h *Hub) Viewers() (viewers, threads int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, f := range h.followers {
		viewers += f.count
	}
	return viewers, len(h.followers)
}

func (h *Hub) follower(t Thread) *follower {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.followers[t]
}

// CompareAll has every followed thread, and the node's entries as a viewer,
// compared with the log soon, because live messages may have been lost.
func (h *Hub) CompareAll() {
	h.mu.Lock()
	h.compareAll = true
	h.reconnected = true
	h.mu.Unlock()
	h.nudge()
}

// suspect has one thread compared with the log soon.
func (h *Hub) suspect(f *follower) {
	h.mu.Lock()
	h.suspects[f] = struct{}{}
	h.mu.Unlock()
	h.nudge()
}

func (h *Hub) nudge() {
	select {
	case h.kick <- struct{}{}:
	default:
	}
}
