package e2e_test

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/url"
	"strings"
	"syscall"
	"testing"
	"time"

	"turnlog/e2e/wire"
	"turnlog/internal/ssetest"
)

// stream is an event stream read off a raw connection, as curl would.
type stream struct {
	t      testing.TB
	conn   net.Conn
	status int
	left   int // bytes until the connection is cut, -1 = never
	events *ssetest.Reader
	id     string // of the welcome
}

var errCut = errors.New("cut")

// Read implements io.Reader.
func (s *stream) Read(b []byte) (int, error) {
	if s.left == 0 {
		return 0, errCut
	}
	if s.left > 0 {
		b = b[:min(len(b), s.left)]
	}
	n, err := s.conn.Read(b)
	if s.left > 0 {
		s.left -= n
	}
	return n, err
}

// escaped is a thread's id in a path; dots alone would lead elsewhere.
func escaped(thread string) string { return strings.ReplaceAll(url.PathEscape(thread), ".", "%2E") }

// events opens a stream on node i that is cut after so many bytes.
func (p *place) events(t testing.TB, i int, user, thread, query, resume string, cutAt int) *stream {
	t.Helper()
	n := p.nodes[i%len(p.nodes)]
	conn, err := net.DialTimeout("tcp", n.addr, patience)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	_ = conn.SetDeadline(time.Now().Add(patience))
	s := &stream{t: t, conn: conn, left: cutAt}
	fmt.Fprintf(conn, "GET /v1/threads/%s/events?user=%s&%s HTTP/1.1\r\nHost: %s\r\nAccept: text/event-stream\r\nAccept-Encoding: gzip\r\n",
		escaped(thread), user, query, n.addr)
	if resume != "" {
		fmt.Fprintf(conn, "Last-Event-ID: %s\r\n", resume)
	}
	fmt.Fprint(conn, "\r\n")
	resp, err := http.ReadResponse(bufio.NewReader(s), nil)
	if err != nil {
		if errors.Is(err, errCut) || s.left == 0 {
			s.status, s.events = http.StatusOK, ssetest.NewReader(s, resume)
			return s
		}
		t.Fatal(err)
	}
	s.status = resp.StatusCode
	if s.status == http.StatusOK && (resp.Header.Get("Content-Type") != "text/event-stream" || resp.Header.Get("Content-Encoding") != "") {
		t.Fatalf("header %v", resp.Header)
	}
	s.events = ssetest.NewReader(resp.Body, resume)
	return s
}

// next reads an event.
func (s *stream) next() (ssetest.Event, wire.Object, error) {
	e, err := s.events.Next()
	if err != nil {
		return e, nil, err
	}
	f := wire.Object{}
	if err := json.Unmarshal([]byte(e.Data), &f); err != nil {
		s.t.Fatalf("event %+v: %v", e, err)
	}
	if e.Type == "welcome" {
		s.id, _ = f["connection"].(string)
	}
	return e, f, nil
}

// until reads up to an event whose frame has this type, and returns the frames of the log.
func (s *stream) until(typ string) (all []wire.Object) {
	s.t.Helper()
	for {
		e, f, err := s.next()
		if err != nil {
			s.t.Fatalf("no %s: %v", typ, err)
		}
		if e.ID {
			all = append(all, f)
		}
		if f["type"] == typ {
			return all
		}
	}
}

// streamed joins the text of chunks, and checks that numbers rise by one from 1.
func streamed(t testing.TB, frames []wire.Object) string {
	t.Helper()
	var b strings.Builder
	for i, f := range frames {
		if f["chat_seq"] != float64(i+1) {
			t.Fatalf("frame %d has number %v", i+1, f["chat_seq"])
		}
		if c, ok := f["content"].(string); ok && f["type"] == "chunk" {
			b.WriteString(c)
		}
	}
	return b.String()
}

func TestB10_AnEventStreamCutAtRandomBytesLosesAndRepeatsNothing(t *testing.T) {
	everywhere(t, func(t *testing.T, p *place) {
		const frames, size = 500, 50
		user := someone()
		a := dial(t, p.url(0, user))
		ack := a.say("t", object{"frames": frames, "bytes": size, "interval_ms": 2}, object{"on_disconnect": "preserve"})
		a.Cut()
		last := ack.Str("epoch") + ":0"
		var all []wire.Object
		for i := 0; len(all) == 0 || all[len(all)-1]["type"] != "turn_finished"; i++ {
			cutAt := -1
			if i < 20 {
				cutAt = 200 + rand.IntN(4000)
			}
			s := p.events(t, i, user, "t", "", last, cutAt)
			for {
				e, f, err := s.next()
				if err != nil {
					break
				}
				if e.ID {
					all = append(all, f)
				}
			}
			s.conn.Close()
			last = s.events.LastEventID
		}
		if got := streamed(t, all); got != wire.DemoText(frames, size) {
			t.Errorf("text of %d bytes, want %d", len(got), len(wire.DemoText(frames, size)))
		}
		if s := p.events(t, 1, user, "t", "", last, -1); s.status != http.StatusNoContent {
			t.Errorf("at the end of a finished turn: %d", s.status)
		}
		if s := p.events(t, 1, someone(), "t", "", last, -1); s.status != http.StatusNotFound {
			t.Errorf("another user: %d", s.status)
		}
	})
}

