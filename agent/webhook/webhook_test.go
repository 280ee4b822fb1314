package webhook_test

import (
	"context"
	"encoding/base64"
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

	"go.uber.org/goleak"

	"turnlog/agent"
	"turnlog/agent/agenttest"
	"turnlog/agent/webhook"
	"turnlog/frame"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func wantFault(t *testing.T, err error, typ string, status int) {
	t.Helper()
	var fault *agent.Error
	if !errors.As(err, &fault) || fault.Type != typ || fault.StatusCode != status || fault.Message == "" {
		t.Fatalf("want %s %d, got %#v", typ, status, err)
	}
}

// hook is a server whose POSTs are handled one function each, the last one for
// all further ones.
type hook struct {
	url    string
	client *http.Client
	mu     sync.Mutex
	bodies []string
	ids    []string
}

func newHook(t *testing.T, handlers ...func(w http.ResponseWriter, r *http.Request, body string)) *hook {
	t.Helper()
	h := &hook{}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		if err := webhook.Verify(secret, r.Header, body, time.Now()); err != nil {
			t.Errorf("signature: %v", err)
		}
		h.mu.Lock()
		n := min(len(h.bodies), len(handlers)-1)
		h.bodies, h.ids = append(h.bodies, string(body)), append(h.ids, r.Header.Get(webhook.HeaderID))
		h.mu.Unlock()
		handlers[n](w, r, string(body))
	}))
	h.url, h.client = s.URL, s.Client()
	t.Cleanup(s.Close)
	return h
}

