package httpapi_test

import (
	"fmt"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"turnlog/embedded"
	"turnlog/httpapi/edge"
	"turnlog/internal/redistest"
	"turnlog/limit"
	"turnlog/wsapi"
)

// Whoever keeps many calls under way keeps their bodies and pages in memory: one user can
// have so many and no more, and what is slow of one is not in the way of others.
func TestB104_CallsUnderWayAreBounded(t *testing.T) {
	users, err := limit.New(limit.Options{CallsPerUser: 2})
	if err != nil {
		t.Fatal(err)
	}
	around := func(next http.Handler) http.Handler { return edge.New(next, edge.Options{}) }
	addr, _ := redistest.Mini(t)
	n := startRest(t, addr, embedded.Options{Sockets: wsapi.Options{Limits: users}, HTTP: embedded.HTTP{Around: []func(http.Handler) http.Handler{around}}})
	get := func(path string) (int, string) {
		t.Helper()
		resp, err := http.Get(n.url + path)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		return resp.StatusCode, resp.Header.Get("Retry-After")
	}
	var slow []net.Conn
	for range 2 {
		conn, err := net.Dial("tcp", strings.TrimPrefix(n.url, "http://"))
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		fmt.Fprint(conn, "POST /v1/threads/t/turns?user=ann HTTP/1.1\r\nHost: h\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{")
		slow = append(slow, conn)
	}
	await := func(what string, status int) {
		t.Helper()
		deadline := time.After(restPatience)
		for {
			got, after := get("/v1/turns?user=ann")
			if got == status && (got != 429 || after != "") {
				return
			}
			select {
			case <-deadline:
				t.Fatalf("%s: %d, want %d", what, got, status)
			case <-time.After(5 * time.Millisecond):
			}
		}
	}
	await("with two calls under way", 429)
	if got, _ := get("/v1/turns?user=bob"); got != 200 {
		t.Errorf("another user: %d", got)
	}
	if got, _ := get("/v1/threads/none/events?user=ann"); got != 404 { // it counts as a connection
		t.Errorf("an event stream: %d", got)
	}
	slow[0].Close()
	await("with one call under way", 200)
}
