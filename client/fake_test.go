package client_test

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"reflect"
	"sync"
	"testing"
	"time"

	"turnlog/client"

	"github.com/coder/websocket"
)

const patience = 30 * time.Second // generous: the machine may be busy

type object = map[string]any

// fakeServer accepts connections and leaves the talking to the test.
type fakeServer struct {
	t     testing.TB
	url   string
	conns chan *fakeConn

	mu     sync.Mutex
	refuse func(w http.ResponseWriter, r *http.Request) bool // answers instead of an upgrade
}

// fakeConn is the server's side of one connection.
type fakeConn struct {
	t       testing.TB
	ws      *websocket.Conn
	request *http.Request
	in      chan object
	gone    chan struct{}
}

func newFakeServer(t testing.TB) *fakeServer {
	t.Helper()
	s := &fakeServer{t: t, conns: make(chan *fakeConn, 64)}
	srv := httptest.NewServer(http.HandlerFunc(s.serve))
	s.url = srv.URL
	t.Cleanup(srv.Close)
	return s
}

func (s *fakeServer) serve(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	refuse := s.refuse
	s.mu.Unlock()
	if refuse != nil && refuse(w, r) {
		return
	}
	ws, err := websocket.Accept(w, r, &websocket.AcceptOptions{Subprotocols: []string{"turnlog.v1"}})
	if err != nil {
		return
	}
	defer ws.CloseNow()
	ws.SetReadLimit(-1)
	c := &fakeConn{t: s.t, ws: ws, request: r, in: make(chan object, 1024), gone: make(chan struct{})}
	defer close(c.gone)
	c.send(object{"type": "welcome", "protocol": 1, "node": "n1"})
	s.conns <- c
	for {
		_, b, err := ws.Read(context.Background())
		if err != nil {
			return
		}
		var o object
		if json.Unmarshal(b, &o) == nil {
			c.in <- o
		}
	}
}

// next is the next connection of the client.
func (s *fakeServer) next() *fakeConn {
	s.t.Helper()
	return await(s.t, s.conns, "a connection")
}

func (c *fakeConn) send(frames ...object) {
	for _, f := range frames {
		b, err := json.Marshal(f)
		if err != nil {
			panic(err)
		}
		_ = c.ws.Write(context.Background(), websocket.MessageText, b)
	}
}

// recv is the client's next message, heartbeats left out.
func (c *fakeConn) recv() object {
	c.t.Helper()
	for {
		o := await(c.t, c.in, "a message of the client")
		if o["type"] == "ping" || o["type"] == "pong" {
			continue
		}
		return o
	}
}

// want receives the next message and checks the given keys of it.
func (c *fakeConn) want(keys object) object {
	c.t.Helper()
	got := c.recv()
	if !contains(got, keys) {
		c.t.Fatalf("client sent %v, want %v in it", got, keys)
	}
	return got
}

// quiet checks that nothing else was sent: the client answers pings in order, so
// what it sent before is there when the pong is.
func (c *fakeConn) quiet() {
	c.t.Helper()
	c.send(object{"type": "ping"})
	for {
		o := await(c.t, c.in, "a pong")
		if o["type"] == "pong" {
			return
		}
		if o["type"] != "ping" {
			c.t.Fatalf("client sent %v, want nothing", o)
		}
	}
}

// cut ends the connection without a goodbye.
func (c *fakeConn) cut() { _ = c.ws.CloseNow() }

// resume answers a resume_chat.
func (c *fakeConn) resume(request object, header object, frames ...object) {
	h := object{
		"type": "chat_resumed", "thread_id": data(request)["thread_id"], "status": "running", "last_seq": 0,
		"replay_count": len(frames), "replay_incomplete": false, "epoch": "e1", "first_seq": 0, "turn_id": "turn-1",
		"outcome": "", "on_disconnect": "grace",
	}
	for k, v := range header {
		h[k] = v
	}
	c.send(h)
	c.send(frames...)
	c.send(object{
		"message": "Chat resumed", "thread_id": h["thread_id"], "replay_count": h["replay_count"],
		"request_id": request["request_id"],
	})
}

// accept acknowledges a chat_message.
func (c *fakeConn) accept(request object, turn string, more object) {
	ack := object{
		"message": "Chat message processing started", "thread_id": data(request)["thread_id"], "turn_id": turn,
		"epoch": "e1", "on_disconnect": "grace", "request_id": request["request_id"],
	}
	for k, v := range more {
		ack[k] = v
	}
	c.send(ack)
}

func data(o object) object {
	d, _ := o["data"].(map[string]any)
	return d
}

func frame(typ string, seq int, more object) object {
	o := object{"type": typ, "thread_id": "t1", "turn_id": "turn-1"}
	if seq > 0 {
		o["chat_seq"] = seq
	}
	for k, v := range more {
		o[k] = v
	}
	return o
}

func started(seq int) object { return frame("turn_started", seq, object{"attempt": 1}) }

func chunk(seq int, s string) object { return frame("chunk", seq, object{"content": s}) }

func finished(seq int) object { return frame("turn_finished", seq, object{"outcome": "completed"}) }

func contains(got, want object) bool {
	for k, v := range want {
		if sub, ok := v.(object); ok {
			inner, _ := got[k].(map[string]any)
			if !contains(inner, sub) {
				return false
			}
			continue
		}
		if n, ok := v.(int); ok {
			v = float64(n)
		}
		if !reflect.DeepEqual(got[k], v) {
			return false
		}
	}
	return true
}

func await[T any](t testing.TB, ch <-chan T, what string) T {
	t.Helper()
	select {
	case v := <-ch:
		return v
	case <-time.After(patience):
		t.Fatalf("no %s within %v", what, patience)
		panic("unreachable")
	}
}

// events collects what a Handler is told.
type events struct {
	frames     chan client.Frame
	text       chan string
	reconciles chan client.Reconcile
	busy       chan bool
	requests   chan client.Request
	closed     chan string
	states     chan client.State
	resumed    chan client.Resumed
	errs       chan string
	finishes   chan client.Finish
}

func newEvents() (*events, client.Handler) {
	e := &events{
		frames: make(chan client.Frame, 4096), text: make(chan string, 4096), reconciles: make(chan client.Reconcile, 64),
		busy: make(chan bool, 64), requests: make(chan client.Request, 64), closed: make(chan string, 64),
		states: make(chan client.State, 4096), resumed: make(chan client.Resumed, 64), errs: make(chan string, 64),
		finishes: make(chan client.Finish, 64),
	}
	return e, client.Handler{
		OnFrame:         func(f client.Frame) { e.frames <- f },
		OnText:          func(_, s string) { e.text <- s },
		OnReconcile:     func(r client.Reconcile) { e.reconciles <- r },
		OnBusy:          func(_ string, b bool) { e.busy <- b },
		OnRequest:       func(r client.Request) { e.requests <- r },
		OnRequestClosed: func(_, id, reason string) { e.closed <- id + " " + reason },
		OnState:         func(s client.State) { e.states <- s },
		OnResumed:       func(r client.Resumed) { e.resumed <- r },
		OnError:         func(_, m, code string) { e.errs <- code },
		OnFinish:        func(f client.Finish) { e.finishes <- f },
	}
}

// start runs a client until the test ends.
func start(t testing.TB, url string, o client.Options) *client.Client {
	t.Helper()
	c, err := client.New(url, o)
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- c.Run(context.Background()) }()
	t.Cleanup(func() {
		_ = c.Close()
		if err := <-ended; err != nil {
			t.Errorf("run: %v", err)
		}
	})
	return c
}
