package wsapi_test

import (
	"bufio"
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/coder/websocket"

	"turnlog/identity"
	"turnlog/limit"
	"turnlog/wsapi"
)

// refusalCount counts what was refused.
type refusalCount struct {
	wsapi.Metrics
	mu    sync.Mutex
	codes map[string]int
}

func counting() *refusalCount { return &refusalCount{codes: make(map[string]int)} }

func (c *refusalCount) Connected()       {}
func (c *refusalCount) Disconnected(int) {}
func (c *refusalCount) Sent(int, int)    {}
func (c *refusalCount) Received(int)     {}
func (c *refusalCount) Replayed(string)  {}
func (c *refusalCount) Refused(code string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.codes[code]++
}

func (c *refusalCount) want(t testing.TB, code string, n int) {
	t.Helper()
	eventually(t, fmt.Sprintf("%d refusals %s", n, code), func() bool {
		c.mu.Lock()
		defer c.mu.Unlock()
		return c.codes[code] == n
	})
}

func limited(t testing.TB, o limit.Options) *limit.Users {
	t.Helper()
	u, err := limit.New(o)
	if err != nil {
		t.Fatal(err)
	}
	return u
}

// handshake tries to connect and returns the answer, with its problem when it was refused.
func handshake(t testing.TB, url string, header http.Header) (*http.Response, map[string]any) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	ws, resp, err := websocket.Dial(ctx, url, &websocket.DialOptions{HTTPHeader: header})
	if err == nil {
		t.Cleanup(func() { ws.CloseNow() })
		return resp, nil
	}
	if resp == nil {
		t.Fatal(err)
	}
	var problem map[string]any
	if kind := resp.Header.Get("Content-Type"); kind == "application/problem+json" {
		if err := json.NewDecoder(resp.Body).Decode(&problem); err != nil {
			t.Fatal(err)
		}
	}
	return resp, problem
}

func TestB104_ConnectionsAreRefusedBeforeTheUpgrade(t *testing.T) {
	seen, users := counting(), limited(t, limit.Options{Connections: 3, ConnectionsPerUser: 2})
	_, url := serve(t, newWorld(), wsapi.Options{Limits: users, Metrics: seen}, identity.NoAuth{})
	refused := func(query string, status int, code string) {
		t.Helper()
		resp, problem := handshake(t, url+query, nil)
		if resp.StatusCode != status || problem["code"] != code || problem["retryable"] != true || resp.Header.Get("Retry-After") == "" {
			t.Fatalf("%s: %d %v %v, want %d %s", query, resp.StatusCode, problem, resp.Header, status, code)
		}
	}
	first := dial(t, url+"?user=ann")
	dial(t, url+"?user=ann")
	refused("?user=ann", 429, "too_many_connections_of_user")
	dial(t, url+"?user=bob")
	refused("?user=cid", 503, "too_many_connections")
	seen.want(t, "too_many_connections_of_user", 1)
	seen.want(t, "too_many_connections", 1)
	first.ws.CloseNow()
	eventually(t, "the connection is given back", func() bool { return users.Connections() == 2 })
	dial(t, url+"?user=ann")
}

func TestB104_AHandshakeThatIsNoWebSocketTakesNoConnection(t *testing.T) {
	users := limited(t, limit.Options{})
	_, url := serve(t, newWorld(), wsapi.Options{Limits: users}, identity.NoAuth{})
	resp, err := http.Get("http" + strings.TrimPrefix(url, "ws"))
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if resp.StatusCode != http.StatusUpgradeRequired || users.Connections() != 0 {
		t.Fatalf("%d, %d connections counted", resp.StatusCode, users.Connections())
	}
}

