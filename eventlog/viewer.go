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
// follower's cache and the log. It has no goroutine, and holds no frames but
// what it read ahead while it is far behind.
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
	rest       remainder
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
	v.rest.drop(&f.hub.ahead)
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
	if v.remove() {
		v.follower.hub.left(ctx, v.follower, byServer)
	}
}

// forget ends a viewer while Redis does not answer: the detach, which an earlier
// viewer of the thread may have made necessary, is left to the hub.
func (v *Viewer) forget() {
	if !v.remove() {
		return
	}
	h := v.follower.hub
	if owed, last := h.uncount(v.follower, true); last {
		h.owe(v.follower.thread, owed)
	}
}

// remove takes the viewer from its follower; false: it had left.
func (v *Viewer) remove() bool {
	f := v.follower
	f.mu.Lock()
	defer f.mu.Unlock()
	if v.left {
		return false
	}
	v.left = true
	v.buf, v.retargets = nil, nil
	v.rest.drop(&f.hub.ahead)
	kept := make([]*Viewer, 0, len(f.viewers))
	for _, other := range f.viewers {
		if other != v {
			kept = append(kept, other)
		}
	}
	f.viewers = kept
	return true
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
