package webhook

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"time"

	"turnlog/agent"
)

const (
	// overhead is what a line may have beyond the frame limit: ids, white space.
	overhead = 64 << 10
	// drainTime is how long a response may go on behind its end line.
	drainTime = 100 * time.Millisecond
)

// read passes every object of a response to object, which says when the turn is over.
func (a *Agent) read(ctx context.Context, res *http.Response, limit int, object func([]byte) (over bool, err error)) error {
	defer res.Body.Close()
	if res.StatusCode == http.StatusNoContent {
		return nil
	}
	if packed := res.Header.Get("Content-Encoding"); packed != "" && packed != "identity" {
		return &agent.Error{Message: fmt.Sprintf("The agent's server answered with content encoding %.40q; it must send its lines as they are.", packed), Type: "webhook_invalid"}
	}
	kind, _, _ := mime.ParseMediaType(res.Header.Get("Content-Type"))
	var events bool
	switch kind {
	case "text/event-stream":
		events = true
	case "application/x-ndjson", "application/ndjson", "application/jsonl", "application/json":
	default:
		if res.ContentLength == 0 {
			return nil
		}
		return &agent.Error{Message: "The agent's server answered with " + kindText(kind) + "; it must be text/event-stream or application/x-ndjson.", Type: "webhook_invalid"}
	}
	body, stop := a.watched(res.Body)
	defer stop()
	lines := bufio.NewScanner(body)
	lines.Buffer(nil, limit+overhead)
	over, err := pick(lines, events, limit+overhead, object)
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case over:
		a.drain(body)
		return err
	case err != nil:
		return err
	case errors.Is(lines.Err(), bufio.ErrTooLong):
		return agent.ErrFrameTooLarge
	case body.idle():
		return &agent.Error{Message: "The agent's server fell silent.", Type: "webhook_timeout"}
	case lines.Err() != nil || !delimited(res):
		return &agent.Error{Message: "The agent's server broke off.", Type: "webhook_unreachable", Err: lines.Err()}
	}
	return nil
}

// drain reads what little may follow the end line, so that the connection can be
// used again.
func (a *Agent) drain(body *watchedBody) {
	limit := time.AfterFunc(drainTime, func() { body.Close() })
	defer limit.Stop()
	_, _ = io.CopyN(io.Discard, body, overhead)
}

func kindText(kind string) string {
	if kind == "" {
		return "no content type"
	}
	return kind
}

// delimited tells whether a response that ended without an error is complete.
// One that only ends with its connection may as well have been cut.
func delimited(res *http.Response) bool {
	return res.ContentLength >= 0 || len(res.TransferEncoding) > 0 || res.ProtoMajor >= 2
}

// pick finds the objects: lines, or the data of events, of at most so many bytes.
func pick(lines *bufio.Scanner, events bool, most int, object func([]byte) (bool, error)) (over bool, err error) {
	var data []byte
	take := func(b []byte) (bool, error) {
		if b = bytes.TrimSpace(b); len(b) == 0 {
			return false, nil
		}
		return object(b)
	}
	for lines.Scan() {
		line := lines.Bytes()
		switch {
		case !events:
			over, err = take(line)
		case len(line) == 0:
			over, err = take(data)
			data = data[:0]
		case bytes.HasPrefix(line, []byte("data:")):
			if len(data)+len(line) > most {
				return false, agent.ErrFrameTooLarge
			}
			data = append(append(data, line[len("data:"):]...), '\n')
		}
		if over || err != nil {
			return over, err
		}
	}
	if events && lines.Err() == nil { // a last event without the empty line behind it
		return take(data)
	}
	return false, nil
}

// watchedBody ends a body that is silent for too long.
type watchedBody struct {
	io.ReadCloser
	timer   *time.Timer
	timeout time.Duration
	fired   chan struct{}
}

func (a *Agent) watched(body io.ReadCloser) (*watchedBody, func()) {
	w := &watchedBody{ReadCloser: body, timeout: a.options.IdleTimeout, fired: make(chan struct{})}
	if w.timeout < 0 {
		return w, func() {}
	}
	w.timer = time.AfterFunc(w.timeout, func() {
		close(w.fired)
		body.Close()
	})
	return w, func() { w.timer.Stop() }
}

// Read implements io.Reader.
func (w *watchedBody) Read(p []byte) (int, error) {
	n, err := w.ReadCloser.Read(p)
	if w.timer != nil && n > 0 && w.timer.Stop() {
		w.timer.Reset(w.timeout)
	}
	return n, err
}

func (w *watchedBody) idle() bool {
	select {
	case <-w.fired:
		return true
	default:
		return false
	}
}
