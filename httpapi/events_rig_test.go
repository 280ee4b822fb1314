package httpapi_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/redis/go-redis/v9"

	"turnlog/agent"
	"turnlog/agent/demo"
	"turnlog/embedded"
	"turnlog/eventlog"
	"turnlog/internal/redistest"
	"turnlog/internal/ssetest"
	"turnlog/session"
)

// patience is how long anything may take that should be quick.
const patience = 30 * time.Second

// eventNode is a whole node in this process.
type eventNode struct {
	*embedded.Node
	url   string
	drain func()
}

// eventNodes runs nodes on one Redis.
func eventNodes(t testing.TB, n int, options embedded.Options) []*eventNode {
	t.Helper()
	addr := redistest.Start(t)
	var nodes []*eventNode
	for range n {
		rdb := redis.NewClient(&redis.Options{Addr: addr})
		node, err := embedded.New(t.Context(), rdb, map[string]agent.Agent{"demo": demo.Agent{}}, options)
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(context.Background())
		var running sync.WaitGroup
		running.Go(func() {
			if err := node.Run(ctx); err != nil {
				t.Errorf("node: %v", err)
			}
		})
		server := httptest.NewUnstartedServer(node.Handler())
		server.Config.Protocols = new(http.Protocols)
		server.Config.Protocols.SetHTTP1(true)
		server.Config.Protocols.SetUnencryptedHTTP2(true)
		server.Start()
		var once sync.Once
		drain := func() { once.Do(func() { cancel(); running.Wait() }) }
		t.Cleanup(func() {
			drain()
			server.Close()
			rdb.Close()
		})
		select {
		case <-node.Ready():
		case <-time.After(patience):
			t.Fatal("the node is not ready")
		}
		nodes = append(nodes, &eventNode{Node: node, url: server.URL, drain: drain})
	}
	return nodes
}

// quick makes drains and graces short.
func quick() embedded.Options {
	return embedded.Options{Drain: embedded.Drain{Timeout: 300 * time.Millisecond, CloseSpread: 100 * time.Millisecond}}
}

// say submits a turn of the demo agent.
func (n *eventNode) say(t testing.TB, thread, script string, more ...func(*session.Submit)) eventlog.Admission {
	t.Helper()
	s := session.Submit{
		Thread: eventlog.Thread{User: "1", ID: thread}, Data: json.RawMessage(`{"content":"x","demo":` + script + `}`),
		Policy: eventlog.PolicyPreserve, Headless: true,
	}
	for _, change := range more {
		change(&s)
	}
	adm, err := n.Sessions().Submit(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	return adm
}

func policy(p eventlog.Policy) func(*session.Submit) {
	return func(s *session.Submit) { s.Policy, s.Headless = p, false }
}

func from(conn string) func(*session.Submit) { return func(s *session.Submit) { s.Conn = conn } }

// looked is where a thread is.
func (n *eventNode) looked(t testing.TB, thread string) eventlog.Snapshot {
	t.Helper()
	s, err := n.Log().Attach(t.Context(), eventlog.Attach{Thread: eventlog.Thread{User: "1", ID: thread}, PageFrames: 1})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// frames is what the log holds.
func (n *eventNode) frames(t testing.TB, thread string) []eventlog.StoredFrame {
	t.Helper()
	all, err := n.Log().Frames(t.Context(), eventlog.Thread{User: "1", ID: thread}, 0, 0, 1<<20, 0)
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// sse is one event stream and what came over it.
type sse struct {
	t      testing.TB
	body   io.ReadCloser
	r      *ssetest.Reader
	header http.Header
	conn   string // of the welcome
}

// get asks for a stream; the answer may be a refusal.
func get(t testing.TB, client *http.Client, url, resume string) *http.Response {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), "GET", url, nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Accept-Encoding", "gzip")
	if resume != "" {
		req.Header.Set("Last-Event-ID", resume)
	}
	resp, err := client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { resp.Body.Close() })
	return resp
}

// open opens a stream and reads its welcome. Each has a connection of its own.
func (n *eventNode) open(t testing.TB, thread, query, resume string) *sse {
	t.Helper()
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true, DisableCompression: true}}
	return opened(t, get(t, client, n.url+"/v1/threads/"+thread+"/events?"+query, resume), resume)
}

func opened(t testing.TB, resp *http.Response, resume string) *sse {
	t.Helper()
	if resp.StatusCode != http.StatusOK || resp.Header.Get("Content-Type") != "text/event-stream" {
		text, _ := io.ReadAll(resp.Body)
		t.Fatalf("no stream: %s %s", resp.Status, text)
	}
	for name, want := range map[string]string{"Cache-Control": "no-store", "X-Accel-Buffering": "no", "Content-Encoding": ""} {
		if got := resp.Header.Get(name); got != want {
			t.Errorf("%s: %q", name, got)
		}
	}
	s := &sse{t: t, body: resp.Body, r: ssetest.NewReader(bufio.NewReader(resp.Body), resume), header: resp.Header}
	e, f := s.next()
	if e.Type != "welcome" || s.r.Retry < 100*time.Millisecond || f["node"] == "" {
		t.Fatalf("first event %+v, retry %v", e, s.r.Retry)
	}
	s.conn = f["connection"].(string)
	if !strings.HasPrefix(s.conn, f["node"].(string)+".") {
		t.Fatalf("connection %q of %q", s.conn, f["node"])
	}
	return s
}