func TestB66_AToolCallMovesBetweenStreamsAndSockets(t *testing.T) {
	everywhere(t, func(t *testing.T, p *place) {
		user := someone()
		a := dial(t, p.url(0, user)) // its tool calls are its own
		ack := a.say("t", toolCall, object{"on_disconnect": "preserve"})
		id := a.typed("t", "tool_call").Str("tool_call_id")
		s := p.events(t, 1, user, "t", "tools=clock", ack.Str("epoch")+":1", -1)
		other := p.events(t, 0, user, "t", "tools=other", ack.Str("epoch")+":1", -1)
		for _, v := range []*stream{s, other} {
			if open := v.until("request_open"); open[len(open)-1]["request_id"] != id {
				t.Fatalf("the stream sees %v", open)
			}
		}
		a.Cut()
		for {
			e, f, err := s.next()
			if err != nil {
				t.Fatal(err)
			}
			if f["type"] == "tool_call" {
				if e.ID || f["tool_call_id"] != id || f["replayed"] != true {
					t.Fatalf("got %+v", e)
				}
				break
			}
		}
		s.conn.Close()
		b := dial(t, p.url(1, user))
		b.resume("t", object{"last_seq": 1, "epoch": ack.Str("epoch")})
		b.typed("t", "tool_call")
		b.answer("tool_result", object{"tool_call_id": id, "ok": true, "result": 7})
		var said strings.Builder
		for _, f := range other.until("turn_finished") {
			if c, ok := f["content"].(string); ok && f["type"] == "chunk" {
				said.WriteString(c)
			}
		}
		if !strings.Contains(said.String(), `"result":7`) {
			t.Errorf("the agent said %q", said.String())
		}
	})
}

func TestB87_ADrainingNodeEndsItsStreamsAndTheyGoOnElsewhere(t *testing.T) {
	t.Parallel()
	p := own(t, twoNodes, quick("--drain.close_spread", "500ms", "--drain.timeout", "60s")...)
	const frames = 500
	user := someone()
	a := dial(t, p.url(0, user))
	a.say("t", object{"frames": frames, "interval_ms": 5}, object{"on_disconnect": "cancel"})
	s := p.events(t, 1, user, "t", "after=0", "", -1)
	all := s.until("chunk")
	a.ok("unfollow", object{"thread_id": "t"}) // the stream alone keeps the turn
	p.nodes[1].signal(syscall.SIGTERM)
	all = append(all, s.until("restart")...)
	if _, _, err := s.next(); !errors.Is(err, io.EOF) {
		t.Errorf("after restart: %v", err)
	}
	if s.events.Retry > time.Second {
		t.Errorf("retry %v", s.events.Retry)
	}
	rest := p.events(t, 0, user, "t", "after=0", s.events.LastEventID, -1)
	all = append(all, rest.until("turn_finished")...)
	if got := streamed(t, all); got != wire.DemoText(frames, 0) {
		t.Errorf("text of %d bytes, want %d", len(got), len(wire.DemoText(frames, 0)))
	}
	if code := p.nodes[1].exit(t); code != 0 {
		t.Errorf("the drained node exits with %d", code)
	}
}

func TestB80_AStreamGoesOnAfterItsNodeWasKilled(t *testing.T) {
	t.Parallel()
	p := own(t, twoNodes, quick()...)
	const frames = 300
	user := someone()
	a := dial(t, p.url(0, user))
	a.say("t", object{"frames": frames, "interval_ms": 5}, object{"on_disconnect": "preserve"})
	s := p.events(t, 1, user, "t", "after=0", "", -1)
	all := s.until("chunk")
	p.nodes[1].kill()
	for {
		e, f, err := s.next()
		if err != nil {
			break
		}
		if e.ID {
			all = append(all, f)
		}
	}
	rest := p.events(t, 0, user, "t", "after=0", s.events.LastEventID, -1)
	all = append(all, rest.until("turn_finished")...)
	if got := streamed(t, all); got != wire.DemoText(frames, 0) {
		t.Errorf("text of %d bytes, want %d", len(got), len(wire.DemoText(frames, 0)))
	}
}

// header reads up to the stream's header.
func (s *stream) header() wire.Object {
	s.t.Helper()
	for {
		_, f, err := s.next()
		if err != nil {
			s.t.Fatalf("no header: %v", err)
		}
		if f["type"] == "chat_resumed" {
			return f
		}
	}
}
