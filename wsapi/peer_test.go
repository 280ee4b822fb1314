package wsapi_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"
	"go.uber.org/goleak"

	"turnlog/identity"
	"turnlog/wsapi"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const patience = 10 * time.Second

// serve runs a server over the world and returns its ws:// address.
func serve(t testing.TB, w *world, opts wsapi.Options, auth wsapi.Authenticator) (*wsapi.Server, string) {
	t.Helper()
	if auth == nil {
		auth = identity.NoAuth{}
	}
	s, err := wsapi.New(w, w, w, auth, opts)
	if err != nil {
		t.Fatal(err)
	}
	return s, listen(t, s)
}

func listen(t testing.TB, s *wsapi.Server) string {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- s.Run(ctx) }()
	ts := httptest.NewServer(s)
	t.Cleanup(func() {
		gone, stop := context.WithTimeout(context.Background(), time.Second)
		defer stop()
		_ = s.Shutdown(gone, 0)
		ts.Close()
		cancel()
		<-done
	})
	return "ws" + strings.TrimPrefix(ts.URL, "http")
}

// peer is a client on one socket. It expects single JSON frames.
type peer struct {
	t  testing.TB
	ws *websocket.Conn
}

// dial connects and reads the welcome.
func dial(t testing.TB, url string) *peer {
	t.Helper()
	p := dialRaw(t, url, nil)
	if f := p.next(); f["type"] != "welcome" || f["protocol"] != 1.0 || f["node"] == "" {
		t.Fatalf("first frame %v, want the welcome", f)
	}
	return p
}

func dialRaw(t testing.TB, url string, opts *websocket.DialOptions) *peer {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	ws, _, err := websocket.Dial(ctx, url, opts)
	if err != nil {
		t.Fatal(err)
	}
	ws.SetReadLimit(64 << 20)
	t.Cleanup(func() { ws.CloseNow() })
	return &peer{t, ws}
}

func (p *peer) send(format string, args ...any) {
	p.t.Helper()
	if len(args) > 0 {
		format = fmt.Sprintf(format, args...)
	}
	p.write(websocket.MessageText, []byte(format))
}

func (p *peer) write(typ websocket.MessageType, b []byte) {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if err := p.ws.Write(ctx, typ, b); err != nil {
		p.t.Fatalf("send %.80s: %v", b, err)
	}
}

// raw reads one message.
func (p *peer) raw() (websocket.MessageType, []byte, error) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	return p.ws.Read(ctx)
}

// text reads one JSON frame as text.
func (p *peer) text() string {
	p.t.Helper()
	typ, b, err := p.raw()
	if err != nil || typ != websocket.MessageText {
		p.t.Fatalf("read: %v %v", typ, err)
	}
	return string(b)
}

func (p *peer) next() map[string]any {
	p.t.Helper()
	return parse(p.t, p.text())
}

func parse(t testing.TB, text string) map[string]any {
	t.Helper()
	var f map[string]any
	if err := json.Unmarshal([]byte(text), &f); err != nil {
		t.Fatalf("frame %s: %v", text, err)
	}
	return f
}

// want reads frames and compares each with the given JSON, key by key.
func (p *peer) want(frames ...string) {
	p.t.Helper()
	for i, want := range frames {
		if got := p.text(); !sameJSON(got, want) {
			p.t.Fatalf("frame %d:\n got %s\nwant %s", i+1, got, want)
		}
	}
}

func sameJSON(a, b string) bool {
	var x, y any
	if json.Unmarshal([]byte(a), &x) != nil || json.Unmarshal([]byte(b), &y) != nil {
		return false
	}
	m, _ := json.Marshal(x)
	n, _ := json.Marshal(y)
	return bytes.Equal(m, n)
}

// settle makes sure that nothing else was on its way: a ping's pong comes next.
func (p *peer) settle() {
	p.t.Helper()
	p.send(`{"type":"ping","ts":"settle"}`)
	p.want(`{"type":"pong","ts":"settle"}`)
}

// closed reads until the server closes and returns its code.
func (p *peer) closed() websocket.StatusCode {
	p.t.Helper()
	for {
		_, _, err := p.raw()
		if errors.Is(err, context.DeadlineExceeded) {
			p.t.Fatal("the connection was not closed in time")
		}
		if err != nil {
			return websocket.CloseStatus(err)
		}
	}
}

// eventually waits for a condition.
func eventually(t testing.TB, what string, ok func() bool) {
	t.Helper()
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	deadline := time.NewTimer(patience)
	defer deadline.Stop()
	for !ok() {
		select {
		case <-deadline.C:
			t.Fatalf("not in time: %s", what)
		case <-tick.C:
		}
	}
}

func bearer(token string) *websocket.DialOptions {
	return &websocket.DialOptions{HTTPHeader: http.Header{"Authorization": {"Bearer " + token}}}
}