func (h *hook) agent(t *testing.T, o webhook.Options) *webhook.Agent {
	t.Helper()
	o.URL, o.Secret, o.Transport = h.url, secret, h.client.Transport
	if o.RetryDelay == 0 {
		o.RetryDelay = time.Millisecond
	}
	a, err := webhook.New(o)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func says(kind string, parts ...string) func(http.ResponseWriter, *http.Request, string) {
	return func(w http.ResponseWriter, _ *http.Request, _ string) {
		w.Header().Set("Content-Type", kind)
		for _, part := range parts {
			_, _ = io.WriteString(w, part)
			_ = http.NewResponseController(w).Flush()
		}
	}
}

const ndjson, sse = "application/x-ndjson; charset=utf-8", "text/event-stream"

func newTurn() *agenttest.Turn {
	return agenttest.New(agent.Info{Message: json.RawMessage(`{"role":"user","content":"hi"}`), Data: json.RawMessage(`{"k":1}`), Tools: json.RawMessage(`[]`)})
}

func types(frames []json.RawMessage) string {
	var out []string
	for _, f := range frames {
		typ, _ := frame.Type(f)
		out = append(out, typ)
	}
	return strings.Join(out, " ")
}

func TestTheTurnIsPosted(t *testing.T) {
	h := newHook(t, func(w http.ResponseWriter, r *http.Request, _ string) {
		if r.Header.Get("Authorization") != "Bearer b" || r.Header.Get("Content-Type") != "application/json" || r.Header.Get("Turnlog-Protocol") != "1" {
			t.Errorf("headers %v", r.Header)
		}
		says(ndjson, `{"type":"chunk","content":"ok"}`)(w, r, "")
	})
	turn := newTurn()
	turn.Rows = []json.RawMessage{[]byte(`{"role":"user","content":"before"}`)}
	if err := h.agent(t, webhook.Options{Bearer: "b"}).Run(t.Context(), turn); err != nil {
		t.Fatal(err)
	}
	want := `{"type":"start","protocol":1,"thread_id":"thread","turn_id":"turn","attempt":1,"user":"alice","message":{"role":"user","content":"hi"},` +
		`"history":[{"role":"user","content":"before"}],"tools":[],"data":{"k":1}}`
	if h.bodies[0] != want || turn.Message() != "ok" || h.ids[0] != "turn.1.1" {
		t.Errorf("id %s, body %s", h.ids[0], h.bodies[0])
	}
}

func TestResponsesOfAllShapes(t *testing.T) {
	for name, tc := range map[string]struct {
		kind, body, text, fault string
	}{
		"lines":          {ndjson, "{\"type\":\"chunk\",\"content\":\"é😀\"}\n\n{\"type\":\"chunk\",\"content\":\"b\"}", "é😀b", ""},
		"events":         {sse, ": hi\n\nevent: x\nid: 1\ndata: {\"type\":\"chunk\",\ndata:\"content\":\"é😀\"}\r\n\r\ndata:{\"type\":\"chunk\",\"content\":\"b\"}", "é😀b", ""},
		"end":            {ndjson, "{\"type\":\"chunk\",\"content\":\"a\"}\n{\"type\":\"end\"}\n{\"type\":\"chunk\",\"content\":\"b\"}\n", "a", ""},
		"end with error": {ndjson, "{\"type\":\"chunk\",\"content\":\"a\"}\n{\"type\":\"end\",\"error\":\"no\",\"error_type\":\"mine\"}\n", "a", "mine"},
		"no type":        {ndjson, "{\"content\":\"a\"}\n", "", "webhook_invalid"},
		"not JSON":       {ndjson, "hello\n", "", "webhook_invalid"},
		"reserved":       {ndjson, "{\"type\":\"turn_finished\"}\n", "", "webhook_invalid"},
		"its own input":  {ndjson, "{\"type\":\"start\"}\n", "", "webhook_invalid"},
		"other content":  {"text/html", "<html>", "", "webhook_invalid"},
		"nothing":        {ndjson, "", "", ""},
		"invalid UTF-8":  {ndjson, "{\"type\":\"chunk\",\"content\":\"a\xff\"}\n", "a\ufffd", ""},
		"too large":      {ndjson, "{\"type\":\"chunk\",\"content\":\"" + strings.Repeat("x", 2<<20) + "\"}\n", "", "webhook_invalid"},
	} {
		t.Run(name, func(t *testing.T) {
			turn := newTurn()
			err := newHook(t, says(tc.kind, tc.body)).agent(t, webhook.Options{}).Run(t.Context(), turn)
			switch {
			case tc.fault == "" && err != nil:
				t.Fatalf("%v", err)
			case tc.fault != "":
				wantFault(t, err, tc.fault, 0)
			}
			if name == "not JSON" && !strings.Contains(err.Error(), `sent "hello"; each line`) {
				t.Errorf("says %q", err)
			}
			if turn.Text() != tc.text || (tc.fault == "" && turn.Message() != tc.text) {
				t.Errorf("%s", turn.Frames())
			}
		})
	}
}

func TestB105_ResponsesCutAtEveryByteArriveByteEqual(t *testing.T) {
	for kind, whole := range map[string]string{
		ndjson: "{\"type\":\"chunk\",\"content\":\"é世\"}\n{\"type\":\"chunk\",\"content\":\"😀\"}\n",
		sse:    "data: {\"type\":\"chunk\",\"content\":\"é世\"}\n\ndata: {\"type\":\"chunk\",\"content\":\"😀\"}\n\n",
	} {
		for cut := range len(whole) {
			turn := newTurn()
			if err := newHook(t, says(kind, whole[:cut], whole[cut:])).agent(t, webhook.Options{}).Run(t.Context(), turn); err != nil || turn.Text() != "é世😀" {
				t.Fatalf("%s cut at %d: %q %v", kind, cut, turn.Text(), err)
			}
		}
	}
}

func TestB60_AnswersArePostedAndTheirResponsesGoOn(t *testing.T) {
	h := newHook(t,
		says(ndjson, `{"type":"checkpoint","state":{"n":1}}`+"\n"+`{"type":"tool_call","ref":"a","name":"f","args":{"x":1}}`+"\n"+`{"type":"secret_request","ref":2,"key":"K"}`),
		says(sse, "data: {\"type\":\"chunk\",\"content\":\"one \"}\n\n"),
		says(ndjson, `{"type":"tool_approval_request","approval_id":"own","tool_name":"g"}`),
		func(w http.ResponseWriter, _ *http.Request, _ string) { w.WriteHeader(http.StatusNoContent) })
	turn := newTurn()
	expired := make(chan struct{})
	turn.Asking = func(_ context.Context, ask agent.Ask) (json.RawMessage, error) {
		switch ask.Kind {
		case agent.KindSecret:
			<-expired
			return nil, agent.ErrExpired
		case agent.KindToolApproval:
			return json.RawMessage(`{"decision":"allow"}`), nil
		}
		return json.RawMessage(`{"ok":true,"result":7}`), nil
	}
	turn.Emitting = func(n int, _ []byte) error {
		if n == 3 { // behind the messages of the tool call
			close(expired)
		}
		return nil
	}
	if err := h.agent(t, webhook.Options{}).Run(t.Context(), turn); err != nil {
		t.Fatal(err)
	}
	const about = `,"protocol":1,"thread_id":"thread","turn_id":"turn","attempt":1,"user":"alice","checkpoint":{"n":1}}`
	want := []string{
		`{"type":"answer","ref":"a","kind":"tool_call","request_id":"request-1","answer":{"ok":true,"result":7}` + about,
		`{"type":"answer","ref":2,"kind":"secret","request_id":"request-2","error":"expired"` + about,
		`{"type":"answer","ref":"own","kind":"tool_approval","request_id":"request-3","answer":{"decision":"allow"}` + about,
	}
	if got := strings.Join(h.bodies[1:], "\n"); got != strings.Join(want, "\n") {
		t.Errorf("got\n%s", got)
	}
	if types(turn.Frames()) != "message message chunk message" || turn.Message() != "one " || string(turn.State()) != `{"n":1}` {
		t.Errorf("%s", turn.Frames())
	}
}

func TestB47_InputsArePostedWhenAskedFor(t *testing.T) {
	steered := make(chan struct{})
	h := newHook(t, func(w http.ResponseWriter, r *http.Request, _ string) {
		says(ndjson, "\n")(w, r, "")
		<-steered
		says(ndjson, `{"type":"chunk","content":"b"}`)(w, r, "")
	}, func(w http.ResponseWriter, r *http.Request, body string) {
		if !strings.HasPrefix(body, `{"type":"input","kind":"steer","message":{"content":"x"},"protocol":1,"thread_id":"thread"`) {
			t.Errorf("input %s", body)
		}
		says(ndjson, `{"type":"chunk","content":"a"}`)(w, r, "")
		close(steered)
	})
	turn := newTurn()
	go turn.Send(t.Context(), agent.Input{Kind: agent.InputSteer, Message: []byte(`{"content":"x"}`)})
	if err := h.agent(t, webhook.Options{Inputs: true}).Run(t.Context(), turn); err != nil {
		t.Fatal(err)
	}
	if len(turn.Text()) != 2 {
		t.Errorf("%s", turn.Frames())
	}
}

func TestF13_AStopClosesTheRequest(t *testing.T) {
	asked, hungUp := make(chan struct{}), make(chan struct{})
	h := newHook(t, func(w http.ResponseWriter, r *http.Request, _ string) {
		says(ndjson, `{"type":"chunk","content":"a"}`+"\n"+`{"type":"tool_call","ref":1,"name":"f"}`+"\n")(w, r, "")
		close(asked)
		<-r.Context().Done()
		close(hungUp)
	})
	ctx, cancel := context.WithCancelCause(t.Context())
	defer cancel(nil)
	turn := newTurn()
	ended := make(chan error, 1)
	go func() { ended <- h.agent(t, webhook.Options{}).Run(ctx, turn) }()
	turn.Await(t, "the request to be open", func() bool { return len(turn.Asks()) == 1 })
	<-asked
	cancel(&agent.Ended{Outcome: "superseded"})
	if err := <-ended; err == nil || err.Error() != "turn ended: superseded" {
		t.Fatal(err)
	}
	<-hungUp
}

func TestDeliveriesAreRepeatedUnderOneId(t *testing.T) {
	refuse := func(status int, header, body string) func(http.ResponseWriter, *http.Request, string) {
		return func(w http.ResponseWriter, _ *http.Request, _ string) {
			w.Header().Set("Retry-After", header)
			w.WriteHeader(status)
			_, _ = io.WriteString(w, body)
		}
	}
	hangUp := func(http.ResponseWriter, *http.Request, string) { panic(http.ErrAbortHandler) }
	good := says(ndjson, `{"type":"chunk","content":"ok"}`)
	for name, tc := range map[string]struct {
		handlers []func(http.ResponseWriter, *http.Request, string)
		posts    int
		fault    string
		status   int
	}{
		"busy":         {[]func(http.ResponseWriter, *http.Request, string){refuse(503, "0.01", ""), good}, 2, "", 0},
		"hung up":      {[]func(http.ResponseWriter, *http.Request, string){hangUp, hangUp, good}, 3, "", 0},
		"always busy":  {[]func(http.ResponseWriter, *http.Request, string){refuse(429, "", `{"error":"no"}`)}, 3, "webhook_refused", 429},
		"wait an hour": {[]func(http.ResponseWriter, *http.Request, string){refuse(503, "3600", "")}, 1, "webhook_refused", 503},
		"refused":      {[]func(http.ResponseWriter, *http.Request, string){refuse(400, "", `{"message":"no"}`)}, 1, "webhook_refused", 400},
		"error":        {[]func(http.ResponseWriter, *http.Request, string){refuse(500, "", ``)}, 1, "webhook_refused", 500},
		"redirect":     {[]func(http.ResponseWriter, *http.Request, string){refuse(307, "", ``)}, 1, "webhook_refused", 307},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHook(t, tc.handlers...)
			turn := newTurn()
			err := h.agent(t, webhook.Options{}).Run(t.Context(), turn)
			if tc.fault != "" {
				wantFault(t, err, tc.fault, tc.status)
			} else if err != nil || turn.Text() != "ok" {
				t.Fatal(err)
			}
			if len(h.ids) != tc.posts || strings.Count(fmt.Sprint(h.ids), "turn.1.1") != tc.posts {
				t.Errorf("posts %v", h.ids)
			}
		})
	}
}

