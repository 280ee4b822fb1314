package wsapi_test

import (
	"bytes"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/coder/websocket"

	"turnlog/identity"
	"turnlog/wsapi"
)

// tickets are tokens that read "user ms", valid for so many milliseconds from when the
// test began; "user" alone is for ever.
func tickets() gate {
	began := time.Now()
	return func(token string) (identity.Identity, error) {
		user, rest, limited := strings.Cut(token, " ")
		switch user {
		case "":
			return identity.Identity{}, identity.ErrUnauthorized
		case "down":
			return identity.Identity{}, fmt.Errorf("keys: %w", identity.ErrUnavailable)
		case "no":
			return identity.Identity{}, identity.ErrForbidden
		}
		who := identity.Identity{User: user}
		if limited {
			var ms int
			if _, err := fmt.Sscan(rest, &ms); err != nil {
				return identity.Identity{}, identity.ErrUnauthorized
			}
			who.Expires = began.Add(time.Duration(ms) * time.Millisecond)
		}
		return who, nil
	}
}

func v1(token string) *websocket.DialOptions {
	o := bearer(token)
	o.Subprotocols = []string{"turnlog.v1"}
	return o
}

func TestB101_ReauthExtendsAConnection(t *testing.T) {
	t.Parallel()
	w := newWorld()
	_, url := serve(t, w, wsapi.Options{PingEvery: 40 * time.Millisecond}, tickets())
	p, control := dialRaw(t, url, v1("ann 2000")), dialRaw(t, url, v1("ann 2000"))
	p.send(`{"type":"reauth","token":"ann 3600000","request_id":"r"}`)
	reply := p.untilKey("message")
	until, err := time.Parse(time.RFC3339, fmt.Sprint(reply["expires_at"]))
	if err != nil || reply["message"] != "Reauthenticated" || reply["request_id"] != "r" || len(reply) != 3 || time.Until(until) < 50*time.Minute || time.Until(until) > time.Hour {
		t.Fatalf("%v, %v", reply, err)
	}
	if code := control.closed(); code != 4001 {
		t.Fatalf("the one that did nothing was closed with %d", code)
	}
	p.send(`{"type":"reauth","token":"ann 2001"}`)
	if again := p.untilKey("message"); again["expires_at"] != reply["expires_at"] {
		t.Errorf("an older token brought the end nearer: %v", again)
	}
	p.send(`{"type":"reauth","token":"ann","request_id":7}`)
	if reply := p.untilKey("message"); reply["expires_at"] != nil || reply["request_id"] != 7.0 || len(reply) != 3 {
		t.Errorf("for ever: %v", reply)
	}
	p.send(`{"type":"reauth","token":"ann 1"}`)
	if reply := p.untilKey("message"); reply["expires_at"] != nil {
		t.Errorf("after for ever: %v", reply)
	}
}

func TestB101_AReauthThatIsRefusedChangesNothing(t *testing.T) {
	t.Parallel()
	w := newWorld()
	var mu sync.Mutex
	var log bytes.Buffer
	logger := slog.New(slog.NewTextHandler(locked{&mu, &log}, &slog.HandlerOptions{Level: slog.LevelDebug}))
	_, url := serve(t, w, wsapi.Options{PingEvery: 40 * time.Millisecond, Logger: logger}, tickets())
	p := dialRaw(t, url, v1("ann 2000"))
	for name, row := range map[string][2]string{
		"garbage":       {`"token":"ann soon"`, `{"error":"unauthorized","code":"unauthorized","message":"the token is not valid for this connection"}`},
		"another user":  {`"token":"bob 3600000"`, `{"error":"unauthorized","code":"unauthorized","message":"the token is not valid for this connection"}`},
		"forbidden":     {`"token":"no"`, `{"error":"unauthorized","code":"unauthorized","message":"the token is not valid for this connection"}`},
		"keys are away": {`"token":"down"`, `{"error":"unavailable","code":"unavailable","message":"authentication is not available, try again","retryable":true}`},
		"no token":      {`"x":1`, `{"error":"invalid_message","message":"the frame reauth is not valid: {\"token\":\"is required\"}"}`},
		"token a list":  {`"token":["ann"]`, `{"error":"invalid_message","message":"the frame reauth is not valid: {\"token\":\"must be a string\"}"}`},
		"token empty":   {`"token":""`, `{"error":"invalid_message","message":"the frame reauth is not valid: {\"token\":\"is required\"}"}`},
	} {
		p.send(`{"type":"reauth",%s}`, row[0])
		reply := p.untilKey("error")
		want := parse(t, row[1])
		if fmt.Sprint(reply) != fmt.Sprint(want) {
			t.Errorf("%s: %v, want %v", name, reply, want)
		}
	}
	if code := p.closed(); code != 4001 {
		t.Errorf("closed with %d", code)
	}
	mu.Lock()
	defer mu.Unlock()
	if strings.Contains(log.String(), "3600000") || strings.Contains(log.String(), "ann soon") {
		t.Errorf("a token is in the log:\n%s", &log)
	}
}

func TestReauthWithoutAuthenticationIsRefused(t *testing.T) {
	t.Parallel()
	w := newWorld()
	_, url := serve(t, w, wsapi.Options{}, nil)
	p := dial(t, url)
	p.send(`{"type":"reauth","token":"x"}`)
	p.want(`{"error":"unauthorized","code":"unauthorized","message":"the token is not valid for this connection"}`)
	p.settle()
}

func TestB101_TheTurnOutlivesTheTokenAndIsResumed(t *testing.T) {
	t.Parallel()
	w := newWorld()
	_, url := serve(t, w, wsapi.Options{PingEvery: 40 * time.Millisecond}, tickets())
	p := dialRaw(t, url, v1("ann 2000"))
	p.send(`{"command":"chat_message","data":{"thread_id":"t","content":"hello","on_disconnect":"preserve"}}`)
	if ack := p.untilKey("turn_id"); ack["thread_id"] != "t" {
		t.Fatalf("%v", ack)
	}
	if code := p.closed(); code != 4001 {
		t.Fatalf("closed with %d", code)
	}
	again := dialRaw(t, url, v1("ann 3600000"))
	again.send(`{"command":"resume_chat","data":{"thread_id":"t","last_seq":0}}`)
	if h := again.untilKey("status"); h["type"] != "chat_resumed" || h["status"] != "running" {
		t.Errorf("%v", h)
	}
	other := dialRaw(t, url, v1("bob 3600000"))
	other.send(`{"command":"resume_chat","data":{"thread_id":"t","last_seq":0}}`)
	if h := other.untilKey("status"); h["status"] != "unknown" {
		t.Errorf("for another user: %v", h)
	}
}

// untilKey reads frames up to the first one that has a key.
func (p *peer) untilKey(key string) map[string]any {
	p.t.Helper()
	for {
		if f := p.next(); f[key] != nil {
			return f
		}
	}
}

// locked lets several goroutines write.
type locked struct {
	mu *sync.Mutex
	b  *bytes.Buffer
}

func (l locked) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}
