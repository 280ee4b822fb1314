package bench

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/url"
	"sync/atomic"
	"time"

	"github.com/coder/websocket"
)

// dialTimeout bounds connecting to a node and each of its acknowledgements.
const dialTimeout = 30 * time.Second

// viewer is a connection that does as little as possible: it looks for the two
// numbers that it needs in each frame and decodes nothing.
type viewer struct {
	conn *websocket.Conn
	buf  bytes.Buffer

	latency  histogram
	measured *atomic.Bool // while set, latencies are recorded
	received atomic.Int64 // numbered frames
	last     int64        // newest number
	missing  int64
	repeated int64
	trimmed  int64 // missing, but a new header said so: the log no longer held them
	restart  bool  // a header has come since the last frame
	finished bool  // a turn_finished has come
}

// dial connects as the given user.
func dial(ctx context.Context, base, user string, batch bool, measured *atomic.Bool) (*viewer, error) {
	ctx, cancel := context.WithTimeout(ctx, dialTimeout)
	defer cancel()
	query := url.Values{"user": {user}}
	if batch {
		query.Set("batch", "1")
	}
	conn, response, err := websocket.Dial(ctx, base+"?"+query.Encode(), &websocket.DialOptions{CompressionMode: websocket.CompressionDisabled})
	if err != nil {
		if response != nil {
			return nil, fmt.Errorf("connect to %s: %s", base, response.Status)
		}
		return nil, fmt.Errorf("connect to %s: %w", base, err)
	}
	conn.SetReadLimit(-1)
	return &viewer{conn: conn, measured: measured}, nil
}

func (v *viewer) close() { _ = v.conn.CloseNow() }

// send writes a command without waiting for its acknowledgement.
func (v *viewer) send(ctx context.Context, command string, data map[string]any) error {
	b, err := json.Marshal(map[string]any{"command": command, "data": data, "request_id": "bench"})
	if err != nil {
		return err
	}
	return v.conn.Write(ctx, websocket.MessageText, b)
}

// next reads one message; it is valid until the next call.
func (v *viewer) next(ctx context.Context) ([]byte, error) {
	_, r, err := v.conn.Reader(ctx)
	if err != nil {
		return nil, err
	}
	v.buf.Reset()
	if _, err := v.buf.ReadFrom(r); err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	return v.buf.Bytes(), nil
}

var (
	keySeq      = []byte(`"chat_seq":`)
	keyStamp    = []byte(`"content_metadata":{"t":`)
	keyFinished = []byte(`"type":"turn_finished"`)
	keyAck      = []byte(`"request_id":"bench"`)
	keyHeader   = []byte(`"type":"chat_resumed"`)
)

// scan accounts for the frames of one message.
func (v *viewer) scan(message []byte) {
	measured := v.measured != nil && v.measured.Load()
	var now int64
	if measured {
		now = time.Now().UnixMicro()
	}
	headers := bytes.Contains(message, keyHeader)
	for rest := message; ; {
		at := bytes.Index(rest, keySeq)
		frame := rest[:max(at, 0)]
		if at < 0 {
			frame = rest
		}
		if headers && bytes.Contains(frame, keyHeader) {
			v.restart = true
		}
		if at < 0 {
			return
		}
		rest = rest[at+len(keySeq):]
		v.account(digits(rest))
		if stamp := bytes.Index(frame, keyStamp); stamp >= 0 {
			if measured {
				v.latency.add(now - digits(frame[stamp+len(keyStamp):]))
			}
		} else if bytes.Contains(frame, keyFinished) {
			v.finished = true
		}
	}
}

func (v *viewer) account(seq int64) {
	v.received.Add(1)
	switch {
	case v.last > 0 && seq > v.last+1 && v.restart:
		v.trimmed += seq - v.last - 1
	case v.last > 0 && seq > v.last+1:
		v.missing += seq - v.last - 1
	case seq <= v.last:
		v.repeated++
	}
	v.last = max(v.last, seq)
	v.restart = false
}

func digits(b []byte) (n int64) {
	for _, c := range b {
		if c < '0' || c > '9' {
			break
		}
		n = n*10 + int64(c-'0')
	}
	return n
}

// command sends a command and reads until it is acknowledged, accounting for
// frames that come in between.
func (v *viewer) command(ctx context.Context, name string, data map[string]any) (map[string]any, error) {
	ctx, cancel := context.WithTimeout(ctx, dialTimeout)
	defer cancel()
	if err := v.send(ctx, name, data); err != nil {
		return nil, err
	}
	for {
		message, err := v.next(ctx)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		v.scan(message)
		if ack := acknowledgement(message); ack != nil {
			if ack["error"] != nil {
				return nil, fmt.Errorf("%s was refused: %s", name, message)
			}
			return ack, nil
		}
	}
}

// acknowledgement finds the reply to our command in a message, batched or not.
func acknowledgement(message []byte) map[string]any {
	if !bytes.Contains(message, keyAck) {
		return nil
	}
	var many []map[string]any
	if json.Unmarshal(message, &many) != nil {
		many = make([]map[string]any, 1)
		if json.Unmarshal(message, &many[0]) != nil {
			return nil
		}
	}
	for _, one := range many {
		if one["request_id"] == "bench" {
			return one
		}
	}
	return nil
}

// follow reads until the turn has finished or ctx ends; the latter is no error.
func (v *viewer) follow(ctx context.Context) error {
	for !v.finished {
		message, err := v.next(ctx)
		if err != nil {
			if ctx.Err() != nil {
				return nil
			}
			return err
		}
		v.scan(message)
	}
	return nil
}