func TestB104_CommandsBeyondTheUsersRateAreRefusedAndTheSocketLives(t *testing.T) {
	seen := counting()
	users := limited(t, limit.Options{CommandsPerSecond: 0.001, Burst: 3})
	_, url := serve(t, newWorld(), wsapi.Options{Limits: users, Metrics: seen}, identity.NoAuth{})
	p, q := dial(t, url+"?user=ann"), dial(t, url+"?user=ann")
	list := `{"command":"list_chat_turns","request_id":"r"}`
	listed := `{"message":"Chat turns listed","count":0,"request_id":"r"}`
	for _, conn := range []*peer{p, q, p} { // across connections
		conn.send(list)
		conn.want(listed)
	}
	q.send(list)
	q.want(`{"error":"rate_limited","code":"rate_limited","message":"too many commands, slow down","retryable":true,"request_id":"r"}`)
	q.send(`{"command":"chat_message","data":{"thread_id":"t","content":"x"}}`)
	q.want(`{"error":"rate_limited","code":"rate_limited","message":"too many commands, slow down","thread_id":"t","retryable":true}`,
		`{"type":"error","message":"too many commands, slow down","code":"rate_limited","thread_id":"t","retryable":true}`)
	p.send(`{"command":"nonsense"}`)
	p.want(`{"error":"Unknown command"}`) // the table's order stays
	p.send(`{"type":"tool_result","tool_call_id":"c","ok":true,"result":1}`)
	p.want(`{"type":"error","message":"too many commands, slow down","code":"rate_limited","request_id":"c","retryable":true}`)
	p.settle()
	q.settle()
	seen.want(t, "rate_limited", 3)
	other := dial(t, url+"?user=bob")
	other.send(list)
	other.want(listed)
}

// upgraded is a socket after the handshake, to send frames as no library does.
func upgraded(t testing.TB, url string) (net.Conn, *bufio.Reader) {
	t.Helper()
	address := strings.TrimPrefix(url, "ws://")
	conn, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	_ = conn.SetDeadline(time.Now().Add(patience))
	fmt.Fprintf(conn, "GET / HTTP/1.1\r\nHost: %s\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"+
		"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n", address)
	r := bufio.NewReader(conn)
	resp, err := http.ReadResponse(r, nil)
	if err != nil || resp.StatusCode != http.StatusSwitchingProtocols {
		t.Fatalf("%v %v", resp, err)
	}
	return conn, r
}

// closeFrame reads frames until the server's close frame.
func closeFrame(t testing.TB, r *bufio.Reader) (code int, reason string) {
	t.Helper()
	for {
		var head [2]byte
		if _, err := readFull(r, head[:]); err != nil {
			t.Fatalf("no close frame: %v", err)
		}
		n := int(head[1] & 0x7f)
		if n == 126 {
			var long [2]byte
			if _, err := readFull(r, long[:]); err != nil {
				t.Fatal(err)
			}
			n = int(binary.BigEndian.Uint16(long[:]))
		}
		payload := make([]byte, n)
		if _, err := readFull(r, payload); err != nil {
			t.Fatal(err)
		}
		if head[0]&0x0f == 8 {
			return int(binary.BigEndian.Uint16(payload)), string(payload[2:])
		}
	}
}

func readFull(r *bufio.Reader, p []byte) (int, error) {
	for n := 0; n < len(p); {
		m, err := r.Read(p[n:])
		if n += m; err != nil {
			return n, err
		}
	}
	return len(p), nil
}

func TestB104_AMessageThatTricklesInCloses4008(t *testing.T) {
	for name, sends := range map[string]struct{ first, then []byte }{
		"a long frame": {[]byte{0x81, 0xfe, 0x10, 0x00, 0, 0, 0, 0}, []byte{'x'}}, // of 4096 bytes, masked with zeros
		"fragments":    {[]byte{0x01, 0x81, 0, 0, 0, 0, '{'}, []byte{0x00, 0x81, 0, 0, 0, 0, 'x'}},
		"empty ones":   {[]byte{0x01, 0x80, 0, 0, 0, 0}, []byte{0x00, 0x80, 0, 0, 0, 0}},
	} {
		t.Run(name, func(t *testing.T) {
			seen := counting()
			_, url := serve(t, newWorld(), wsapi.Options{MessageLimit: 100 * time.Millisecond, Metrics: seen}, identity.NoAuth{})
			conn, r := upgraded(t, url)
			if _, err := conn.Write(sends.first); err != nil {
				t.Fatal(err)
			}
			done := make(chan struct{})
			var trickle sync.WaitGroup
			defer trickle.Wait()
			defer close(done)
			trickle.Go(func() { // it is never silent
				tick := time.NewTicker(10 * time.Millisecond)
				defer tick.Stop()
				for {
					select {
					case <-done:
						return
					case <-tick.C:
						_, _ = conn.Write(sends.then)
					}
				}
			})
			if code, reason := closeFrame(t, r); code != 4008 || reason != "a message took too long to arrive, resume" {
				t.Fatalf("closed with %d %q", code, reason)
			}
			seen.want(t, "slow_sender", 1)
		})
	}
}

