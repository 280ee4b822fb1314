package e2e_test

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"

	"turnlog/e2e/wire"
)

// token signs claims for the node of these tests.
func token(t testing.TB, secret string, claims object) string {
	t.Helper()
	body, err := json.Marshal(claims)
	if err != nil {
		t.Fatal(err)
	}
	encode := base64.RawURLEncoding.EncodeToString
	signed := encode([]byte(`{"alg":"HS256","typ":"JWT"}`)) + "." + encode(body)
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write([]byte(signed))
	return signed + "." + encode(mac.Sum(nil))
}

// What must not be found in a log. Contents may be there at debug, tokens never.
const (
	saidMark   = "c0ntent-of-a-message"
	resultMark = "c0ntent-of-a-result"
	steerMark  = "c0ntent-of-a-steer"
	brokenMark = "c0ntent-of-a-broken-frame"
	titleMark  = "c0ntent-of-a-title"
	agentMark  = "c0ntent-of-an-agents-mouth"
	badToken   = "t0ken-that-is-no-token"
	hookToken  = "t0ken-of-the-webhook"
	jwtSecret  = "t0ken-signing-secret-of-32-bytes-and-more"
	redisPass  = "t0ken-for-redis"
)

var contents = []string{saidMark, resultMark, steerMark, brokenMark, titleMark, agentMark}

func TestB109_TokensAndContentsAreNotLogged(t *testing.T) {
	t.Parallel()
	for _, level := range []string{"info", "debug"} {
		for _, format := range []string{"text", "json"} {
			t.Run(level+" "+format, func(t *testing.T) {
				t.Parallel()
				watchLog(t, level, format)
			})
		}
	}
}

func watchLog(t *testing.T, level, format string) {
	config := write(t, "turnlog.yaml", fmt.Sprintf(`
log: {level: %s, format: %s}
drain: {close_spread: 0s}
auth: {mode: jwt, secret: %q}
limits: {inbound_bytes: 8KiB, frame_bytes: 8KiB}
agents:
  - {name: demo, type: demo}
  - {name: fails, type: command, command: [sh, -c, 'cat; cat >&2 <<< x; echo %s >&2; echo %s; exit 3']}
  - {name: hook, type: webhook, url: "http://127.0.0.1:1/turn?key=%s", retries: 1}
`, level, format, jwtSecret, agentMark, agentMark, hookToken), 0o600)
	p, err := spawn(nil, binary(), "serve", "--config", config, "--listen", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer p.kill()
	found, err := p.stderr.Await(patience, regexp.MustCompile(`listening"?,?.*?addr"?[=:]"?([0-9.:]+)`))
	if err != nil {
		t.Fatal(err)
	}
	addr := found[1]

	good := token(t, jwtSecret, object{"sub": "ann", "exp": time.Now().Add(time.Hour).Unix()})
	stale := token(t, jwtSecret, object{"sub": "ann", "exp": time.Now().Add(-time.Hour).Unix()})
	forged := token(t, "another secret of thirty-two bytes", object{"sub": "ann", "exp": time.Now().Add(time.Hour).Unix()})
	tokens := []string{good, stale, forged, badToken}

	knock(t, addr, tokens)
	converse(t, addr, good, tokens)

	p.signal(15)
	p.exit(t)
	output := p.stderr.String() + p.stdout.String()
	hidden := append([]string{hookToken, jwtSecret}, tokens...)
	for _, whole := range tokens { // and no part that is worth anything
		if parts := strings.Split(whole, "."); len(parts) == 3 {
			hidden = append(hidden, parts[1], parts[2])
		}
	}
	if level != "debug" {
		hidden = append(hidden, contents...)
	}
	for _, secret := range hidden {
		if at := strings.Index(output, secret); at >= 0 {
			start := strings.LastIndexByte(output[:at], '\n') + 1
			line, _, _ := strings.Cut(output[start:], "\n")
			t.Errorf("%q is in the log: %s", secret, line)
		}
	}
	for _, sign := range []string{"request refused", "agent panicked", "webhook failed", "agent wrote to stderr"} {
		if !strings.Contains(output, sign) {
			t.Errorf("the log has no %q, so this test looked at nothing:\n%s", sign, tail(output, 4000))
		}
	}
}

// knock shows each token in each way at each door.
func knock(t *testing.T, addr string, tokens []string) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	for _, tok := range tokens {
		for _, path := range []string{"/ws", "/v1/turns", "/v1/threads/t/events", "/nowhere/" + tok, "/metrics"} {
			for way, dress := range map[string]func(*http.Request){
				"header":    func(r *http.Request) { r.Header.Set("Authorization", "Bearer "+tok) },
				"basic":     func(r *http.Request) { r.SetBasicAuth("ann", tok) },
				"token":     func(r *http.Request) { r.URL.RawQuery = "token=" + tok },
				"api_key":   func(r *http.Request) { r.URL.RawQuery = "encoding=wrong&api_key=" + tok },
				"protocol":  func(r *http.Request) { r.Header.Set("Sec-WebSocket-Protocol", "turnlog.v1, bearer."+tok) },
				"method":    func(r *http.Request) { r.Method = strings.ReplaceAll(tok, ".", "") },
				"id":        func(r *http.Request) { r.Header.Set("X-Request-Id", "Bearer "+tok) },
				"origin":    func(r *http.Request) { r.Header.Set("Origin", "https://"+tok+".example") },
				"host":      func(r *http.Request) { r.Host = strings.ReplaceAll(tok, "_", "-") + ".example" },
				"forwarded": func(r *http.Request) { r.Header.Set("X-Forwarded-For", tok) },
				"length":    func(r *http.Request) { r.Header.Set("Expect", tok) },
			} {
				short, stop := context.WithTimeout(ctx, 2*time.Second) // event streams do not end by themselves
				r, err := http.NewRequestWithContext(short, http.MethodGet, "http://"+addr+path, nil)
				if err != nil {
					t.Fatal(way, err)
				}
				dress(r)
				if resp, err := http.DefaultTransport.RoundTrip(r); err == nil {
					if resp.Header.Get("Content-Type") != "text/event-stream" {
						_, _ = io.Copy(io.Discard, resp.Body)
					}
					_ = resp.Body.Close()
				}
				stop()
			}
		}
	}
}

