package wsapi

import (
	"context"
	"encoding/json"
	"sync"

	"turnlog/eventlog"
	"turnlog/line"
	"turnlog/session"
)

// following is one thread on one connection: the viewer (the cursor) and what
// this socket has been shown. The reader starts, restarts and ends it; the
// writer pulls. mu is held while the cursor is asked, but not while the socket is written.
type following struct {
	thread    eventlog.Thread
	viewer    Viewer // set once, before the following is announced
	announced bool   // guarded by the outbox: is in one of its lists

	// moving is held by the reader while the cursor is restarted; the writer
	// then passes the thread by.
	moving sync.Mutex

	mu        sync.Mutex
	gone      bool
	submitted bool // a turn was submitted here
	resumed   bool // the thread was resumed here
	pinned    bool // the client asked for it by follow
	fresh     bool // the client was told that it never ran, and nothing ran since
	waiting   bool // for the queued submission's turn: nothing is shown before a turn starts
	muffled   bool // the next pull failed already; say so once

	replay replay
	turn   turnSeen
	stops  []*stopping
	desk   line.Desk // what this socket is shown
}

// replay is the stretch between a header and the frames that were there then.
type replay struct {
	header *eventlog.Header  // nil when no replay is under way
	acks   []json.RawMessage // request ids of the resume_chat commands to acknowledge at its end
}

// turnSeen is what this socket knows of the thread's turns.
type turnSeen struct {
	id       string // of the newest one seen
	running  bool
	finished string // the newest one whose end was seen
}

// reserve prepares to follow a thread. The writer sees nothing of it before
// start; abandon ends it without one.
func (c *conn) reserve(thread eventlog.Thread) (*following, error) {
	if err := c.makeRoom(); err != nil {
		return nil, err
	}
	f := &following{thread: thread}
	f.moving.Lock() // until start
	v, err := c.srv.hub.Reserve(c.ctx, thread, func() { c.out.announce(f) })
	if err != nil {
		return nil, err
	}
	f.viewer = v
	f.desk = line.Desk{Thread: thread, Log: c.srv.logs, Cursor: v}
	return f, nil
}

// start makes the following one of the connection's and lets the writer pull.
func (c *conn) start(f *following) {
	c.threads.put(f)
	f.moving.Unlock()
	c.out.announce(f)
}

// abandon ends a following that was not started.
func (c *conn) abandon(f *following) {
	f.mu.Lock()
	f.gone = true
	f.mu.Unlock()
	f.moving.Unlock()
	c.release(c.ctx, f, false)
}

// makeRoom keeps the connection within its number of threads. Clients that know
// nothing of unfollow would run into the limit, so a thread where nothing
// happens makes room for the new one.
func (c *conn) makeRoom() error {
	if c.threads.len() < c.srv.opts.ThreadsPerConnection {
		return nil
	}
	var spare *following
	for _, f := range c.threads.all() {
		if spent, never := f.dispensable(); spent || never {
			spare = f
			if spent {
				break // better than one that may still begin
			}
		}
	}
	if spare != nil {
		c.unfollow(c.ctx, spare, true)
		return nil
	}
	return &session.Refusal{
		Code:    session.CodeQuota,
		Message: "this connection follows as many threads as it may, unfollow one",
	}
}

// dispensable reports whether nobody asked to follow the thread on and it was
// shown to the end of a turn that was submitted here (spent), or never ran.
func (f *following) dispensable() (spent, never bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.pinned || f.waiting || !f.idleLocked() || len(f.replay.acks) > 0 || len(f.stops) > 0 {
		return false, false
	}
	return f.submitted && f.turn.finished != "", f.fresh && !f.submitted
}

// holdsRequests reports whether requests may be waiting for this connection.
func (f *following) holdsRequests() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.submitted || f.desk.Claimed()
}

// running reports whether the client is seeing a turn.
func (f *following) running() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.turn.running
}

// idleLocked reports that nothing of a turn is on its way to this socket, as
// far as it was shown.
func (f *following) idleLocked() bool {
	return !f.turn.running && f.replay.header == nil
}

// unfollow ends a following: nothing of the thread is sent once it returns
// and the writer has finished its round.
func (c *conn) unfollow(ctx context.Context, f *following, byServer bool) {
	c.threads.remove(f.thread.ID)
	f.mu.Lock()
	f.gone = true
	acks, stops := f.replay.acks, f.stops
	f.replay, f.stops = replay{}, nil
	f.mu.Unlock()
	for _, id := range acks {
		c.send(resumedAck(f.thread.ID, 0, id))
	}
	for range stops {
		c.send(stoppedFrame(f.thread.ID))
	}
	c.release(ctx, f, byServer)
}