func TestTimeoutsAndBrokenResponses(t *testing.T) {
	hang := func(w http.ResponseWriter, r *http.Request, _ string) { <-r.Context().Done() }
	half := func(w http.ResponseWriter, r *http.Request, _ string) {
		says(ndjson, `{"type":"chunk","content":"a"}`+"\n")(w, r, "")
		<-r.Context().Done()
	}
	broken := func(w http.ResponseWriter, r *http.Request, _ string) {
		says(ndjson, `{"type":"chunk","content":"a"}`+"\n")(w, r, "")
		panic(http.ErrAbortHandler)
	}
	undelimited := func(w http.ResponseWriter, _ *http.Request, _ string) {
		conn, _, err := w.(http.Hijacker).Hijack()
		if err == nil {
			_, _ = io.WriteString(conn, "HTTP/1.0 200 OK\r\nContent-Type: application/x-ndjson\r\n\r\n{\"type\":\"chunk\",\"content\":\"a\"}\n")
			conn.Close()
		}
	}
	for name, tc := range map[string]struct {
		handler func(http.ResponseWriter, *http.Request, string)
		options webhook.Options
		fault   string
	}{
		"no response":           {hang, webhook.Options{ResponseTimeout: 50 * time.Millisecond}, "webhook_timeout"},
		"silence":               {half, webhook.Options{IdleTimeout: 50 * time.Millisecond}, "webhook_timeout"},
		"cut":                   {broken, webhook.Options{}, "webhook_unreachable"},
		"maybe cut, no \"end\"": {undelimited, webhook.Options{}, "webhook_unreachable"},
	} {
		t.Run(name, func(t *testing.T) {
			wantFault(t, newHook(t, tc.handler).agent(t, tc.options).Run(t.Context(), newTurn()), tc.fault, 0)
		})
	}
	t.Run("nobody listens", func(t *testing.T) {
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		listener.Close()
		a, err := webhook.New(webhook.Options{URL: "http://" + listener.Addr().String(), RetryDelay: time.Millisecond})
		if err != nil {
			t.Fatal(err)
		}
		wantFault(t, a.Run(t.Context(), newTurn()), "webhook_unreachable", 0)
	})
}

