package edge_test

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	"turnlog/httpapi/edge"
)

// giver answers with so many bytes and tells how the writing of them went.
func giver(t *testing.T, o edge.Options, size int, own time.Duration) (addr string, went chan error) {
	t.Helper()
	went = make(chan error, 8)
	mux := http.NewServeMux()
	mux.HandleFunc("GET /v1/large", func(w http.ResponseWriter, _ *http.Request) {
		if own > 0 {
			if err := http.NewResponseController(w).SetWriteDeadline(time.Now().Add(own)); err != nil {
				t.Error(err)
			}
		}
		_, err := w.Write(bytes.Repeat([]byte("x"), size))
		went <- err
	})
	server := httptest.NewServer(edge.New(mux, o))
	t.Cleanup(server.Close)
	return strings.TrimPrefix(server.URL, "http://"), went
}

// visit sends a request on a connection whose small buffers make the server wait.
func visit(t *testing.T, addr string) net.Conn {
	t.Helper()
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	_ = conn.(*net.TCPConn).SetReadBuffer(4 << 10)
	_ = conn.SetDeadline(time.Now().Add(patience))
	fmt.Fprint(conn, "GET /v1/large HTTP/1.1\r\nHost: h\r\n\r\n")
	return conn
}

func outcome(t *testing.T, went <-chan error) error {
	t.Helper()
	select {
	case err := <-went:
		return err
	case <-time.After(patience):
		t.Fatal("the answer is still being written")
		return nil
	}
}

const more = 64 << 20 // than any buffer on the way holds

func TestB104_AnAnswerThatNobodyTakesIsCut(t *testing.T) {
	addr, went := giver(t, edge.Options{AnswerLimit: 100 * time.Millisecond}, more, 0)
	visit(t, addr)
	if err := outcome(t, went); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Fatalf("%v", err)
	}
}

func TestB104_AnAnswerThatIsTakenByTheByteIsCut(t *testing.T) {
	addr, went := giver(t, edge.Options{AnswerLimit: 100 * time.Millisecond}, more, 0)
	conn := visit(t, addr)
	go func() { // ends with the connection
		pace := time.NewTicker(time.Millisecond)
		defer pace.Stop()
		for b := make([]byte, 64); ; <-pace.C {
			if _, err := conn.Read(b); err != nil {
				return
			}
		}
	}()
	if err := outcome(t, went); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Fatalf("%v", err)
	}
	conn.Close()
}

func TestAKeptConnectionOutlivesTheDeadlineOfItsAnswers(t *testing.T) {
	s := open(t, edge.Options{AnswerLimit: 100 * time.Millisecond})
	conn, err := net.Dial("tcp", strings.TrimPrefix(s.url, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(patience))
	r := bufio.NewReader(conn)
	for range 3 {
		fmt.Fprint(conn, "POST /v1/body HTTP/1.1\r\nHost: h\r\nContent-Length: 4\r\nExpect: 100-continue\r\n\r\n")
		if line, err := r.ReadString('\n'); err != nil || line != "HTTP/1.1 100 Continue\r\n" { // written before the answer
			t.Fatalf("%q %v", line, err)
		}
		_, _ = r.ReadString('\n')
		fmt.Fprint(conn, "body")
		resp, err := http.ReadResponse(r, nil)
		if err != nil {
			t.Fatal(err)
		}
		body, _ := io.ReadAll(resp.Body)
		if !strings.HasPrefix(string(body), "4 ") {
			t.Fatalf("%d %s", resp.StatusCode, body)
		}
		pause := time.NewTimer(150 * time.Millisecond) // past the deadline of this answer
		<-pause.C
	}
}

func TestWhoSetsDeadlinesIsLeftAlone(t *testing.T) {
	const own = 700 * time.Millisecond
	addr, went := giver(t, edge.Options{AnswerLimit: 10 * time.Millisecond}, more, own)
	began := time.Now()
	visit(t, addr)
	if err := outcome(t, went); !errors.Is(err, os.ErrDeadlineExceeded) || time.Since(began) < own {
		t.Fatalf("%v after %v", err, time.Since(began))
	}
}
