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
const maxKnownTurns = 256

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

// receive takes a live message.
func (f *follower) receive(message string) {
	p, err := parsePayload(message)
	if err != nil {
		f.hub.opts.Logger.Warn("live message not understood", "thread_id", f.thread.ID, "error", err)
		f.hub.suspect(f)
		return
	}
	switch p.kind {
	case 'r':
		f.retarget(p.request)
	case 'd':
		f.restart()
		f.hub.suspect(f)
	case 'e':
		f.hub.suspect(f)
	default:
		f.receiveFrames(p)
	}
}

func (f *follower) receiveFrames(p payload) {
	if f.knows(p.epoch, p.first+int64(p.count)-1) {
		return
	}
	entries, err := p.entries()
	if err != nil {
		f.hub.opts.Logger.Warn("live message not understood", "thread_id", f.thread.ID, "error", err)
		f.hub.suspect(f)
		return
	}
	f.accept(batch{epoch: p.epoch, ordinal: p.ordinal, turnID: p.turnID, first: p.first, entries: entries})
}

// knows reports whether the cache already reaches to this number.
func (f *follower) knows(epoch string, last int64) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.epoch == epoch && f.ring.last >= last
}

// accept takes frames that are in the log. Repeats are dropped; behind a hole
// the cache starts anew and viewers read the hole from the log. Frames of
// another epoch are not believed before the log has been asked.
func (f *follower) accept(b batch) {
	f.mu.Lock()
	if f.epoch == "" {
		f.setEpochLocked(b.epoch)
	}
	if f.epoch != b.epoch {
		f.mu.Unlock()
		f.hub.suspect(f)
		return
	}
	f.accepted++
	f.knowTurnLocked(b.ordinal, b.turnID)
	if skip := f.ring.last + 1 - b.first; !f.ring.empty() && skip > 0 {
		skip = min(skip, int64(len(b.entries)))
		b.entries, b.first = b.entries[skip:], b.first+skip
	}
	if len(b.entries) == 0 {
		f.mu.Unlock()
		return
	}
	for _, d := range encode(f.thread.ID, b.epoch, b.first, b.entries, func(int) string { return b.turnID }) {
		f.ring.push(d)
		f.noteLocked(d)
	}
	viewers := f.viewers
	f.mu.Unlock()
	wake(viewers)
}

// noteLocked keeps the newest number and the status up to date.
func (f *follower) noteLocked(d *Delivered) {
	if d.Seq <= f.top {
		return
	}
	f.top = d.Seq
	f.missing = 0
	switch d.Type {
	case "turn_finished":
		f.status = StatusFinished
	default:
		f.status = StatusRunning
	}
}

func (f *follower) knowTurnLocked(ordinal int64, turnID string) {
	if turnID == "" || f.turns[ordinal] == turnID {
		return
	}
	if len(f.turns) >= maxKnownTurns {
		clear(f.turns)
	}
	f.turns[ordinal] = turnID
}

// setEpochLocked begins another life of the numbering. Viewers see that their
// own epoch differs and ask for a new header.
func (f *follower) setEpochLocked(epoch string) {
	f.epoch = epoch
	f.epochs++
	f.top = 0
	f.ring.reset()
	clear(f.turns)
}

// adopt takes over a snapshot. The marks were taken before it was asked for:
// what arrived meanwhile is newer.
func (f *follower) adopt(s Snapshot, epochs, accepted int) {
	f.mu.Lock()
	if s.Epoch != f.epoch {
		if f.epochs != epochs {
			f.mu.Unlock()
			f.hub.suspect(f)
			return
		}
		f.setEpochLocked(s.Epoch)
	}
	if s.LastSeq >= f.top || f.accepted == accepted {
		f.status = s.Status
	}
	if s.LastSeq < f.top && f.accepted == accepted { // a failover lost the tail
		f.top = s.LastSeq
		if f.ring.last > f.top {
			f.ring.reset()
		}
	}
	raised := s.LastSeq > f.top
	f.top = max(f.top, s.LastSeq)
	f.knowTurnLocked(s.Ordinal, s.TurnID)
	f.missing = 0
	viewers := f.viewers
	f.mu.Unlock()
	if raised {
		wake(viewers)
	}
}

// compare looks at the log's own account. It reports whether the log has
// frames that did not get here (yet).
func (f *follower) compare(p Peek, epochs int) (behind bool) {
	f.mu.Lock()
	if f.epochs != epochs {
		f.mu.Unlock()
		return false
	}
	var viewers []*Viewer
	switch {
	case p.Status == StatusUnknown || p.Epoch == "":
		// Deleted, or the state is gone. A living owner rebuilds that; otherwise the turn is lost.
		f.renew = f.renew || f.status == StatusFinished
		if f.epoch != "" && f.status == StatusRunning {
			if f.missing++; f.missing >= 3 {
				f.mu.Unlock()
				f.restart()
				return false
			}
		}
	case p.Epoch != f.epoch:
		f.setEpochLocked(p.Epoch)
		f.top, f.status = p.LastSeq, p.Status
		viewers = f.viewers
	case p.LastSeq > f.top:
		behind = true
	default:
		f.missing = 0
		if p.LastSeq == f.top {
			f.status = p.Status
		}
		viewers = f.viewers // nobody may sleep on what is here
	}
	top := f.top
	f.mu.Unlock()
	for _, v := range viewers {
		if v.behind(top) {
			v.wake()
		}
	}
	return behind
}

// raise makes frames known that no live message brought; viewers read them
// from the log. It reports whether any were missed.
func (f *follower) raise(p Peek, epochs int) bool {
	f.mu.Lock()
	if f.epochs != epochs || p.LastSeq <= f.top {
		f.mu.Unlock()
		return false
	}
	f.top, f.status = p.LastSeq, p.Status
	f.renew = true // whoever appended may not know that somebody looks
	viewers := f.viewers
	f.mu.Unlock()
	wake(viewers)
	return true
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
