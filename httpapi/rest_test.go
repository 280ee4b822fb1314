package httpapi_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"turnlog/agent"
	"turnlog/agent/demo"
	"turnlog/embedded"
	"turnlog/internal/openapitest"
	"turnlog/internal/redistest"
)

const restPatience = 20 * time.Second

// restNode is a real node whose API is called over HTTP. Every call is held
// against the OpenAPI document.
type restNode struct {
	testing.TB
	url  string
	rdb  *redis.Client
	node *embedded.Node
	doc  *openapitest.Document
}

func startRest(t testing.TB, addr string, opts embedded.Options) *restNode {
	t.Helper()
	rdb := redis.NewClient(&redis.Options{Addr: addr})
	if opts.Drain.Timeout == 0 {
		opts.Drain.Timeout = -1
	}
	node, err := embedded.New(t.Context(), rdb, map[string]agent.Agent{"demo": demo.Agent{}}, opts)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- node.Run(ctx) }()
	server := httptest.NewServer(node.Handler())
	t.Cleanup(func() {
		cancel()
		server.Close()
		if err := <-done; err != nil {
			t.Error(err)
		}
		rdb.Close()
	})
	select {
	case <-node.Ready():
	case <-time.After(restPatience):
		t.Fatal("the node got no lease")
	}
	return &restNode{TB: t, url: server.URL, rdb: rdb, node: node, doc: theDocument(t)}
}

// onBoth runs a test on miniredis and on a real Redis.
func onBoth(t *testing.T, opts embedded.Options, f func(n *restNode)) {
	t.Run("miniredis", func(t *testing.T) {
		addr, _ := redistest.Mini(t)
		f(startRest(t, addr, opts))
	})
	t.Run("redis", func(t *testing.T) { f(startRest(t, redistest.Start(t), opts)) })
}

// answer is what a call was answered.
type answer struct {
	status int
	header http.Header
	text   []byte
	json   map[string]any
}

// call makes one request; headers are names and values in turn. A body that begins
// with { is sent as JSON.
func (n *restNode) call(method, path, body string, headers ...string) answer {
	n.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), restPatience)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, method, n.url+path, strings.NewReader(body))
	if err != nil {
		n.Fatal(err)
	}
	if body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	for i := 0; i+1 < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	res, err := http.DefaultTransport.RoundTrip(req) // redirects are answers too
	if err != nil {
		n.Fatal(err)
	}
	defer res.Body.Close()
	a := answer{status: res.StatusCode, header: res.Header}
	if a.text, err = io.ReadAll(res.Body); err != nil {
		n.Fatal(err)
	}
	if strings.Contains(res.Header.Get("Content-Type"), "json") && len(a.text) > 0 {
		if err := json.Unmarshal(a.text, &a.json); err != nil {
			n.Fatalf("%s %s: %v in %s", method, path, err, a.text)
		}
	}
	n.doc.Check(n, req, body, openapitest.Answer{Status: a.status, Header: a.header, Text: a.text})
	return a
}

// want makes one request and wants its status.
func (n *restNode) want(status int, method, path, body string, headers ...string) map[string]any {
	n.Helper()
	a := n.call(method, path, body, headers...)
	if a.status != status {
		n.Fatalf("%s %s %.200s: %d %.500s, want %d", method, path, body, a.status, a.text, status)
	}
	return a.json
}

// until repeats a GET until its answer pleases.
func (n *restNode) until(path, what string, ok func(map[string]any) bool) map[string]any {
	n.Helper()
	deadline := time.After(restPatience)
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for {
		got := n.call("GET", path, "")
		if ok(got.json) {
			return got.json
		}
		select {
		case <-deadline:
			n.Fatalf("GET %s: still not %s: %s", path, what, got.text)
		case <-tick.C:
		}
	}
}

func (n *restNode) finished(path string) map[string]any {
	n.Helper()
	return n.until(path, "finished", func(m map[string]any) bool { return m["status"] == "finished" })
}

// anonymous is a problem without what differs between any two requests.
func (a answer) anonymous() []byte {
	id, _ := a.json["request_id"].(string)
	return bytes.ReplaceAll(a.text, []byte(id), nil)
}
