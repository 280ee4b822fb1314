package wsapi

import (
	"bytes"
	"io"
	"sync/atomic"
	"time"

	"golang.org/x/time/rate"

	"turnlog/limit"
)

// intake is the reader's own state. The server's tick looks at its times.
type intake struct {
	limiter *rate.Limiter // of messages
	control *rate.Limiter // of the WebSocket's own pings and pongs
	onFlood func()        // called when there are too many of these; set before the first read
	buf     bytes.Buffer  // of small messages
	place   *limit.Place  // what the message in buf takes

	began    atomic.Int64 // when the message that is arriving began, in nanoseconds since origin; 0 = there is none
	received atomic.Int64 // bytes of it
}

func (s *Server) newIntake(user string) *intake {
	per, burst := rate.Limit(s.opts.MessagesPerSecond), s.opts.MessageBurst
	return &intake{limiter: rate.NewLimiter(per, burst), control: rate.NewLimiter(per, burst), place: s.opts.Room.Place(user)}
}

// takeControl counts one ping or pong, which the library reads and answers
// itself; false when there are too many.
func (i *intake) takeControl() bool {
	if i.control.Allow() {
		return true
	}
	i.onFlood()
	return false
}

func (i *intake) begin() {
	i.received.Store(0)
	i.began.Store(int64(time.Since(origin)))
}

func (i *intake) end() { i.began.Store(0) }

// slowestSender is how many bytes per second extend the time that a message may take.
const slowestSender = 32 << 10

// overdue reports whether the message that is arriving has taken too long.
func (i *intake) overdue(now time.Time, limit time.Duration) bool {
	began := i.began.Load()
	if began == 0 {
		return false
	}
	allowance := time.Duration(i.received.Load()) * time.Second / slowestSender
	return now.Sub(origin)-time.Duration(began) > limit+allowance
}

// forget gives back what the message took.
func (i *intake) forget() {
	if i.buf.Cap() > keepIntake {
		i.buf = bytes.Buffer{}
	}
	i.buf.Reset()
	i.place.Leave()
}

// intakePiece is how much of a message may arrive before it is counted, in bytes.
const intakePiece = 8 << 10

// metered counts what is read of a message, and fails when there is no room for it.
type metered struct {
	io.Reader
	intake *intake
}

// Read implements io.Reader.
func (m metered) Read(p []byte) (int, error) {
	// The library returns when p is full, however long that takes.
	n, err := m.Reader.Read(p[:min(len(p), intakePiece)])
	m.intake.received.Add(int64(n))
	if full := m.intake.place.Add(n); full != nil {
		return n, full
	}
	return n, err
}
