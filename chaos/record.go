package chaos

import (
	"encoding/json"
	"sync"
	"time"

	"turnlog/chaos/verify"
)

// book collects the record of a run.
type book struct {
	mu      sync.Mutex
	threads map[string]*verify.Thread // by user/thread
	frames  map[string]*verify.Frame  // equal ones are kept once
	order   []*verify.Thread
}

func newBook(s *Schedule) *book {
	b := &book{threads: map[string]*verify.Thread{}, frames: map[string]*verify.Frame{}}
	for _, v := range s.Viewers {
		key := v.User + "/" + v.Thread
		if b.threads[key] == nil {
			b.threads[key] = &verify.Thread{User: v.User, ID: v.Thread}
			b.order = append(b.order, b.threads[key])
		}
	}
	return b
}

// edit changes a thread's record.
func (b *book) edit(user, thread string, change func(*verify.Thread)) {
	b.mu.Lock()
	defer b.mu.Unlock()
	change(b.threads[user+"/"+thread])
}

// internLocked returns the one Frame that equals f.
func (b *book) internLocked(thread string, f *verify.Frame) *verify.Frame {
	key := thread + " " + f.String() + f.Turn + f.Body
	if known := b.frames[key]; known != nil {
		return known
	}
	b.frames[key] = f
	return f
}

// pen writes one viewer's record.
type pen struct {
	book   *book
	plan   ViewerPlan
	viewer *verify.Viewer

	mu     sync.Mutex
	socket *verify.Socket
	cursor verify.Cursor
}

func (b *book) pen(plan ViewerPlan) *pen {
	p := &pen{book: b, plan: plan, viewer: &verify.Viewer{Name: plan.Name}}
	b.edit(plan.User, plan.Thread, func(t *verify.Thread) { t.Viewers = append(t.Viewers, p.viewer) })
	return p
}

// open begins a new socket.
func (p *pen) open(node int) {
	p.book.mu.Lock()
	defer p.book.mu.Unlock()
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.socket != nil {
		p.socket.Closed = time.Now()
	}
	p.socket = &verify.Socket{Node: node, Opened: time.Now(), Closed: time.Now().Add(time.Hour)}
	p.viewer.Sockets = append(p.viewer.Sockets, p.socket)
}

// closed ends the socket.
func (p *pen) closed() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.socket != nil {
		p.socket.Closed = time.Now()
	}
}

// at is the cursor to resume from; fresh forgets it.
func (p *pen) at(fresh bool) verify.Cursor {
	p.mu.Lock()
	defer p.mu.Unlock()
	if fresh {
		p.cursor = verify.Cursor{}
	}
	return p.cursor
}

// asked notes a resume that is about to be sent.
func (p *pen) asked(c verify.Cursor) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.socket.Events = append(p.socket.Events, verify.Event{At: time.Now(), Resume: &c})
}

// received takes a message of the socket as it came.
func (p *pen) received(raw []byte, at time.Time) {
	if e, ok := p.event(raw, at); ok {
		p.mu.Lock()
		defer p.mu.Unlock()
		if p.socket != nil {
			p.socket.Events = append(p.socket.Events, e)
		}
		switch {
		case e.Header != nil && e.Header.Status != "unknown":
			if e.Header.Epoch != p.cursor.Epoch {
				p.cursor = verify.Cursor{Epoch: e.Header.Epoch}
			}
			if e.Header.ReplayCount == 0 {
				p.cursor.LastSeq = e.Header.LastSeq
			}
		case e.Frame != nil && e.Frame.Seq > 0:
			p.cursor.LastSeq = e.Frame.Seq
		}
	}
}

// told takes what the client package passed on.
func (p *pen) told(raw []byte, at time.Time) {
	if e, ok := p.event(raw, at); ok {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.viewer.Told = append(p.viewer.Told, e)
	}
}

// event makes an event of an object of the viewer's thread.
func (p *pen) event(raw []byte, at time.Time) (verify.Event, bool) {
	var o map[string]any
	if json.Unmarshal(raw, &o) != nil || o["thread_id"] != p.plan.Thread {
		return verify.Event{}, false
	}
	switch o["type"] {
	case nil:
		return verify.Event{}, false
	case "chat_resumed":
		h := &verify.Header{}
		if json.Unmarshal(raw, h) != nil {
			return verify.Event{}, false
		}
		return verify.Event{At: at, Header: h}, true
	}
	f, err := verify.NewFrame(o)
	if err != nil {
		return verify.Event{}, false
	}
	p.book.mu.Lock()
	defer p.book.mu.Unlock()
	return verify.Event{At: at, Frame: p.book.internLocked(p.plan.Thread, f)}, true
}

// position is the highest number this viewer has dealt with.
func (p *pen) position() int64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.cursor.LastSeq
}
