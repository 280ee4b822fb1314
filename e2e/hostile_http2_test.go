//go:build soak

package e2e_test

import (
	"context"
	"crypto/tls"
	bytesof "encoding/binary"
	"io"
	"net"
	"time"
)

// h2Preface begins a connection of HTTP/2, with empty settings.
var h2Preface = append([]byte("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"), h2Frame(0x4, 0, 0, nil)...)

func h2Frame(kind, flags byte, stream uint32, payload []byte) []byte {
	b := []byte{byte(len(payload) >> 16), byte(len(payload) >> 8), byte(len(payload)), kind, flags}
	return append(bytesof.BigEndian.AppendUint32(b, stream), payload...)
}

// h2Field is a header without Huffman coding and without an index.
func h2Field(name, value string) []byte {
	b := append([]byte{0, byte(len(name))}, name...)
	return append(append(b, byte(len(value))), value...)
}

func (s *siege) h2Get(path string) (fields []byte) {
	fields = append(h2Field(":method", "GET"), h2Field(":scheme", "https")...)
	return append(append(fields, h2Field(":authority", s.tls)...), h2Field(":path", path)...)
}

// h2 is a connection of HTTP/2 without a library on it.
func (s *siege) h2(ctx context.Context) (net.Conn, error) {
	config := s.trust.Clone()
	config.NextProtos = []string{"h2"}
	conn, err := (&tls.Dialer{NetDialer: &net.Dialer{Timeout: 10 * time.Second}, Config: config}).DialContext(ctx, "tcp", s.tls)
	if err != nil {
		return nil, err
	}
	if _, err = conn.Write(h2Preface); err != nil {
		conn.Close()
		return nil, err
	}
	return conn, nil
}

// h2Attack sends frames until the server has enough of it.
func h2Attack(name string, clients int, every time.Duration, want []string, listens bool, frames func(h hostile, i int) []byte) attack {
	return attack{name: name, clients: clients, every: 100 * time.Millisecond, want: want, once: func(ctx context.Context, h hostile) string {
		conn, err := h.h2(ctx)
		if err != nil {
			return outcomeOf(err)
		}
		defer conn.Close()
		defer context.AfterFunc(ctx, func() { conn.Close() })()
		if listens {
			go func() { _, _ = io.Copy(io.Discard, conn) }() // ends with the connection
		}
		for i := 0; ctx.Err() == nil; i++ {
			if _, err := conn.Write(frames(h, i)); err != nil {
				return "cut"
			}
			if every > 0 {
				pause(ctx, every)
			}
		}
		return "held"
	}}
}

// Attacks that HTTP/2 has of its own.
var hostileHTTP2 = []attack{
	h2Attack("HTTP/2 rapid reset", 2, time.Millisecond, []string{"held", "cut"}, true, func(h hostile, i int) []byte {
		stream := uint32(2*i + 1)
		return append(h2Frame(0x1, 0x5, stream, h.h2Get("/v1/turns")), h2Frame(0x3, 0, stream, []byte{0, 0, 0, 8})...)
	}),
	h2Attack("HTTP/2 settings", 2, time.Millisecond, []string{"held", "cut"}, false, func(hostile, int) []byte { return h2Frame(0x4, 0, 0, nil) }),
	h2Attack("HTTP/2 pings", 2, time.Millisecond, []string{"held", "cut"}, false, func(hostile, int) []byte { return h2Frame(0x6, 0, 0, make([]byte, 8)) }),
	h2Attack("HTTP/2 headers without end", 2, 5*time.Millisecond, []string{"cut"}, true, func(h hostile, i int) []byte {
		if i == 0 {
			return h2Frame(0x1, 0x1, 1, h.h2Get("/v1/turns"))
		}
		return h2Frame(0x9, 0, 1, h2Field("x", "0123456789"))
	}),
	h2Attack("HTTP/2 streams nobody reads", 2, 2*time.Millisecond, []string{"held", "cut"}, false, func(h hostile, i int) []byte {
		return h2Frame(0x1, 0x5, uint32(2*i+1), h.h2Get("/v1/openapi.json"))
	}),
}
