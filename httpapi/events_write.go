package httpapi

import (
	"bytes"
	"errors"
	"net/http"
	"os"
	"strconv"
	"sync"
	"time"

	"turnlog/line"
)

// eventPiece is how much is written at a time. A client has the stall limit to
// take each.
const eventPiece = 16 << 10

// keptPage is the largest buffer that goes back to the pool.
const keptPage = 256 << 10

// page is what one round writes, and the lines it is made of.
type page struct {
	lines  []line.Line
	text   []byte
	events int
}

var pages = sync.Pool{New: func() any { return new(page) }}

// recycle gives a page back.
func (p *page) recycle() {
	clear(p.lines)
	p.lines, p.text, p.events = p.lines[:0], p.text[:0], 0
	if cap(p.text) <= keptPage {
		pages.Put(p)
	}
}

// frames adds the lines as events of the default type. Those from the log have
// the id that the client resumes with.
func (p *page) frames() {
	for _, l := range p.lines {
		if epoch, seq, numbered := l.Position(); numbered {
			p.text = append(p.text, "id: "...)
			p.text = append(appendPosition(p.text, epoch, seq), '\n')
		}
		p.data(l.JSON())
	}
	clear(p.lines)
	p.lines = p.lines[:0]
}

// event adds an event of a type of its own, without an id.
func (p *page) event(name string, data []byte) {
	p.text = append(append(append(p.text, "event: "...), name...), '\n')
	p.data(data)
}

// data ends an event with its data. JSON may have line breaks between its
// tokens; each line gets a field of its own.
func (p *page) data(json []byte) {
	for {
		p.text = append(p.text, "data: "...)
		at := lineBreak(json)
		if at < 0 {
			break
		}
		p.text = append(append(p.text, json[:at]...), '\n')
		json = json[at+1:]
	}
	p.text = append(append(p.text, json...), '\n', '\n')
	p.events++
}

// lineBreak is where the first CR or LF is, -1 without one.
func lineBreak(b []byte) int {
	lf := bytes.IndexByte(b, '\n')
	if lf >= 0 {
		b = b[:lf]
	}
	if cr := bytes.IndexByte(b, '\r'); cr >= 0 {
		return cr
	}
	return lf
}

// retry tells the client how long to wait before it connects again.
func (p *page) retry(d time.Duration) {
	p.text = strconv.AppendInt(append(p.text, "retry: "...), d.Milliseconds(), 10)
	p.text = append(p.text, '\n', '\n')
}

// errSlow is that a client took nothing for the stall limit.
var errSlow = errors.New("the client takes nothing")

// eventWriter writes pages to one client, each piece with a deadline.
type eventWriter struct {
	w     http.ResponseWriter
	ctl   *http.ResponseController
	stall time.Duration

	mu     sync.Mutex
	hurry  bool // the client gets no more time
	closed bool // the request is over
}

// write sends a page; it fails with errSlow, or because the client is gone.
func (e *eventWriter) write(text []byte) error {
	for len(text) > 0 {
		piece := text[:min(len(text), eventPiece)]
		text = text[len(piece):]
		if err := e.piece(piece); err != nil {
			return err
		}
	}
	return e.rest()
}

func (e *eventWriter) piece(piece []byte) error {
	start := time.Now()
	if err := e.deadline(start.Add(e.stall)); err != nil {
		return err
	}
	_, err := e.w.Write(piece)
	if err == nil {
		err = e.ctl.Flush()
	}
	// HTTP/2 does not say that it was the deadline.
	if err != nil && (errors.Is(err, os.ErrDeadlineExceeded) || time.Since(start) >= e.stall) {
		return errSlow
	}
	return err
}

// rest takes the deadline away: HTTP/2 resets a stream whose deadline passes
// even when nothing is written.
func (e *eventWriter) rest() error { return e.deadline(time.Time{}) }

func (e *eventWriter) deadline(t time.Time) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.hurry {
		t = time.Now()
	}
	return e.ctl.SetWriteDeadline(t)
}

// cut ends a write that waits for the client, and every later one.
func (e *eventWriter) cut() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.hurry = true
	if !e.closed {
		_ = e.ctl.SetWriteDeadline(time.Now()) // without deadlines no stream has begun
	}
}

// close says that the request is over and must not be touched any more.
func (e *eventWriter) close() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.closed = true
}
