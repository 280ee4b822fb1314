package eventlog

import (
	"context"
	"slices"
	"sync"
)

// follower is what a node knows of one followed thread: its epoch, its newest
// number and a cache of recent frames. Viewers are cursors over it.
type follower struct {
	hub     *Hub
	thread  Thread
	channel string

	// Guarded by hub.mu.
	count      int   // viewers, joining ones included
	generation int64 // the last one allotted

	listening chan struct{} // semaphore over release
	release   func()        // ends the subscription; nil = not subscribed
	pages     pager

	mu       sync.Mutex
	viewers  []*Viewer // replaced, never modified
	epoch    string    // "" = the thread never ran, as far as we know
	epochs   int       // rises with every change of epoch
	accepted int       // rises with every batch
	top      int64     // newest number known to be in the log
	since    int64     // first frame of a turn whose id is known, as are those after it; 0 = none
	status   Status
	missing  int  // checks in a row that found a running thread without state
	renew    bool // the node may not be among the thread's viewers any more
	ring     ring
	turns    map[int64]string // turn ids by ordinal
}

// batch is a run of frames of one turn, as committed or published.
type batch struct {
	epoch   string
	ordinal int64
	turnID  string
	first   int64
	entries []Entry
}

// maxKnownTurns bounds the cache of turn ids per thread.
const maxKnownTurns = 1024

func newFollower(h *Hub, t Thread, channel string) *follower {
	return &follower{
		hub: h, thread: t, channel: channel,
		listening: make(chan struct{}, 1),
		ring:      ring{maxFrames: h.opts.RingFrames, maxBytes: h.opts.RingBytes},
		turns:     make(map[int64]string),
	}
}

// listen returns once the live channel is subscribed.
func (f *follower) listen(ctx context.Context) error {
	select {
	case f.listening <- struct{}{}:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	defer func() { <-f.listening }()
	if f.release != nil {
		return nil
	}
	release, err := f.hub.bus.Subscribe(ctx, f.channel, f.receive)
	if err != nil {
		return err
	}
	f.release = release
	return nil
}

// close ends the subscription; nobody listens any more.
func (f *follower) close() {
	f.listening <- struct{}{}
	if f.release != nil {
		f.release()
		f.release = nil
	}
	<-f.listening
}

func (f *follower) add(v *Viewer) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.viewers = append(slices.Clone(f.viewers), v)
}

// setEpochLocked begins another life of the numbering. Viewers see that their
// own epoch differs and ask for a new header.
func (f *follower) setEpochLocked(epoch string) {
	f.epoch = epoch
	f.epochs++
	f.top, f.since = 0, 0
	f.ring.reset()
	clear(f.turns)
}

// restart makes every viewer ask for a new header.
func (f *follower) restart() {
	f.mu.Lock()
	f.missing = 0
	f.renew = true
	f.status = StatusUnknown
	viewers := f.viewers
	for _, v := range viewers {
		v.stale = true
	}
	f.mu.Unlock()
	wake(viewers)
}

// retarget tells every viewer that an open tool call lost its target.
func (f *follower) retarget(requestID string) {
	f.mu.Lock()
	viewers := f.viewers
	for _, v := range viewers {
		if !slices.Contains(v.retargets, requestID) && len(v.retargets) < maxRetargets {
			v.retargets = append(v.retargets, requestID)
		}
	}
	f.mu.Unlock()
	wake(viewers)
}

// takeRenew reports, once, that the node has to attach again.
func (f *follower) takeRenew() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	renew := f.renew
	f.renew = false
	return renew
}

func (f *follower) running() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.status == StatusRunning
}

func (f *follower) version() int {
	epochs, _ := f.mark()
	return epochs
}

// mark is taken before the log is asked, and handed in with the answer.
func (f *follower) mark() (epochs, accepted int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.epochs, f.accepted
}

// wake must be called without locks held.
func wake(viewers []*Viewer) {
	for _, v := range viewers {
		v.wake()
	}
}
