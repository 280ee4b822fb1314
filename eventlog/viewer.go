package eventlog

import (
	"context"
	"sync/atomic"
	"time"
)

const (
	maxRetargets = 256                    // more open tool calls than any turn has
	joinFrames   = 128                    // first page taken along with the snapshot
	joinBytes    = 128 << 10              //
	lookAgain    = 100 * time.Millisecond // while an owner repairs its log
	maxRounds    = 8                      // of asking the log within one Next
)

// Viewer is one client connection following one thread: a cursor over the
// follower's cache and the log. It holds no frames and has no goroutine.
//
// One goroutine calls Next; the other methods may be called by any.
type Viewer struct {
	follower *follower
	onWake   func(*Viewer)
	armed    atomic.Bool // the next news calls onWake

	// Guarded by follower.mu.
	position
	generation int64
	buf        []*Delivered
	header     *Header // the newest one made
	pending    *Header // not delivered yet
	retargets  []string
	stale      bool // ask the log for a new header
	hold       int  // a resume is on its way: deliver nothing
	left       bool
}

// position is where a viewer is in the log.
type position struct {
	started    bool
	revision   int    // rises with every restart
	epoch      string // "" = the thread had none yet
	after      int64  // newest number delivered
	epochAware bool   // the client knows epochs
	unanchored bool   // the thread never ran: starts with whatever turn comes

	first     []StoredFrame // page that came with the snapshot
	open      map[string]struct{}
	openUntil int64 // requests up to this number were answered unless they are in open
}

// Thread is the thread the viewer follows.
func (v *Viewer) Thread() Thread { return v.follower.thread }

// Generation is the newest generation allotted to this viewer, for a begin.
func (v *Viewer) Generation() int64 {
	v.follower.mu.Lock()
	defer v.follower.mu.Unlock()
	return v.generation
}

// Header is the newest header made for this viewer, nil if there is none.
// The one made by Join is to be sent by the caller; later ones come with Next.
func (v *Viewer) Header() *Header {
	v.follower.mu.Lock()
	defer v.follower.mu.Unlock()
	return v.header
}

// Position is the epoch and the newest number delivered.
func (v *Viewer) Position() (epoch string, lastSeq int64) {
	v.follower.mu.Lock()
	defer v.follower.mu.Unlock()
	return v.epoch, v.after
}

// Start begins delivery after a begin that carried the viewer's generation:
// the frames of this epoch after the given number, without a header. On a
// viewer that has started it does nothing.
func (v *Viewer) Start(epoch string, after int64) {
	f := v.follower
	f.mu.Lock()
	if v.started || v.left {
		f.mu.Unlock()
		return
	}
	suspicious := f.epoch != "" && f.epoch != epoch
	if f.epoch == "" {
		f.setEpochLocked(epoch)
	}
	if f.epoch == epoch {
		f.top = max(f.top, after)
	}
	v.position = position{started: true, revision: v.revision + 1, epoch: epoch, after: after}
	f.mu.Unlock()
	if suspicious {
		f.hub.suspect(f)
	}
	v.wake()
}

// Rejoin is a second resume on one connection. Next then delivers a new
// header and goes on from there. A cursor with an epoch restarts the position;
// one without never goes back behind what was delivered. A live cursor starts
// a reserved viewer and changes nothing for others. Blocks like Join.
func (v *Viewer) Rejoin(ctx context.Context, c Cursor, p Policy) error {
	return v.attach(ctx, c, p, true)
}

// attach asks the log, with a fresh generation, and takes the position that
// the cursor and the answer make.
func (v *Viewer) attach(ctx context.Context, c Cursor, p Policy, again bool) error {
	f := v.follower
	f.hub.mu.Lock()
	f.mu.Lock()
	if v.left {
		f.mu.Unlock()
		f.hub.mu.Unlock()
		return ErrClosed
	}
	v.generation = f.hub.nextGenerationLocked(f)
	v.hold++
	ask := Attach{Thread: f.thread, Node: f.hub.node, Generation: v.generation, Cursor: c,
		Policy: p, PageFrames: joinFrames, PageBytes: joinBytes}
	f.mu.Unlock()
	f.hub.mu.Unlock()

	snap, epochs, accepted, err := f.look(ctx, ask)
	if err == nil {
		f.adopt(snap, epochs, accepted)
	}
	f.mu.Lock()
	v.hold--
	left := v.left
	if err == nil && !left && !(c.Live && v.started) {
		v.placeLocked(snap, c, again)
	}
	f.mu.Unlock()
	if left {
		f.undo(ctx, ask)
		return ErrClosed
	}
	v.wake()
	return err
}

