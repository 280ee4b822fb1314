package wsapi

import (
	"errors"
	"net"
	"time"

	"github.com/coder/websocket"

	"turnlog/line"
	"turnlog/wsapi/pack"
)

// One round of the writer pulls at most this much from one thread, so that
// threads take turns.
const (
	roundFrames = 64
	roundBytes  = 64 << 10
	corkRounds  = 16 // rounds before what gathered is sent anyway
)

// A batch message holds at most this much.
const (
	batchFrames = 128
	batchBytes  = 64 << 10
)

// listHead is the room before the members of a batch message: a JSON list's
// bracket is at its end, a MessagePack list's head takes 1 to 5 bytes of it.
const listHead = "    ["

// pen is the writer's own state.
type pen struct {
	binary  bool
	batch   bool
	gather  []byte // the batch message in the making: room for a list's head, members
	members int
	scratch []byte
	replies []reply
	lines   []line.Line
	broken  bool
}

// write sends what the outbox has until the connection ends.
func (c *conn) write() {
	for range c.out.wake {
		c.cork.cork()
		for rounds := 1; c.round(); rounds++ {
			if rounds%corkRounds == 0 {
				c.flush()
				c.cork.cork()
			}
		}
		c.flush()
		if end := c.out.why(); end != nil {
			if end.code != 0 {
				_ = c.ws.Close(end.code, end.reason)
			}
			return
		}
	}
}

// round does one round of work; false when there was nothing to do.
func (c *conn) round() bool {
	replies, f, ping := c.out.take(c.pen.replies[:0])
	for _, r := range replies {
		if r.mode != modeKeep {
			c.closeBatch()
			c.pen.binary = r.mode == modeBinary
		}
		c.emit(line.Line{Own: r.json})
	}
	clear(replies)
	c.pen.replies = replies[:0]
	if ping {
		c.emit(line.Line{Own: object(nil).text("type", "ping").number("ts", time.Now().UnixMilli()).end()})
	}
	if f != nil {
		c.deliver(f)
	}
	return len(replies) > 0 || ping || f != nil
}

// deliver sends what one thread has for this connection.
func (c *conn) deliver(f *following) {
	lines, more, err := f.pull(c, c.pen.lines[:0])
	for _, l := range lines {
		c.emit(l)
	}
	clear(lines)
	c.pen.lines = lines[:0]
	switch {
	case err != nil:
		c.pullFailed(f, err)
	case more:
		c.out.announce(f)
	}
}

// emit sends one frame, or adds it to the batch.
func (c *conn) emit(l line.Line) {
	b := l.Own
	switch {
	case c.pen.binary && l.Shared != nil:
		b = l.Shared.Msgpack(packed)
	case c.pen.binary:
		c.pen.scratch, _ = pack.AppendFromJSON(c.pen.scratch[:0], b)
		b = c.pen.scratch
	case l.Shared != nil:
		b = l.Shared.JSON
	}
	if !c.pen.batch {
		c.message(b)
		return
	}
	if c.pen.members > 0 && len(c.pen.gather)+len(b) > batchBytes || c.pen.members == batchFrames {
		c.closeBatch()
	}
	switch {
	case c.pen.members == 0:
		c.pen.gather = append(c.pen.gather[:0], listHead...)
	case !c.pen.binary:
		c.pen.gather = append(c.pen.gather, ',')
	}
	c.pen.gather = append(c.pen.gather, b...)
	c.pen.members++
}

// packed is the shared MessagePack form of a frame from the log.
func packed(json []byte) []byte {
	b, err := pack.AppendFromJSON(make([]byte, 0, len(json)), json)
	if err != nil {
		return []byte{0xc0} // not reached: the log holds only checked frames
	}
	return b
}

// closeBatch sends the batch message in the making: a list, or the frame
// itself when it is alone.
func (c *conn) closeBatch() {
	n := c.pen.members
	c.pen.members = 0
	switch {
	case n == 0:
	case n == 1:
		c.message(c.pen.gather[len(listHead):])
	case c.pen.binary:
		var head [len(listHead)]byte
		h := pack.AppendListHeader(head[:0], n)
		list := c.pen.gather[len(listHead)-len(h):]
		copy(list, h)
		c.message(list)
	default:
		c.pen.gather = append(c.pen.gather, ']')
		c.message(c.pen.gather[len(listHead)-1:])
	}
}

func (c *conn) message(b []byte) {
	if c.pen.broken {
		return
	}
	typ := websocket.MessageText
	if c.pen.binary {
		typ = websocket.MessageBinary
	}
	c.srv.opts.Metrics.Sent(1, len(b))
	if err := c.ws.Write(c.base, typ, b); err != nil {
		c.fail(err)
	}
}

// flush sends everything that gathered.
func (c *conn) flush() {
	c.closeBatch()
	if err := c.cork.uncork(); err != nil {
		c.fail(err)
	}
	if cap(c.pen.scratch) > batchBytes {
		c.pen.scratch = nil
	}
	if cap(c.pen.gather) > 2*batchBytes {
		c.pen.gather = nil
	}
}

// fail notes that the socket takes nothing any more. When a close frame was
// exchanged or sent (for an oversized message), the reader is about to say why.
func (c *conn) fail(err error) {
	c.pen.broken = true
	if !errors.Is(err, net.ErrClosed) {
		c.shut(closeLost)
	}
}