func TestB104_ALargeMessageOnASlowLineIsTaken(t *testing.T) {
	_, url := serve(t, newWorld(), wsapi.Options{MessageLimit: 50 * time.Millisecond}, identity.NoAuth{})
	p := dial(t, url)
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	w, err := p.ws.Writer(ctx, websocket.MessageText)
	if err != nil {
		t.Fatal(err)
	}
	fmt.Fprint(w, `{"type":"ping","ts":1,"filler":"`)
	tick := time.NewTicker(25 * time.Millisecond)
	defer tick.Stop()
	for range 16 { // 400 ms, eight times the limit, at 160 KiB/s
		<-tick.C
		if _, err := w.Write([]byte(strings.Repeat("x", 4<<10))); err != nil {
			t.Fatal(err)
		}
	}
	fmt.Fprint(w, `"}`)
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	p.want(`{"type":"pong","ts":1}`)
}

func TestB104_AFloodOfProtocolPingsCloses1008(t *testing.T) {
	seen := counting()
	_, url := serve(t, newWorld(), wsapi.Options{MessagesPerSecond: 1, MessageBurst: 10, Metrics: seen}, identity.NoAuth{})
	conn, r := upgraded(t, url)
	if _, err := conn.Write([]byte(strings.Repeat("\x89\x80\x00\x00\x00\x00", 12))); err != nil {
		t.Fatal(err)
	}
	if code, _ := closeFrame(t, r); code != 1008 {
		t.Fatalf("closed with %d", code)
	}
	seen.want(t, "flood", 1)
}

func TestB104_FloodsAndOversizedMessagesAreCounted(t *testing.T) {
	seen := counting()
	_, url := serve(t, newWorld(), wsapi.Options{MessagesPerSecond: 1, MessageBurst: 3, InboundBytes: 4096, Metrics: seen}, identity.NoAuth{})
	p := dial(t, url)
	p.send(`{"type":"ping","ts":"%s"}`, strings.Repeat("x", 100000))
	if code := p.closed(); code != websocket.StatusMessageTooBig {
		t.Fatalf("closed with %d", code)
	}
	seen.want(t, "too_large", 1)
	q := dial(t, url)
	for range 4 {
		q.send(`{"type":"pong"}`)
	}
	if code := q.closed(); code != websocket.StatusPolicyViolation {
		t.Fatalf("closed with %d", code)
	}
	seen.want(t, "flood", 1)
}

func TestB102_AnOriginThatIsNotAllowedIs403WithACode(t *testing.T) {
	seen := counting()
	_, url := serve(t, newWorld(), wsapi.Options{Metrics: seen}, identity.NoAuth{})
	resp, problem := handshake(t, url, http.Header{"Origin": {"https://evil.example"}})
	if resp.StatusCode != 403 || problem["code"] != "origin_not_allowed" || problem["retryable"] != false {
		t.Fatalf("%d %v", resp.StatusCode, problem)
	}
	seen.want(t, "origin_not_allowed", 1)
	if resp, _ := handshake(t, url, http.Header{"Origin": {"http" + strings.TrimPrefix(url, "ws")}}); resp.StatusCode != 101 {
		t.Fatalf("the same host's page: %d", resp.StatusCode)
	}
}
