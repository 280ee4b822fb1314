// Package ssetest reads event streams in tests as the WHATWG standard says that
// browsers do, and refuses what a browser would pass over in silence.
package ssetest

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// Event is one dispatched event.
type Event struct {
	Type        string // "message" unless the stream says otherwise
	Data        string
	LastEventID string // as after this event
	ID          bool   // the event has an id of its own
}

// Reader reads one stream. It must not be used by two goroutines.
type Reader struct {
	in      *bufio.Reader
	started bool
	skipLF  bool

	LastEventID string        // what a browser would send when it connects again
	Retry       time.Duration // what it would wait before; 0 = nothing was said
}

// NewReader reads a stream that continues one that ended with lastEventID.
func NewReader(in io.Reader, lastEventID string) *Reader {
	return &Reader{in: bufio.NewReader(in), LastEventID: lastEventID}
}

// ErrCut is the end of a stream in the middle of an event, which a browser drops.
var ErrCut = errors.New("the stream ends within an event")

// Next returns the next event that is dispatched; io.EOF at the end.
func (r *Reader) Next() (Event, error) {
	var typ, id string
	var data []string
	var hasID, any bool
	for {
		line, err := r.line()
		switch {
		case errors.Is(err, io.EOF) && (any || line != ""):
			return Event{}, ErrCut
		case err != nil:
			return Event{}, err
		case line == "":
			if hasID {
				r.LastEventID = id
			}
			if data == nil {
				if typ != "" || hasID {
					return Event{}, fmt.Errorf("an event without data: type %q, id %q", typ, id)
				}
				any = false
				continue
			}
			if typ == "" {
				typ = "message"
			}
			return Event{Type: typ, Data: strings.Join(data, "\n"), LastEventID: r.LastEventID, ID: hasID}, nil
		}
		any = true
		field, value, colon := strings.Cut(line, ":")
		value = strings.TrimPrefix(value, " ")
		switch {
		case colon && field == "": // a comment
		case field == "event":
			typ = value
		case field == "data":
			data = append(data, value)
		case field == "id":
			if strings.Contains(value, "\x00") {
				return Event{}, fmt.Errorf("an id with a zero byte: %q", value)
			}
			id, hasID = value, true
		case field == "retry":
			ms, err := strconv.ParseUint(value, 10, 31)
			if err != nil {
				return Event{}, fmt.Errorf("retry %q", value)
			}
			r.Retry = time.Duration(ms) * time.Millisecond
		default:
			return Event{}, fmt.Errorf("unknown field in %q", line)
		}
	}
}

// line reads up to LF, CR or CRLF.
func (r *Reader) line() (string, error) {
	var b []byte
	for {
		c, err := r.in.ReadByte()
		if err != nil {
			return string(b), err
		}
		if r.skipLF {
			r.skipLF = false
			if c == '\n' {
				continue
			}
		}
		if c == '\n' || c == '\r' {
			r.skipLF = c == '\r'
			break
		}
		b = append(b, c)
	}
	line := string(b)
	if !r.started {
		r.started = true
		line = strings.TrimPrefix(line, "\ufeff")
	}
	if !utf8.ValidString(line) {
		return "", fmt.Errorf("not UTF-8: %q", line)
	}
	return line, nil
}