// undo takes back an attach that may have come after the last viewer's detach.
func (f *follower) undo(ctx context.Context, ask Attach) {
	f.hub.mu.Lock()
	gone := f.hub.followers[f.thread] == nil
	f.hub.mu.Unlock()
	if !gone {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), cleanupTimeout) // as in left
	defer cancel()
	f.hub.detach(ctx, f.thread, owedDetach{node: ask.Node, generation: ask.Generation, byServer: true})
}

// look asks for a snapshot. While the cursor is ahead of a running log it asks
// again, for as long as a repair may take.
func (f *follower) look(ctx context.Context, ask Attach) (s Snapshot, epochs, accepted int, err error) {
	epochs, accepted = f.mark()
	s, err = f.hub.store.Attach(ctx, ask)
	deadline := time.Now().Add(f.hub.opts.RepairWait)
	for err == nil && ahead(s, ask.Cursor) && time.Now().Before(deadline) {
		wait := time.NewTimer(lookAgain)
		select {
		case <-ctx.Done():
			wait.Stop()
			return s, epochs, accepted, context.Cause(ctx)
		case <-wait.C:
		}
		ask.Generation = 0
		epochs, accepted = f.mark()
		s, err = f.hub.store.Attach(ctx, ask)
	}
	return s, epochs, accepted, err
}

// placeLocked takes the position that a plan gives, and its header.
func (v *Viewer) placeLocked(s Snapshot, c Cursor, again bool) {
	start, h := plan(s, c)
	if again && v.started && c.Epoch == "" && !c.Full && s.Epoch == v.epoch && start <= v.after {
		asked := c
		c.LastSeq = v.after
		start, h = plan(s, c)
		h.ReplayIncomplete = h.ReplayIncomplete || asked.LastSeq <= 0
	}
	h.Thread = v.follower.thread
	v.moveLocked(s, start, c.Epoch != "")
	if c.Live {
		return
	}
	v.header = &h
	v.noteOpenLocked(s)
	if again {
		v.pending = &h
	}
}

// moveLocked goes to where start is the next number to deliver.
func (v *Viewer) moveLocked(s Snapshot, start int64, epochAware bool) {
	v.position = position{
		started: true, revision: v.revision + 1, epochAware: epochAware,
		epoch: s.Epoch, after: start - 1, unanchored: s.Epoch == "",
	}
	v.stale = false
	page := s.Page
	for len(page) > 0 && page[0].Seq < start {
		page = page[1:]
	}
	if len(page) > 0 && page[0].Seq == start {
		v.first = page
	}
}

// noteOpenLocked remembers which requests were open when the header was made.
func (v *Viewer) noteOpenLocked(s Snapshot) {
	v.openUntil = s.LastSeq
	v.open = nil
	if len(s.Open) > 0 {
		v.open = make(map[string]struct{}, len(s.Open))
	}
	for i := range s.Open {
		v.open[s.Open[i].ID] = struct{}{}
	}
}

// RequestOpen tells how to deliver a request frame: false means that it was
// already answered when the header was made, so that request_closed is to be
// delivered under its number.
func (v *Viewer) RequestOpen(id string, seq int64) bool {
	v.follower.mu.Lock()
	defer v.follower.mu.Unlock()
	if seq > v.openUntil {
		return true
	}
	_, open := v.open[id]
	return open
}

// Leave ends the viewer; the last one of a thread detaches the node, which may
// start a grace or end the turn. byServer: the server closed the connection,
// not the client. Later calls do nothing. Blocks for one round trip at most
// five seconds long; what fails is repeated by the hub.
func (v *Viewer) Leave(ctx context.Context, byServer bool) {
	f := v.follower
	f.mu.Lock()
	if v.left {
		f.mu.Unlock()
		return
	}
	v.left = true
	v.first, v.buf, v.retargets = nil, nil, nil
	kept := make([]*Viewer, 0, len(f.viewers))
	for _, other := range f.viewers {
		if other != v {
			kept = append(kept, other)
		}
	}
	f.viewers = kept
	f.mu.Unlock()
	f.hub.left(ctx, f, byServer)
}

// wake calls the wake-up once after Next found nothing more.
func (v *Viewer) wake() {
	if v.armed.CompareAndSwap(true, false) && v.onWake != nil {
		v.onWake(v)
	}
}

// behind reports whether the viewer sleeps although there is more.
func (v *Viewer) behind(top int64) bool {
	v.follower.mu.Lock()
	defer v.follower.mu.Unlock()
	return v.started && v.armed.Load() && v.after < top
}
