//go:build soak

package e2e_test

import (
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"time"
)

// Before anybody knows who it is: slow and large handshakes, and requests in a pipe.
var hostileHandshakes = []attack{
	{
		name: "slow headers", clients: 40, every: 100 * time.Millisecond, want: []string{"HTTP 408", "cut"},
		once: func(ctx context.Context, h hostile) string {
			r, err := dialRaw(ctx, h.plain)
			if err != nil {
				return outcomeOf(err)
			}
			defer r.Close()
			_ = r.say("GET /v1/turns HTTP/1.1\r\nHost: %s\r\n", h.plain)
			for i := 0; ctx.Err() == nil; i++ {
				if r.say("X-%d: %s\r\n", i, strings.Repeat("x", 1000)) != nil {
					return "cut"
				}
				pause(ctx, 300*time.Millisecond)
			}
			return ""
		},
	},
	{
		name: "slow TLS", clients: 20, every: 100 * time.Millisecond, want: []string{"cut"},
		once: func(ctx context.Context, h hostile) string {
			r, err := dialRaw(ctx, h.tls)
			if err != nil {
				return outcomeOf(err)
			}
			defer r.Close()
			// A hello of 16 KiB is announced and comes byte by byte.
			hello := append([]byte{22, 3, 1, 0x3f, 0xff, 1, 0, 0x3f, 0xfb, 3, 3}, make([]byte, 200)...)
			for _, b := range hello {
				if _, err := r.Write([]byte{b}); err != nil {
					return "cut"
				}
				if pause(ctx, 250*time.Millisecond); ctx.Err() != nil {
					return ""
				}
			}
			return "waits"
		},
	},
	{
		name: "huge headers", clients: 4, every: 50 * time.Millisecond, want: []string{"HTTP 431"},
		once: func(ctx context.Context, h hostile) string {
			r, err := dialRaw(ctx, h.plain)
			if err != nil {
				return outcomeOf(err)
			}
			defer r.Close()
			_ = r.SetDeadline(time.Now().Add(10 * time.Second))
			_ = r.say("GET /v1/turns HTTP/1.1\r\nHost: %s\r\nX-A: %s\r\n\r\n", h.plain, strings.Repeat("x", 1<<20))
			resp, err := r.status()
			if err != nil {
				return outcomeOf(err)
			}
			return fmt.Sprint("HTTP ", resp.StatusCode)
		},
	},
	{
		name: "huge tokens", clients: 2, every: 20 * time.Millisecond, want: []string{"HTTP 401"},
		once: func(ctx context.Context, h hostile) string {
			return h.call(ctx, nobody, "GET", "/v1/turns", "", "Authorization", "Bearer "+strings.Repeat("eyJ.", 15<<10))
		},
	},
	{
		name: "huge ids", clients: 2, every: 20 * time.Millisecond, want: []string{"HTTP 404", "HTTP 400"},
		once: func(ctx context.Context, h hostile) string {
			return h.call(ctx, h.user, "GET", "/v1/threads/"+strings.Repeat("%2e", 10<<10)+"/messages", "")
		},
	},
	{
		name: "pipelining", clients: 4, every: 100 * time.Millisecond, want: []string{"answered", "cut"},
		once: func(ctx context.Context, h hostile) string {
			r, err := dialRaw(ctx, h.plain)
			if err != nil {
				return outcomeOf(err)
			}
			defer r.Close()
			_ = r.SetDeadline(time.Now().Add(10 * time.Second))
			const pipe = 200
			request := fmt.Sprintf("GET /v1/turns HTTP/1.1\r\nHost: %s\r\nAuthorization: Bearer %s\r\n\r\n", h.plain, h.token(h.user))
			go func() { _ = r.say("%s", strings.Repeat(request, pipe)) }() // ends with the connection
			for range pipe {
				resp, err := http.ReadResponse(r.in, nil)
				if err != nil {
					return outcomeOf(err)
				}
				_, _ = io.Copy(io.Discard, resp.Body)
			}
			return "answered"
		},
	},
	{
		name: "TLS connects", clients: 2, every: 100 * time.Millisecond, want: []string{"shook hands"},
		once: func(ctx context.Context, h hostile) string {
			d := tls.Dialer{NetDialer: &net.Dialer{Timeout: 10 * time.Second}, Config: h.trust}
			conn, err := d.DialContext(ctx, "tcp", h.tls)
			if err != nil {
				return outcomeOf(err)
			}
			conn.Close()
			return "shook hands"
		},
	},
}
