package wsapi_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"

	"turnlog/identity"
	"turnlog/wsapi"
)

// gate is an Authenticator for tests.
type gate func(token string) (identity.Identity, error)

func (g gate) Authenticate(_ context.Context, r *http.Request) (identity.Identity, error) {
	return g(identity.Token(r))
}

func (g gate) Verify(_ context.Context, token string) (identity.Identity, error) { return g(token) }

func TestB101_HandshakesAreRefusedBeforeTheUpgrade(t *testing.T) {
	w := newWorld()
	_, url := serve(t, w, wsapi.Options{}, gate(func(token string) (identity.Identity, error) {
		switch token {
		case "good":
			return identity.Identity{User: "ann"}, nil
		case "other":
			return identity.Identity{}, fmt.Errorf("scope: %w", identity.ErrForbidden)
		case "later":
			return identity.Identity{}, errors.New("no keys")
		}
		return identity.Identity{}, identity.ErrUnauthorized
	}))
	status := func(url string, opts *websocket.DialOptions) int {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		ws, resp, err := websocket.Dial(ctx, url, opts)
		if err == nil {
			ws.CloseNow()
		}
		return resp.StatusCode
	}
	origin := &websocket.DialOptions{HTTPHeader: http.Header{"Origin": {"https://evil.example"}, "Authorization": {"Bearer good"}}}
	pair := &websocket.DialOptions{Subprotocols: []string{"turnlog.v1", "bearer.good"}}
	for name, got := range map[string][2]int{
		"none":      {status(url, nil), 401},
		"wrong":     {status(url, bearer("bad")), 401},
		"forbidden": {status(url, bearer("other")), 403},
		"not ready": {status(url, bearer("later")), 503},
		"origin":    {status(url, origin), 403},
		"header":    {status(url, bearer("good")), 101},
		"query":     {status(url+"?token=good", nil), 101},
		"api key":   {status(url+"?api_key=good", nil), 101},
		"protocols": {status(url, pair), 101},
	} {
		if got[0] != got[1] {
			t.Errorf("%s: %d, want %d", name, got[0], got[1])
		}
	}
	if ws := dialRaw(t, url, pair).ws; ws.Subprotocol() != "turnlog.v1" {
		t.Errorf("negotiated %q", ws.Subprotocol())
	}
	w.mu.Lock()
	w.draining = true
	w.mu.Unlock()
	if got := status(url, bearer("good")); got != 503 {
		t.Errorf("draining: %d", got)
	}
}

func TestB101_ExpiryCloses4001OrForOldClients1012(t *testing.T) {
	w := newWorld()
	soon := gate(func(string) (identity.Identity, error) {
		return identity.Identity{User: "ann", Expires: time.Now().Add(20 * time.Millisecond)}, nil
	})
	_, url := serve(t, w, wsapi.Options{PingEvery: 40 * time.Millisecond}, soon)
	p := dialRaw(t, url, &websocket.DialOptions{Subprotocols: []string{"turnlog.v1"}})
	old := dialRaw(t, url, nil)
	if code := p.closed(); code != 4001 {
		t.Errorf("closed with %d", code)
	}
	if code := old.closed(); code != websocket.StatusServiceRestart {
		t.Errorf("old client closed with %d", code)
	}
}

func TestB104_AFloodCloses1008(t *testing.T) {
	w := newWorld()
	_, url := serve(t, w, wsapi.Options{MessagesPerSecond: 1, MessageBurst: 10}, nil)
	p := dial(t, url)
	for range 11 {
		p.send(`{"type":"pong"}`)
	}
	if code := p.closed(); code != websocket.StatusPolicyViolation {
		t.Fatalf("closed with %d", code)
	}
}

func TestB104_AnOversizedMessageCloses1009(t *testing.T) {
	w := newWorld()
	_, url := serve(t, w, wsapi.Options{InboundBytes: 4096}, nil)
	p := dial(t, url)
	p.send(`{"type":"ping","ts":"%s"}`, strings.Repeat("x", 4096-len(`{"type":"ping","ts":""}`)))
	p.next()
	p.send(`{"type":"ping","ts":"%s"}`, strings.Repeat("x", 100000))
	if code := p.closed(); code != websocket.StatusMessageTooBig {
		t.Fatalf("closed with %d", code)
	}
}

