//go:build soak

package e2e_test

import (
	"context"
	"fmt"
	"strings"
	"time"
)

// flood is a socket on which the same kind of message is sent as fast as it is taken.
func flood(name string, clients int, message func(i int) []byte) attack {
	return attack{name: name, clients: clients, every: 200 * time.Millisecond, want: []string{"closed 1008"}, once: func(ctx context.Context, h hostile) string {
		r, err := h.upgraded(ctx, h.user, "")
		if err != nil {
			return outcomeOf(err)
		}
		defer r.Close()
		ended := make(chan string, 1)
		go func() { ended <- r.verdict(time.Hour) }()
		for i := 0; ; i++ {
			if _, err := r.Write(message(i)); err != nil {
				return <-ended
			}
			select {
			case what := <-ended:
				return what
			default:
			}
		}
	}}
}

// calling is a flood of calls.
func calling(name string, clients int, want []string, call func(ctx context.Context, h hostile) string) attack {
	return attack{name: name, clients: clients, every: 5 * time.Millisecond, want: want, once: call}
}

// Too much of what is allowed.
var hostileFloods = []attack{
	flood("commands", 4, func(int) []byte { return command("list_chat_turns", `{}`) }),
	flood("messages", 4, func(i int) []byte {
		return command("chat_message", fmt.Sprintf(`{"thread_id":"flood%d","content":%q}`, i%50, strings.Repeat("x", 1000)))
	}),
	flood("resumes", 4, func(_ int) []byte {
		return command("resume_chat", `{"thread_id":"feast","full":true}`)
	}),
	flood("stops", 2, func(i int) []byte { return command("stop", fmt.Sprintf(`{"thread_id":"flood%d"}`, i%50)) }),
	flood("threads of one connection", 2, func(i int) []byte {
		return command("follow", fmt.Sprintf(`{"thread_id":"many%d"}`, i))
	}),
	flood("answers to nothing", 2, func(i int) []byte {
		return wsText(fmt.Sprintf(`{"type":"tool_result","tool_call_id":"c%d","ok":true,"result":1}`, i))
	}),
	flood("manifests", 2, func(int) []byte {
		return wsText(`{"type":"client_tools_manifest","tools":[` + strings.Repeat(`{"name":"t","description":"x"},`, 300) + `{"name":"t"}]}`)
	}),
	{
		name: "connects", clients: 6, every: 10 * time.Millisecond, want: []string{"connected"},
		once: func(ctx context.Context, h hostile) string {
			r, err := h.upgraded(ctx, h.user, "")
			if err != nil {
				return outcomeOf(err)
			}
			r.Close()
			return "connected"
		},
	},
	{
		name: "connections kept", clients: 150, every: time.Second, want: []string{"refused with 429"},
		once: func(ctx context.Context, h hostile) string {
			r, err := h.upgraded(ctx, h.user, "")
			if err != nil {
				return outcomeOf(err)
			}
			defer r.Close()
			return r.verdict(time.Hour)
		},
	},
	calling("idempotency keys", 4, []string{"HTTP 429"}, func(ctx context.Context, h hostile) string {
		return h.call(ctx, h.user, "POST", "/v1/threads/keys/turns", `{"content":"x","on_busy":"reject"}`, "Idempotency-Key", unique())
	}),
	calling("queues", 2, []string{"HTTP 429", "HTTP 409"}, func(ctx context.Context, h hostile) string {
		h.feast(ctx)
		return h.call(ctx, h.user, "POST", "/v1/threads/feast/turns", `{"content":"x","on_busy":"enqueue"}`)
	}),
	calling("steers", 4, []string{"HTTP 429"}, func(ctx context.Context, h hostile) string {
		h.feast(ctx)
		return h.call(ctx, h.user, "POST", "/v1/threads/feast/steer", `{"content":"x"}`)
	}),
	calling("threads", 2, []string{"HTTP 429"}, func(ctx context.Context, h hostile) string {
		return h.call(ctx, h.user, "PUT", "/v1/threads/list"+unique(), `{"title":"x"}`)
	}),
	calling("long lists", 4, []string{"HTTP 429"}, func(ctx context.Context, h hostile) string {
		return h.call(ctx, h.user, "GET", "/v1/threads?limit=200", "")
	}),
	calling("bad tokens", 4, []string{"HTTP 401"}, func(ctx context.Context, h hostile) string {
		return h.call(ctx, nobody, "GET", "/v1/turns", "", "Authorization", "Bearer "+h.token(nobody)+"x")
	}),
}
