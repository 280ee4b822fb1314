package edge

import (
	"errors"
	"io"
	"net/http"
	"time"
)

// slowest is how many bytes per second extend the time that a body or an answer may take.
const slowest = 32 << 10

// limitBody gives a request's body a deadline that moves with what arrives. Requests
// without a body have none: a deadline would end what the server reads while an
// event stream is sent.
func (h *Handler) limitBody(w http.ResponseWriter, r *http.Request) {
	if r.Body == nil || r.Body == http.NoBody || r.ContentLength == 0 {
		return
	}
	b := &timedBody{ReadCloser: r.Body, control: http.NewResponseController(w), deadline: time.Now().Add(h.opts.BodyLimit)}
	if b.control.SetReadDeadline(b.deadline) == nil {
		r.Body = b
	}
}

// timedBody moves the deadline of a body.
type timedBody struct {
	io.ReadCloser
	control  *http.ResponseController
	deadline time.Time
	done     bool
}

// Read implements io.Reader.
func (b *timedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	switch {
	case b.done:
	case errors.Is(err, io.EOF):
		b.done = true
		_ = b.control.SetReadDeadline(time.Time{}) // the connection is in trouble, which its next use says
	case n > 0:
		b.deadline = b.deadline.Add(time.Duration(n) * time.Second / slowest)
		_ = b.control.SetReadDeadline(b.deadline)
	}
	return n, err
}