func TestPingsAreVisibleAndASilentPeerIsClosed(t *testing.T) {
	w := newWorld()
	_, url := serve(t, w, wsapi.Options{PingEvery: 20 * time.Millisecond, SilenceLimit: 300 * time.Millisecond}, nil)
	p := dial(t, url)
	for range 20 { // longer than the limit, but not silent
		if f := p.next(); f["type"] != "ping" || f["ts"] == nil {
			t.Fatalf("got %v", f)
		}
		p.send(`{"type":"pong"}`)
	}
	if code := p.closed(); code != 4008 {
		t.Fatalf("closed with %d", code)
	}
}

func TestB20_AClientThatDoesNotReadIsClosedAndHurtsNobody(t *testing.T) {
	w := newWorld()
	_, url := serve(t, w, wsapi.Options{StallLimit: 200 * time.Millisecond}, nil)
	w.begin("1", "t", "T")
	wedged, good := follow(t, url), follow(t, url)
	big := fmt.Sprintf(`{"type":"chunk","content":%q}`, strings.Repeat("x", 1<<16))
	for i := range 400 { // 26 MB: more than the buffers between the two hold
		w.emit("1", "t", big)
		if f := good.next(); f["chat_seq"] != float64(i+2) {
			t.Fatalf("got %v", f["chat_seq"])
		}
	}
	eventually(t, "the wedged one is gone", func() bool {
		w.mu.Lock()
		defer w.mu.Unlock()
		return len(w.left) == 1 && w.left[0].byServer
	})
	if code := wedged.closed(); code != 4008 && code != -1 { // -1: cut off in the middle of a message
		t.Fatalf("closed with %d", code)
	}
	good.settle()
}

func TestB104_RepliesThatAreNotReadStopTheReading(t *testing.T) {
	w := newWorld()
	_, url := serve(t, w, wsapi.Options{MessagesPerSecond: 1e9, MessageBurst: 1 << 30, StallLimit: 300 * time.Millisecond}, nil)
	p := dial(t, url)
	ping := []byte(fmt.Sprintf(`{"type":"ping","ts":%q}`, strings.Repeat("x", 1000)))
	sent := make(chan error, 1)
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	go func() {
		for {
			if err := p.ws.Write(ctx, websocket.MessageText, ping); err != nil {
				sent <- err
				return
			}
		}
	}()
	if err := <-sent; ctx.Err() != nil {
		t.Fatalf("the connection was kept: %v", err)
	}
}

func TestB87_ShutdownCloses1012IdleOnesFirst(t *testing.T) {
	w := newWorld()
	s, url := serve(t, w, wsapi.Options{}, nil)
	w.begin("1", "t", "T")
	busy := follow(t, url)
	idle := dial(t, url)
	codes := make(chan string, 2)
	for name, p := range map[string]*peer{"busy": busy, "idle": idle} {
		go func() { codes <- fmt.Sprint(name, " ", int(p.closed())) }()
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if err := s.Shutdown(ctx, 300*time.Millisecond); err != nil {
		t.Fatal(err)
	}
	if first, second := <-codes, <-codes; first != "idle 1012" || second != "busy 1012" {
		t.Fatalf("%s, then %s", first, second)
	}
	if n := s.Connections(); n != 0 {
		t.Fatalf("%d connections left", n)
	}
	if !w.left[0].byServer {
		t.Fatal("the thread was told that the client left")
	}
}

func TestOptionsThatMakeNoSenseAreRefused(t *testing.T) {
	w := newWorld()
	for _, opts := range []wsapi.Options{
		{InboundBytes: 1}, {ThreadsPerConnection: -1}, {MessagesPerSecond: -1}, {StallLimit: -1},
		{PingEvery: time.Minute, SilenceLimit: time.Second},
	} {
		if _, err := wsapi.New(w, w, w, identity.NoAuth{}, opts); err == nil {
			t.Errorf("%+v accepted", opts)
		}
	}
}