// next returns the next event that is no heartbeat.
func (s *sse) next() (ssetest.Event, map[string]any) {
	s.t.Helper()
	for {
		e, f, err := s.read()
		if err != nil {
			s.t.Fatalf("the stream ended: %v", err)
		}
		if e.Type != "ping" {
			return e, f
		}
	}
}

func (s *sse) read() (ssetest.Event, map[string]any, error) {
	s.t.Helper()
	guard := time.AfterFunc(patience, func() { s.body.Close() })
	defer guard.Stop()
	e, err := s.r.Next()
	if err != nil {
		return e, nil, err
	}
	f := map[string]any{}
	if err := json.Unmarshal([]byte(e.Data), &f); err != nil {
		s.t.Fatalf("event %+v: %v", e, err)
	}
	return e, f, nil
}

// headed reads a header.
func (s *sse) headed() map[string]any {
	s.t.Helper()
	e, f := s.next()
	if e.Type != "message" || e.ID || f["type"] != "chat_resumed" {
		s.t.Fatalf("want a header, got %+v", e)
	}
	return f
}

// until reads frames up to one of a type; numbers must rise by one and be the ids.
func (s *sse) until(typ string) []map[string]any {
	s.t.Helper()
	var all []map[string]any
	last := 0.0
	for {
		e, f := s.next()
		if seq, ok := f["chat_seq"].(float64); ok {
			if !e.ID || !strings.HasSuffix(e.LastEventID, fmt.Sprintf(":%.0f", seq)) || e.Type != "message" {
				s.t.Fatalf("event %+v", e)
			}
			if last > 0 && seq != last+1 {
				s.t.Fatalf("chat_seq %v after %v", seq, last)
			}
			last = seq
		} else if e.ID {
			s.t.Fatalf("an id without a number: %+v", e)
		} else if f["type"] == "chat_resumed" {
			last = 0
		}
		all = append(all, f)
		if f["type"] == typ {
			return all
		}
	}
}

// ends reads the event that ends the stream, and its end.
func (s *sse) ends(typ string) map[string]any {
	s.t.Helper()
	e, f := s.next()
	if e.Type != typ || e.ID || f["type"] != typ {
		s.t.Fatalf("want %s, got %+v", typ, e)
	}
	if e, _, err := s.read(); !errors.Is(err, io.EOF) {
		s.t.Fatalf("after %s: %+v, %v", typ, e, err)
	}
	return f
}

func (s *sse) close() { s.body.Close() }

// text joins the text of chunks.
func text(frames []map[string]any) string {
	var b strings.Builder
	for _, f := range frames {
		if c, ok := f["content"].(string); ok && f["type"] == "chunk" {
			b.WriteString(c)
		}
	}
	return b.String()
}

// chunks is what the demo agent says.
func chunks(n int) string {
	var b strings.Builder
	for i := 1; i <= n; i++ {
		fmt.Fprintf(&b, "%d: ", i)
	}
	return b.String()
}

// eventually waits for a condition.
func eventually(t testing.TB, what string, ok func() bool) {
	t.Helper()
	deadline := time.Now().Add(patience)
	for !ok() {
		if time.Now().After(deadline) {
			t.Fatalf("not in time: %s", what)
		}
		wait := time.NewTimer(5 * time.Millisecond)
		<-wait.C
	}
}

// socket is a WebSocket viewer.
type socket struct {
	t  testing.TB
	ws *websocket.Conn
}

func (n *eventNode) socket(t testing.TB) *socket {
	t.Helper()
	ws, resp, err := websocket.Dial(t.Context(), "ws"+strings.TrimPrefix(n.url, "http")+"/ws", nil)
	if err != nil {
		t.Fatal(err, resp)
	}
	ws.SetReadLimit(-1)
	t.Cleanup(func() { ws.CloseNow() })
	return &socket{t, ws}
}

func (s *socket) send(format string, args ...any) {
	s.t.Helper()
	if err := s.ws.Write(s.t.Context(), websocket.MessageText, fmt.Appendf(nil, format, args...)); err != nil {
		s.t.Fatal(err)
	}
}

// until reads messages up to one of a type, or with "" up to an acknowledgement.
func (s *socket) until(typ string) (raw []string, last map[string]any) {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(s.t.Context(), patience)
	defer cancel()
	for {
		_, b, err := s.ws.Read(ctx)
		if err != nil {
			s.t.Fatalf("no %s among %d messages: %v", typ, len(raw), err)
		}
		f := map[string]any{}
		if err := json.Unmarshal(b, &f); err != nil {
			s.t.Fatal(err)
		}
		raw = append(raw, string(b))
		if got, _ := f["type"].(string); got == typ {
			return raw, f
		}
	}
}

// cutConn ends a connection after a number of bytes.
type cutConn struct {
	net.Conn
	left int
}

var errCut = errors.New("cut")

func (c *cutConn) Read(b []byte) (int, error) {
	if c.left == 0 {
		c.Conn.Close()
		return 0, errCut
	}
	n, err := c.Conn.Read(b[:min(len(b), c.left)])
	c.left -= n
	return n, err
}
