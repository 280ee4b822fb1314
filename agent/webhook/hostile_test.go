package webhook_test

import (
	"bytes"
	"compress/gzip"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"turnlog/agent"
	"turnlog/agent/agenttest"
	"turnlog/agent/webhook"
)

type handler = func(http.ResponseWriter, *http.Request, string)

// raw writes to the connection itself, piece by piece, until the client hangs up.
func raw(more func(n int) []byte, every time.Duration) handler {
	return func(w http.ResponseWriter, _ *http.Request, _ string) {
		conn, _, err := http.NewResponseController(w).Hijack()
		if err != nil {
			return
		}
		defer conn.Close()
		var tick <-chan time.Time
		if every > 0 {
			ticker := time.NewTicker(every)
			defer ticker.Stop()
			tick = ticker.C
		}
		for n := 0; ; n++ {
			piece := more(n)
			if len(piece) == 0 { // silence
				_, _ = io.Copy(io.Discard, conn)
				return
			}
			if _, err := conn.Write(piece); err != nil {
				return
			}
			if tick != nil {
				<-tick
			}
		}
	}
}

func once(first string, then ...string) func(int) []byte {
	return func(n int) []byte {
		if n == 0 {
			return []byte(first)
		}
		return []byte(strings.Join(then, ""))
	}
}

// packed is so many newlines, as gzip has them.
func packed(t *testing.T, size int) []byte {
	t.Helper()
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	if _, err := z.Write(bytes.Repeat([]byte("\n"), size)); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

const okHead = "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Type: "

func TestHostileResponsesAreBounded(t *testing.T) {
	bomb := packed(t, 16<<20)
	for name, tc := range map[string]struct {
		handler handler
		fault   string
		status  int
	}{
		"a head byte by byte":           {raw(once("HTTP/1.1 200 OK\r\nX: ", "a"), 5*time.Millisecond), "webhook_timeout", 0},
		"a head of any size":            {raw(once("HTTP/1.1 200 OK\r\n", "X: ", strings.Repeat("a", 60<<10), "\r\n"), 0), "webhook_invalid", 0},
		"a body that never comes":       {raw(once(okHead+"application/x-ndjson\r\nContent-Length: 10\r\n\r\n", ""), 5*time.Millisecond), "webhook_timeout", 0},
		"a line without end":            {raw(once(okHead+"application/x-ndjson\r\n\r\n{\"type\":\"x\",\"c\":\"", strings.Repeat("a", 64<<10)), 0), "webhook_invalid", 0},
		"an event without end":          {raw(once(okHead+"text/event-stream\r\n\r\n", "data: "+strings.Repeat("a", 1<<10)+"\n"), 0), "webhook_invalid", 0},
		"a refusal that drips":          {raw(once("HTTP/1.1 400 No\r\nContent-Type: application/json\r\n\r\n", " "), 5*time.Millisecond), "webhook_refused", 400},
		"a refusal without end":         {raw(once("HTTP/1.1 400 No\r\n\r\n", strings.Repeat("a", 64<<10)), 0), "webhook_refused", 400},
		"much behind the end of a turn": {raw(once(okHead+"application/x-ndjson\r\n\r\n{\"type\":\"end\",\"error\":\"mine\",\"error_type\":\"mine\"}\n", strings.Repeat("a", 64<<10)), 0), "mine", 0},
		"a packed bomb": {func(w http.ResponseWriter, _ *http.Request, _ string) {
			w.Header().Set("Content-Type", "application/x-ndjson")
			w.Header().Set("Content-Encoding", "gzip")
			_, _ = w.Write(bomb)
		}, "webhook_invalid", 0},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHook(t, tc.handler)
			turn := agenttest.New(agent.Info{FrameLimit: 64 << 10})
			// Without a Transport here: the agent's own one has the bounds.
			a, err := webhook.New(webhook.Options{
				URL: h.url, Secret: secret, Retries: -1, ResponseTimeout: 300 * time.Millisecond, IdleTimeout: 300 * time.Millisecond,
			})
			if err != nil {
				t.Fatal(err)
			}
			began := time.Now()
			err = a.Run(t.Context(), turn)
			wantFault(t, err, tc.fault, tc.status)
			if took := time.Since(began); took > 5*time.Second {
				t.Errorf("took %s", took)
			}
		})
	}
}

func TestRedirectsCarryNothingElsewhere(t *testing.T) {
	elsewhere := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		t.Errorf("%s %s reached another host with %v", r.Method, r.URL, r.Header)
	}))
	defer elsewhere.Close()
	for _, status := range []int{301, 302, 303, 307, 308} {
		h := newHook(t, func(w http.ResponseWriter, r *http.Request, _ string) {
			http.Redirect(w, r, elsewhere.URL, status)
		})
		wantFault(t, h.agent(t, webhook.Options{Bearer: "b"}).Run(t.Context(), newTurn()), "webhook_refused", status)
	}
}

func TestAServerMayNameTheVersionItSpeaks(t *testing.T) {
	answer := func(status int, versions, body string) handler {
		return func(w http.ResponseWriter, _ *http.Request, _ string) {
			w.Header().Set("Content-Type", ndjson)
			w.Header().Set(webhook.HeaderProtocol, versions)
			w.WriteHeader(status)
			_, _ = io.WriteString(w, body)
		}
	}
	const chunk = `{"type":"chunk","content":"ok"}`
	for name, tc := range map[string]struct {
		handler handler
		want    string
	}{
		"this one":              {answer(200, "1", chunk), ""},
		"several":               {answer(200, "2, 1", chunk), ""},
		"nothing readable":      {answer(200, "latest", chunk), ""},
		"this one, in a line":   {answer(200, "", `{"type":"protocol","version":1}`+"\n"+chunk), ""},
		"a later one":           {answer(200, "2", chunk), "version 2 of the agent protocol, this node speaks version 1"},
		"a later one, in line":  {answer(200, "", `{"type":"protocol","version":[2,3]}`+"\n"+chunk), "version 2, 3 of the agent protocol, this node speaks version 1"},
		"a later one, refusing": {answer(400, "2", `{"error":"no"}`), "version 2 of the agent protocol, this node speaks version 1"},
	} {
		t.Run(name, func(t *testing.T) {
			turn := newTurn()
			err := newHook(t, tc.handler).agent(t, webhook.Options{}).Run(t.Context(), turn)
			if tc.want == "" {
				if err != nil || turn.Message() != "ok" {
					t.Fatalf("%v, %s", err, turn.Frames())
				}
				return
			}
			wantFault(t, err, "unsupported_protocol", 0)
			if !strings.Contains(err.Error(), tc.want) || turn.Count() != 0 {
				t.Fatalf("%v, %s", err, turn.Frames())
			}
		})
	}
}