func TestVerify(t *testing.T) {
	now := time.Unix(1_700_000_000, 0)
	body := []byte(`{"a":1}`)
	// The reference of Standard Webhooks.
	reference := http.Header{}
	reference.Set(webhook.HeaderID, "msg_p5jXN8AQM9LWM0D4loKWxJek")
	reference.Set(webhook.HeaderTimestamp, "1614265330")
	reference.Set(webhook.HeaderSignature, "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=")
	if err := webhook.Verify("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", reference, []byte(`{"test": 2432232314}`), time.Unix(1614265330, 0)); err != nil {
		t.Errorf("reference: %v", err)
	}
	raw := "whsec_" + base64.StdEncoding.EncodeToString([]byte(secret))
	header := func(change func(http.Header)) http.Header {
		h := http.Header{}
		h.Set(webhook.HeaderID, "i")
		h.Set(webhook.HeaderTimestamp, "1700000000")
		h.Set(webhook.HeaderSignature, "v1,wrong "+webhook.Sign(secret, "i", "1700000000", body))
		change(h)
		return h
	}
	for name, tc := range map[string]struct {
		header http.Header
		body   string
		now    time.Time
		want   error
	}{
		"good":            {header(func(http.Header) {}), `{"a":1}`, now, nil},
		"clock off a bit": {header(func(http.Header) {}), `{"a":1}`, now.Add(4 * time.Minute), nil},
		"old":             {header(func(http.Header) {}), `{"a":1}`, now.Add(6 * time.Minute), webhook.ErrTooOld},
		"from the future": {header(func(http.Header) {}), `{"a":1}`, now.Add(-6 * time.Minute), webhook.ErrTooOld},
		"other body":      {header(func(http.Header) {}), `{"a":2}`, now, webhook.ErrSignature},
		"other id":        {header(func(h http.Header) { h.Set(webhook.HeaderID, "j") }), `{"a":1}`, now, webhook.ErrSignature},
		"other time":      {header(func(h http.Header) { h.Set(webhook.HeaderTimestamp, "1700000001") }), `{"a":1}`, now, webhook.ErrSignature},
		"unsigned":        {http.Header{}, `{"a":1}`, now, webhook.ErrSignature},
	} {
		for _, s := range []string{secret, raw} {
			if err := webhook.Verify(s, tc.header, []byte(tc.body), tc.now); !errors.Is(err, tc.want) {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
}

func TestImpossibleOptionsAreNamed(t *testing.T) {
	for want, o := range map[string]webhook.Options{
		"needs a URL": {}, "http://": {URL: "ftp://x"}, "16 bytes": {URL: "http://x", Secret: "short"}, "base64": {URL: "http://x", Secret: "whsec_???"},
		"negative": {URL: "http://x", RetryDelay: -1},
	} {
		if _, err := webhook.New(o); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: %v", o, err)
		}
	}
}
