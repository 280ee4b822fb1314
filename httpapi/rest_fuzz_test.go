package httpapi_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"turnlog/embedded"
	"turnlog/internal/openapitest"
	"turnlog/internal/redistest"
)

// FuzzCalls sends arbitrary bodies to arbitrary threads of a real node: whatever comes,
// the answer is one that the document describes, and never the server's fault.
func FuzzCalls(f *testing.F) {
	for _, body := range []string{
		`{"content":"x"}`, `{"content":[{"type":"text"}],"tools":[{"name":"a"}],"on_busy":"enqueue"}`, `{"title":"x","branch_of":"y","branch_seq":-1}`,
		`{"request_id":"a","ok":true}`, `{"turn_id":"x"}`, `{"content":"x","id":"\ud800"}`, `{"a":` + strings.Repeat("[", 300), "\xff", `{"content":1e999999}`, ``,
	} {
		for verb := range 6 {
			f.Add(uint8(verb), "t", body, "key", "after=1&limit=2&before=3&cursor=x")
		}
	}
	f.Add(uint8(0), "a/b{c}:d", `{"content":"x"}`, "\"q\"", "after=-1")
	f.Add(uint8(3), "..", `{}`, "", "before=1@x")
	addr, _ := redistest.Mini(f)
	n := startRest(f, addr, embedded.Options{})
	handler := n.node.Handler()
	verbs := [][2]string{{"POST", "/turns"}, {"POST", "/steer"}, {"POST", "/stop"}, {"PUT", ""}, {"PATCH", ""}, {"POST", "/answers"},
		{"GET", "/frames"}, {"GET", "/messages"}, {"GET", "/queue"}, {"GET", ""}, {"DELETE", ""}}
	f.Fuzz(func(t *testing.T, which uint8, id, body, key, query string) {
		verb := verbs[int(which)%len(verbs)]
		target := "/v1/threads/" + strings.ReplaceAll(url.PathEscape(id), ".", "%2E") + verb[1]
		req := httptest.NewRequest(verb[0], "/", strings.NewReader(body))
		u, err := url.Parse(target)
		if err != nil {
			t.Fatal(err)
		}
		u.RawQuery = query
		req.URL = u
		req.Header = http.Header{"Content-Type": {"application/json"}, "Idempotency-Key": {key}}
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, req)
		a := answer{status: w.Code, header: w.Header(), text: w.Body.Bytes()}
		if len(a.text) > 0 && json.Unmarshal(a.text, &a.json) != nil {
			t.Fatalf("no JSON: %d %q", w.Code, a.text)
		}
		if w.Code >= 500 && w.Code != 503 {
			t.Fatalf("%s %s %q: %d %s", verb[0], target, body, w.Code, a.text)
		}
		if w.Code >= 300 && w.Code < 400 {
			t.Fatalf("%s %s: redirected to %s", verb[0], target, w.Header().Get("Location"))
		}
		if w.Code < 300 && verb[0] != "DELETE" && a.json["thread_id"] != nil && a.json["thread_id"] != id {
			t.Fatalf("%q became %v", id, a.json["thread_id"])
		}
		if w.Code >= 400 { // whether bodies that are accepted are described is not what is asked here
			n.doc.Check(t, req, body, openapitest.Answer{Status: a.status, Header: a.header, Text: a.text})
		}
	})
}
