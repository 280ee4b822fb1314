package wsapi

import "sync"

// wireMode switches a connection's encoding.
type wireMode uint8

const (
	modeKeep wireMode = iota
	modeText
	modeBinary
)

// reply is one object that answers a client, outside of any thread's frames.
type reply struct {
	json []byte
	mode wireMode // switched to before the reply is sent
}

// The outbox bounds replies that the client does not read; frames never wait here.
const (
	outboxReplies = 256
	outboxBytes   = 1 << 20
)

// outbox is what a connection's writer has to do. The reader puts replies in,
// viewers announce frames, the server's tick asks for pings; the writer takes.
type outbox struct {
	wake chan struct{} // one slot: something may be there
	room chan struct{} // one slot: the writer took replies

	mu      sync.Mutex
	replies []reply
	bytes   int
	ready   []*following // have frames, in turn
	later   []*following // failed; ready again at the next tick
	ping    bool
	ended   *closing
}

func newOutbox() *outbox {
	return &outbox{wake: make(chan struct{}, 1), room: make(chan struct{}, 1)}
}

func signal(ch chan struct{}) {
	select {
	case ch <- struct{}{}:
	default:
	}
}

// put adds a reply; false when there is no room. After the end replies vanish.
func (o *outbox) put(r reply) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.ended != nil {
		return true
	}
	if len(o.replies) >= outboxReplies || len(o.replies) > 0 && o.bytes+len(r.json) > outboxBytes {
		return false
	}
	o.replies = append(o.replies, r)
	o.bytes += len(r.json)
	signal(o.wake)
	return true
}

// announce says that f may have frames. It never blocks.
func (o *outbox) announce(f *following) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if f.announced {
		return
	}
	f.announced = true
	o.ready = append(o.ready, f)
	signal(o.wake)
}

// postpone retries f at the next tick.
func (o *outbox) postpone(f *following) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if !f.announced {
		f.announced = true
		o.later = append(o.later, f)
	}
}

// tick makes what was postponed ready, and asks for a ping when one is due.
func (o *outbox) tick(ping bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.ping = o.ping || ping
	o.ready = append(o.ready, o.later...)
	o.later = nil
	if o.ping || len(o.ready) > 0 {
		signal(o.wake)
	}
}

// end records why the connection closes; only the first reason counts.
func (o *outbox) end(why closing) (first bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.ended != nil {
		return false
	}
	o.ended = &why
	signal(o.wake)
	return true
}

// why returns the reason of the end, nil while there is none.
func (o *outbox) why() *closing {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.ended
}

// take hands over everything the writer does in one round: all replies, at
// most one following, and whether a ping is due. After the end only replies.
func (o *outbox) take(into []reply) (replies []reply, f *following, ping bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	replies = append(into, o.replies...)
	clear(o.replies)
	o.replies, o.bytes = o.replies[:0], 0
	if cap(o.replies) > 16 {
		o.replies = nil // an idle connection keeps little
	}
	if len(replies) > len(into) {
		signal(o.room)
	}
	if o.ended != nil {
		return replies, nil, false
	}
	ping, o.ping = o.ping, false
	if len(o.ready) > 0 {
		f = o.ready[0]
		o.ready[0] = nil
		if len(o.ready) == 1 {
			o.ready = o.ready[:0] // the next announcement needs no new list
		} else {
			o.ready = o.ready[1:]
		}
		f.announced = false
	}
	return replies, f, ping
}