// converse says secrets in everything that a client can send.
func converse(t *testing.T, addr, good string, tokens []string) {
	dialed := func(o wire.Options, query string) *wire.Conn {
		t.Helper()
		c, err := wire.Dial(context.Background(), "ws://"+addr+"/ws"+query, o)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(c.Cut)
		return c
	}
	c := dialed(wire.Options{Header: http.Header{"Authorization": {"Bearer " + good}}}, "")
	dialed(wire.Options{}, "?token="+good)
	dialed(wire.Options{Protocols: []string{"turnlog.v1", "bearer." + good}}, "")

	finished := func(thread string, data object) {
		t.Helper()
		from := c.Mark()
		data["thread_id"], data["content"] = thread, saidMark
		if _, err := c.Command("chat_message", data); err != nil {
			t.Fatal(err)
		}
		for {
			at, m, err := c.Await(from, patience, func(m wire.Message) bool {
				return m.Thread == thread && (m.Type == "turn_finished" || m.Type == "tool_call")
			})
			if err != nil {
				t.Fatalf("%s: %v", thread, err)
			}
			if from = at; m.Type == "turn_finished" {
				return
			}
			id := m.Object["tool_call_id"]
			_, _ = c.Command("steer", object{"thread_id": thread, "content": steerMark})
			_ = c.Send(object{"type": "tool_result", "tool_call_id": id, "ok": true, "result": resultMark})
		}
	}
	finished("tools", object{"demo": object{"frames": 3, "tool_call": object{"name": "look", "args": object{"x": saidMark}, "at": 2}}})
	finished("panics", object{"demo": object{"frames": 3, "text": saidMark + " and more", "panic_at": 2}})
	finished("fails", object{"demo": object{"frames": 3, "text": saidMark + " and more", "fail_at": 2}})
	finished("command", object{"agent": "fails"})
	finished("hook", object{"agent": "hook"})

	for _, tok := range tokens {
		_ = c.Send(object{"type": "reauth", "token": tok, "request_id": "x"})
		_ = c.Send(object{"type": "reauth", "token": object{"no": tok}})
		_ = c.Send(object{"command": tok, "request_id": tok})
	}
	for _, text := range []string{
		`{"command":"chat_message","data":{"thread_id":"x","content":"` + brokenMark, `["` + brokenMark + `"]`, `{"type":"` + brokenMark + `"}`,
		`{"command":"chat_message","data":{"thread_id":7,"content":"` + brokenMark + `"}}`, `{"command":"chat_message","data":{"thread_id":"x","agent":"` + brokenMark + `","content":"x"}}`,
	} {
		_ = c.SendRaw(websocket.MessageText, []byte(text))
	}
	_ = c.SendRaw(websocket.MessageBinary, append([]byte{0xc1}, brokenMark...))
	if _, err := c.Do("list_chat_turns", nil); err != nil { // everything before was read
		t.Fatal(err)
	}
	_ = c.SendRaw(websocket.MessageText, bytes.Repeat([]byte(brokenMark), 4096))
	select {
	case <-c.Done():
	case <-time.After(patience):
		t.Fatal("an oversized message did not end the socket")
	}

	call := func(method, path, body string) {
		r, err := http.NewRequest(method, "http://"+addr+path, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Authorization", "Bearer "+good)
		r.Header.Set("Content-Type", "application/json")
		resp, err := http.DefaultTransport.RoundTrip(r)
		if err != nil {
			t.Fatal(err)
		}
		_, _ = io.Copy(io.Discard, resp.Body)
		_ = resp.Body.Close()
	}
	call("PUT", "/v1/threads/tools", `{"title":"`+titleMark+`"}`)
	call("PUT", "/v1/threads/tools", `{"title":["`+titleMark+`"]}`)
	call("POST", "/v1/threads/tools/turns", `{"content":"`+saidMark+`"`)
	call("POST", "/v1/threads/tools/turns", `{"content":"`+saidMark+`"}`)
	call("POST", "/v1/threads/tools/answers", `{"tool_call_id":"x","result":"`+resultMark+`"}`)
	call("POST", "/v1/threads/tools/steer", `{"content":"`+strings.Repeat(steerMark, 4096)+`"}`)
}

func TestB109_APasswordOfRedisIsNotLogged(t *testing.T) {
	t.Parallel()
	for _, address := range []string{"redis://user:" + redisPass + "@127.0.0.1:1/0", "redis://:" + redisPass + "@127.0.0.1:1/zero", "redis://:" + redisPass + "%@127.0.0.1:1"} {
		p, err := spawn(nil, binary(), "serve", "--listen", "127.0.0.1:0", "--log.level", "debug", "--redis.start_timeout", "1s", "--redis", address)
		if err != nil {
			t.Fatal(err)
		}
		if code := p.exit(t); code == 0 || strings.Contains(p.stderr.String()+p.stdout.String(), redisPass) {
			t.Errorf("%s: exit %d:\n%s", address, code, p.stderr)
		}
		p.kill()
	}
}
