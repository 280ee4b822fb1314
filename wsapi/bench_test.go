package wsapi_test

import (
	"bufio"
	"net"
	"net/http"
	"runtime"
	"strings"
	"testing"

	"turnlog/wsapi"
)

// idle opens a connection with nothing of a client behind it and reads the
// welcome.
func idle(b *testing.B, addr string) net.Conn {
	b.Helper()
	c, err := net.Dial("tcp", addr)
	if err != nil {
		b.Fatal(err)
	}
	const handshake = "GET / HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n" +
		"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n"
	if _, err := c.Write([]byte(handshake)); err != nil {
		b.Fatal(err)
	}
	r := bufio.NewReader(c)
	resp, err := http.ReadResponse(r, nil)
	if err != nil || resp.StatusCode != http.StatusSwitchingProtocols {
		b.Fatalf("handshake: %v %v", resp, err)
	}
	if _, err := r.ReadByte(); err != nil {
		b.Fatal(err)
	}
	return c
}

// BenchmarkIdleConnection reports what the server keeps for a connection that
// does nothing.
func BenchmarkIdleConnection(b *testing.B) {
	w := newWorld()
	_, url := serve(b, w, wsapi.Options{}, nil)
	memory := func() uint64 {
		runtime.GC()
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapAlloc + m.StackInuse
	}
	const n = 2000
	for b.Loop() {
		before := memory()
		conns := make([]net.Conn, n)
		for i := range conns {
			conns[i] = idle(b, strings.TrimPrefix(url, "ws://"))
		}
		after := memory()
		b.ReportMetric(float64(after-before)/n, "B/conn")
		for _, c := range conns {
			c.Close()
		}
	}
}

// BenchmarkDelivery measures one frame on its way to one of many viewers.
func BenchmarkDelivery(b *testing.B) {
	w := newWorld()
	s, url := serve(b, w, wsapi.Options{}, nil)
	w.begin("1", "t", "T")
	for range 20000 {
		w.emit("1", "t", `{"type":"chunk","content":"some words of an answer that goes on"}`)
	}
	p := dial(b, url)
	b.ReportAllocs()
	frames, start := 0, s.Writes()
	for b.Loop() {
		p.send(`{"command":"resume_chat","data":{"thread_id":"t","last_seq":1,"epoch":"e1"}}`)
		for range 20002 {
			if _, _, err := p.raw(); err != nil {
				b.Fatal(err)
			}
			frames++
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(frames), "ns/frame")
	b.ReportMetric(float64(frames)/float64(s.Writes()-start), "frames/write")
}
