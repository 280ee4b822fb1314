//go:build soak

package e2e_test

import (
	"context"
	"strings"
	"time"
)

// feast starts a turn of the user that says a lot, for those who do not listen.
func (h hostile) feast(ctx context.Context) {
	if h.me == 0 {
		h.call(ctx, h.user, "POST", "/v1/threads/feast/turns", `{"content":"x","on_busy":"reject","demo":{"frames":5000,"bytes":4000,"interval_ms":5}}`)
	}
}

// deaf holds a connection that never reads until it is cut.
func deaf(ctx context.Context, r *raw) string {
	<-ctx.Done()
	return "held"
}

// Clients that ask for much and take nothing.
var hostileReaders = []attack{
	{
		name: "deaf sockets", clients: 40, every: time.Second, want: []string{"held", "cut"},
		once: func(ctx context.Context, h hostile) string {
			r, err := h.upgraded(ctx, h.user, "")
			if err != nil {
				return outcomeOf(err)
			}
			defer r.Close()
			h.feast(ctx)
			_, _ = r.Write(command("follow", `{"thread_id":"feast"}`))
			return deaf(ctx, r)
		},
	},
	{
		name: "deaf event streams", clients: 40, every: time.Second, want: []string{"held", "cut"},
		once: func(ctx context.Context, h hostile) string {
			r, err := dialRaw(ctx, h.plain)
			if err != nil {
				return outcomeOf(err)
			}
			defer r.Close()
			h.feast(ctx)
			_ = r.say("GET /v1/threads/feast/events?follow=thread&full=1 HTTP/1.1\r\nHost: %s\r\nAuthorization: Bearer %s\r\n\r\n", h.plain, h.token(h.user))
			return deaf(ctx, r)
		},
	},
	{
		name: "deaf askers", clients: 8, every: time.Second, want: []string{"closed 4008", "held", "cut"},
		once: func(ctx context.Context, h hostile) string {
			r, err := h.upgraded(ctx, h.user, "")
			if err != nil {
				return outcomeOf(err)
			}
			defer r.Close()
			for ctx.Err() == nil { // replies nobody reads
				if _, err := r.Write(wsText(`{"command":"nonsense","request_id":"` + strings.Repeat("r", 1000) + `"}`)); err != nil {
					return "cut"
				}
				pause(ctx, 6*time.Millisecond)
			}
			return "held"
		},
	},
	{
		name: "deaf callers", clients: 20, every: time.Second, want: []string{"held", "cut"},
		once: func(ctx context.Context, h hostile) string {
			r, err := dialRaw(ctx, h.plain)
			if err != nil {
				return outcomeOf(err)
			}
			defer r.Close()
			h.feast(ctx)
			for range 50 {
				_ = r.say("GET /v1/threads/feast/frames?limit=1000 HTTP/1.1\r\nHost: %s\r\nAuthorization: Bearer %s\r\n\r\n", h.plain, h.token(h.user))
			}
			return deaf(ctx, r)
		},
	},
	{
		name: "slow readers", clients: 4, every: 100 * time.Millisecond, want: []string{"held", "cut"},
		once: func(ctx context.Context, h hostile) string {
			r, err := dialRaw(ctx, h.plain)
			if err != nil {
				return outcomeOf(err)
			}
			defer r.Close()
			h.feast(ctx)
			_ = r.say("GET /v1/threads/feast/events?follow=thread&full=1 HTTP/1.1\r\nHost: %s\r\nAuthorization: Bearer %s\r\n\r\n", h.plain, h.token(h.user))
			for one := make([]byte, 1); ctx.Err() == nil; pause(ctx, 50*time.Millisecond) {
				if _, err := r.Read(one); err != nil {
					return "cut"
				}
			}
			return "held"
		},
	},
}
