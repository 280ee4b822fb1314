package admin_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"go.uber.org/goleak"

	"turnlog/agent"
	"turnlog/agent/demo"
	"turnlog/embedded"
	"turnlog/httpapi/admin"
	"turnlog/identity"
	"turnlog/internal/openapitest"
	"turnlog/internal/redistest"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m, goleak.Cleanup(func(code int) {
		redistest.Stop()
		os.Exit(code)
	}))
}

const patience = 30 * time.Second

// lines is a log that a test reads.
type lines struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (l *lines) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.Write(b)
}

// changes returns the log's lines about changes.
func (l *lines) changes(t testing.TB) (all []map[string]any) {
	t.Helper()
	l.mu.Lock()
	defer l.mu.Unlock()
	for line := range strings.Lines(l.buf.String()) {
		var m map[string]any
		if err := json.Unmarshal([]byte(line), &m); err != nil {
			t.Fatalf("%v in %s", err, line)
		}
		if m["msg"] == "admin change" {
			all = append(all, m)
		}
	}
	return all
}

func (l *lines) text() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.String()
}

// rig is a real node whose API is called over HTTP. Every call is held against the document.
type rig struct {
	testing.TB
	url     string
	node    *embedded.Node
	doc     *openapitest.Document
	log     *lines
	headers []string // sent with every call
}

// start runs a node on a Redis. auth nil: everybody on loopback is an operator.
func start(t testing.TB, addr string, auth identity.Authenticator) *rig {
	t.Helper()
	rdb := redis.NewClient(&redis.Options{Addr: addr})
	if auth == nil {
		auth = identity.NoAuth{Admin: true}
	}
	r := &rig{TB: t, doc: theDocument(t), log: &lines{}}
	var err error
	r.node, err = embedded.New(t.Context(), rdb, map[string]agent.Agent{"demo": demo.Agent{}}, embedded.Options{
		Auth: auth, Drain: embedded.Drain{Timeout: -1}, Entry: embedded.Entry{Address: "127.0.0.1:1", Version: "test"},
		Logger: slog.New(slog.NewJSONHandler(r.log, &slog.HandlerOptions{Level: slog.LevelDebug})),
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- r.node.Run(ctx) }()
	server := httptest.NewServer(r.node.Handler())
	t.Cleanup(func() {
		cancel()
		server.Close()
		if err := <-done; err != nil {
			t.Error(err)
		}
		http.DefaultTransport.(*http.Transport).CloseIdleConnections()
		rdb.Close()
	})
	select {
	case <-r.node.Ready():
	case <-time.After(patience):
		t.Fatal("the node got no lease")
	}
	r.url = server.URL
	return r
}

// onBoth runs a test on miniredis and on a real Redis.
func onBoth(t *testing.T, f func(r *rig)) {
	t.Run("miniredis", func(t *testing.T) {
		addr, _ := redistest.Mini(t)
		f(start(t, addr, nil))
	})
	t.Run("redis", func(t *testing.T) { f(start(t, redistest.Start(t), nil)) })
}

func theDocument(t testing.TB) *openapitest.Document {
	t.Helper()
	recorder := httptest.NewRecorder()
	bare(t, struct{ admin.Log }{}).ServeHTTP(recorder, httptest.NewRequest("GET", "/admin/v1/openapi.json", nil))
	return openapitest.Parse(t, recorder.Body.Bytes(), "/admin/v1/", 401, 403)
}

// bare is an API without a node behind it.
func bare(t testing.TB, log admin.Log) *admin.API {
	t.Helper()
	type sessions struct{ admin.Sessions }
	api, err := admin.New(log, sessions{}, func() admin.ReaperStatus { return admin.ReaperStatus{} }, identity.NoAuth{Admin: true}, admin.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return api
}

type answer struct {
	status int
	header http.Header
	text   []byte
	json   map[string]any
}

// call makes one request; headers are names and values in turn.
func (r *rig) call(method, path, body string, headers ...string) answer {
	r.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 2*patience)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, method, r.url+path, strings.NewReader(body))
	if err != nil {
		r.Fatal(err)
	}
	if body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	headers = append(append([]string(nil), r.headers...), headers...)
	for i := 0; i+1 < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	res, err := http.DefaultTransport.RoundTrip(req)
	if err != nil {
		r.Fatal(err)
	}
	defer res.Body.Close()
	a := answer{status: res.StatusCode, header: res.Header}
	if a.text, err = io.ReadAll(res.Body); err != nil {
		r.Fatal(err)
	}
	if strings.Contains(res.Header.Get("Content-Type"), "json") && len(a.text) > 0 {
		if err := json.Unmarshal(a.text, &a.json); err != nil {
			r.Fatalf("%s %s: %v in %s", method, path, err, a.text)
		}
	}
	r.doc.Check(r, req, body, openapitest.Answer{Status: a.status, Header: a.header, Text: a.text})
	return a
}

// want makes one request and wants its status.
func (r *rig) want(status int, method, path, body string, headers ...string) map[string]any {
	r.Helper()
	a := r.call(method, path, body, headers...)
	if a.status != status {
		r.Fatalf("%s %s %.200s: %d %.500s, want %d", method, path, body, a.status, a.text, status)
	}
	return a.json
}

// until repeats a GET until its answer pleases.
func (r *rig) until(path, what string, ok func(map[string]any) bool) map[string]any {
	r.Helper()
	deadline := time.After(patience)
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		got := r.call("GET", path, "")
		if ok(got.json) {
			return got.json
		}
		select {
		case <-deadline:
			r.Fatalf("GET %s: still not %s: %s", path, what, got.text)
		case <-tick.C:
		}
	}
}

// list is a member of an object that is a list of objects.
func list(m map[string]any, name string) (out []map[string]any) {
	all, _ := m[name].([]any)
	for _, x := range all {
		o, _ := x.(map[string]any)
		out = append(out, o)
	}
	return out
}

const (
	endless = `{"content":"secret words","demo":{"frames":1000000,"interval_ms":5}}`
	brief   = `{"content":"secret words","demo":{"frames":3}}`
)

// submit starts a turn of a user, as the user would.
func (r *rig) submit(user, thread, body string, headers ...string) string {
	r.Helper()
	return r.want(202, "POST", "/v1/threads/"+thread+"/turns?user="+user, body, headers...)["turn_id"].(string)
}
