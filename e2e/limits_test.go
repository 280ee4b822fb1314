package e2e_test

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"

	"turnlog/e2e/wire"
)

// counter reads one counter of a node.
func (n *node) counter(t testing.TB, series string) string {
	t.Helper()
	resp, err := http.Get("http://" + n.addr + "/metrics")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	page, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(page)) {
		if value, ok := strings.CutPrefix(line, series+" "); ok {
			return strings.TrimSpace(value)
		}
	}
	return "none"
}

// refusedCall makes a request and returns its status and the code of its problem.
func refusedCall(t testing.TB, r *http.Request) (*http.Response, string) {
	t.Helper()
	resp, err := http.DefaultTransport.RoundTrip(r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	var problem struct{ Code string }
	if resp.Header.Get("Content-Type") == "application/problem+json" {
		if err := json.NewDecoder(resp.Body).Decode(&problem); err != nil {
			t.Fatal(err)
		}
	}
	return resp, problem.Code
}

func TestB104_EachLimitHasItsCodeAndItsCounter(t *testing.T) {
	t.Parallel()
	p := own(t, embedded, "--limits.connections", "4", "--limits.connections_per_user", "3", "--limits.commands_per_second", "1",
		"--limits.inbound_bytes", "8KiB", "--limits.frame_bytes", "8KiB", "--http.origins", "https://app.example.com")
	n := p.nodes[0]
	socket := func(user string) *wire.Conn {
		t.Helper()
		c, err := wire.Dial(context.Background(), n.url(user, ""), wire.Options{})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(c.Cut)
		return c
	}
	get := func(path string, header ...string) *http.Request {
		r, err := http.NewRequest(http.MethodGet, "http://"+n.addr+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		for i := 0; i < len(header); i += 2 {
			r.Header.Set(header[i], header[i+1])
		}
		return r
	}
	upgrade := []string{"Connection", "Upgrade", "Upgrade", "websocket", "Sec-WebSocket-Version", "13", "Sec-WebSocket-Key", "dGhlIHNhbXBsZSBub25jZQ=="}
	want := func(r *http.Request, status int, code string) {
		t.Helper()
		resp, got := refusedCall(t, r)
		if resp.StatusCode != status || got != code || resp.Header.Get("X-Request-Id") == "" {
			t.Errorf("%s %s: %d %s, want %d %s", r.Method, r.URL.Path, resp.StatusCode, got, status, code)
		}
		if status == 429 || status == 503 {
			if resp.Header.Get("Retry-After") == "" {
				t.Errorf("%s: no Retry-After", code)
			}
		}
	}

	c := socket("ann")
	socket("ann")
	large := socket("ann")
	want(get("/ws?user=ann", upgrade...), 429, "too_many_connections_of_user")
	socket("bob")
	want(get("/ws?user=cid", upgrade...), 503, "too_many_connections")
	want(get("/ws?user=cid", append(upgrade, "Origin", "https://evil.example")...), 403, "origin_not_allowed")
	want(get("/v1/turns", "Origin", "https://evil.example"), 403, "origin_not_allowed")
	rebound := get("/v1/turns")
	rebound.Host = "evil.example"
	want(rebound, 421, "host_not_allowed")

	for range 2 { // the burst
		if m, err := c.Do("list_chat_turns", nil); err != nil || m.Object["error"] != nil {
			t.Fatal(m, err)
		}
	}
	m, err := c.Do("list_chat_turns", nil)
	if err != nil || m.Object["code"] != "rate_limited" || m.Object["retryable"] != true {
		t.Fatal(m, err)
	}
	want(get("/v1/turns?user=ann"), 429, "rate_limited")

	_ = large.SendRaw(websocket.MessageText, make([]byte, 10<<10))
	select {
	case <-large.Done():
	case <-time.After(patience):
		t.Fatal("an oversized message did not end the socket")
	}
	// However slowly this machine sends, it sends faster than is allowed for ever.
	for begin := time.Now(); c.SendRaw(websocket.MessageText, []byte(`{"type":"pong"}`)) == nil; {
		if time.Since(begin) > patience {
			t.Fatal("a flood did not end the socket")
		}
	}
	select {
	case <-c.Done():
	case <-time.After(patience):
		t.Fatal("a socket without an end")
	}
	if c.CloseCode() != 1008 || large.CloseCode() != 1009 {
		t.Errorf("closed with %d and %d", c.CloseCode(), large.CloseCode())
	}
	for code, times := range map[string]string{
		"too_many_connections_of_user": "1", "too_many_connections": "1", "origin_not_allowed": "2", "host_not_allowed": "1",
		"rate_limited": "2", "too_large": "1", "flood": "1",
	} {
		if got := n.counter(t, `turnlog_refusals_total{code="`+code+`"}`); got != times {
			t.Errorf("%s was counted %s times, want %s", code, got, times)
		}
	}
	if fresh := socket("ann"); fresh.Send(object{"type": "ping"}) != nil { // their connections were given back
		t.Error("no socket after the others ended")
	}
}
