package httpapi_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"turnlog/embedded"
	"turnlog/httpapi/edge"
	"turnlog/internal/redistest"
	"turnlog/limit"
)

// codes counts refusals.
type codes chan string

func (c codes) Refused(code string) { c <- code }

func (c codes) want(t *testing.T, want string) {
	t.Helper()
	select {
	case got := <-c:
		if got != want {
			t.Errorf("%s was counted, want %s", got, want)
		}
	case <-time.After(restPatience):
		t.Errorf("%s was not counted", want)
	}
}

// sending begins a call whose body does not end by itself.
func sending(t *testing.T, n *restNode, user string, size, now int) (net.Conn, *bufio.Reader) {
	t.Helper()
	addr := strings.TrimPrefix(n.url, "http://")
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	_ = conn.SetDeadline(time.Now().Add(restPatience))
	fmt.Fprintf(conn, "POST /v1/threads/t/turns?user=%s HTTP/1.1\r\nHost: %s\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n", user, addr, size)
	fmt.Fprint(conn, `{"content":"`+strings.Repeat("x", now))
	return conn, bufio.NewReader(conn)
}

func refusal(t *testing.T, n *restNode, r *bufio.Reader) (status int, code string) {
	t.Helper()
	resp, err := http.ReadResponse(r, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	var problem struct{ Code string }
	if err := json.Unmarshal(text, &problem); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	return resp.StatusCode, problem.Code
}

func TestB104_ABodyThatTricklesInIsRefused408(t *testing.T) {
	addr, _ := redistest.Mini(t)
	refused := make(codes, 8)
	o := embedded.Options{HTTP: embedded.HTTP{Around: []func(http.Handler) http.Handler{func(next http.Handler) http.Handler {
		return edge.New(next, edge.Options{BodyLimit: 200 * time.Millisecond})
	}}}}
	o.API.Metrics = refused
	n := startRest(t, addr, o)
	conn, r := sending(t, n, "ann", 1<<20, 0)
	stop := make(chan struct{})
	stopped := make(chan struct{})
	go func() { // it is never silent
		defer close(stopped)
		tick := time.NewTicker(20 * time.Millisecond)
		defer tick.Stop()
		for {
			select {
			case <-stop:
				return
			case <-tick.C:
				_, _ = conn.Write([]byte("x"))
			}
		}
	}()
	status, code := refusal(t, n, r)
	close(stop)
	<-stopped
	if status != http.StatusRequestTimeout || code != "slow_sender" {
		t.Errorf("%d %s", status, code)
	}
	refused.want(t, "slow_sender")
	// Nothing more is read of a connection whose place in the stream is unknown.
	if _, err := io.Copy(io.Discard, r); err != nil && strings.Contains(err.Error(), "timeout") {
		t.Error("the connection was kept")
	}
	n.want(404, "GET", "/v1/threads/t", "")
}

func TestB104_BodiesThatArriveHaveRoomOrAreRefused(t *testing.T) {
	addr, _ := redistest.Mini(t)
	refused := make(codes, 8)
	room := limit.NewRoom(1 << 20)
	o := embedded.Options{}
	o.API.Metrics, o.Sockets.Room = refused, room
	n := startRest(t, addr, o)
	const size = 200 << 10
	taken := func(times int) {
		t.Helper()
		for deadline := time.Now().Add(restPatience); room.Taken() < int64(times)*(size-limit.Free); {
			if time.Now().After(deadline) {
				t.Fatalf("%d bytes are taken", room.Taken())
			}
			<-time.After(time.Millisecond)
		}
	}
	first, _ := sending(t, n, "user0", 1<<20, size)
	taken(1)
	_, greedy := sending(t, n, "user0", 1<<20, size)
	if status, code := refusal(t, n, greedy); status != 429 || code != "too_many_bytes_of_user" {
		t.Errorf("%d %s", status, code)
	}
	refused.want(t, "too_many_bytes_of_user")
	for i := range 4 {
		sending(t, n, fmt.Sprint("user", i+1), 1<<20, size)
	}
	taken(5)
	_, late := sending(t, n, "user9", 1<<20, size)
	if status, code := refusal(t, n, late); status != 503 || code != "too_many_bytes" {
		t.Errorf("%d %s", status, code)
	}
	n.want(202, "POST", "/v1/threads/t/turns", `{"content":"a small one always has room"}`)
	first.Close()
	for deadline := time.Now().Add(restPatience); room.Taken() >= 5*(size-limit.Free); {
		if time.Now().After(deadline) {
			t.Fatal("what a client left behind still takes room")
		}
		<-time.After(time.Millisecond)
	}
}
