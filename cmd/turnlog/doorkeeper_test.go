package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"
)

func TestB104_StrangersGetNoMoreThanSoManyConnections(t *testing.T) {
	var refused atomic.Int64
	d := &doorkeeper{most: 3, refused: func(code string) {
		if code != codeSockets {
			t.Errorf("refused as %s", code)
		}
		refused.Add(1)
	}}
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/ws" {
			conn, _, err := http.NewResponseController(w).Hijack()
			if err != nil {
				t.Error(err)
				return
			}
			fmt.Fprint(conn, "HTTP/1.1 101 Switching Protocols\r\n\r\n")
			t.Cleanup(func() { conn.Close() })
		}
	}))
	server.Config.ConnState = d.look
	server.Start()
	defer server.Close()
	knock := func(path string) (net.Conn, error) {
		conn, err := net.Dial("tcp", server.Listener.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { conn.Close() })
		_ = conn.SetDeadline(time.Now().Add(30 * time.Second))
		fmt.Fprintf(conn, "GET %s HTTP/1.1\r\nHost: h\r\n\r\n", path)
		_, err = http.ReadResponse(bufio.NewReader(conn), nil)
		return conn, err
	}
	var first net.Conn
	for i := range 3 { // they stay open
		conn, err := knock("/")
		if err != nil {
			t.Fatalf("connection %d: %v", i, err)
		}
		if i == 0 {
			first = conn
		}
	}
	if _, err := knock("/"); err == nil || refused.Load() != 1 {
		t.Fatalf("one more: %v, %d refused", err, refused.Load())
	}
	first.Close()
	for deadline := time.Now().Add(30 * time.Second); ; { // WebSockets are counted elsewhere
		_, err := knock("/ws")
		if err == nil {
			break
		}
		if time.Now().After(deadline) {
			t.Fatal(err)
		}
	}
	if _, err := knock("/"); err != nil && !errors.Is(err, io.EOF) {
		t.Fatal(err)
	} else if err != nil {
		t.Fatal("a WebSocket took the place of a stranger")
	}
}
