//go:build soak

package e2e_test

import (
	"bytes"
	"compress/gzip"
	"context"
	bytesof "encoding/binary"
	"fmt"
	"strings"
	"time"
)

// bomb is a message that is small on the way and would be large if it were believed.
func bomb(name string, clients int, want string, opcode byte, message []byte) attack {
	return attack{name: name, clients: clients, every: 50 * time.Millisecond, want: []string{want}, once: func(ctx context.Context, h hostile) string {
		r, err := h.upgraded(ctx, h.user, "")
		if err != nil {
			return outcomeOf(err)
		}
		defer r.Close()
		if _, err := r.Write(wsFrame(0x80|opcode, len(message), message)); err != nil {
			return "cut"
		}
		return r.answered(`"error":"invalid_frame"`, 10*time.Second)
	}}
}

// answered reads messages until one contains text.
func (r *raw) answered(text string, patience time.Duration) string {
	_ = r.SetReadDeadline(time.Now().Add(patience))
	var seen []byte
	for buf := make([]byte, 4096); ; {
		n, err := r.in.Read(buf)
		if seen = append(seen, buf[:n]...); bytes.Contains(seen, []byte(text)) {
			return "refused"
		}
		if err != nil {
			return outcomeOf(err)
		}
	}
}

// packed is the head of a MessagePack value that claims four billion of something.
func packed(kind byte) []byte {
	return bytesof.BigEndian.AppendUint32([]byte{kind}, 1<<32-1)
}

func gzipped(text string) string {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	_, _ = w.Write([]byte(text))
	_ = w.Close()
	return b.String()
}

const post = "/v1/threads/bombs/turns"

// posted is a bomb as the body of a call.
func posted(name string, want string, body string, header ...string) attack {
	return attack{name: name, clients: 2, every: 50 * time.Millisecond, want: []string{want}, once: func(ctx context.Context, h hostile) string {
		return h.call(ctx, h.user, "POST", post, body, header...)
	}}
}

// Content that is worse than it looks.
var hostileBombs = []attack{
	bomb("MessagePack of claimed lists", 2, "refused", opBinary, packed(0xdd)),
	bomb("MessagePack of claimed maps", 2, "refused", opBinary, packed(0xdf)),
	bomb("MessagePack of a claimed string", 2, "refused", opBinary, packed(0xdb)),
	bomb("MessagePack, deep", 2, "refused", opBinary, bytes.Repeat([]byte{0x91}, 500_000)),
	bomb("MessagePack, many", 2, "refused", opBinary, append(bytesof.BigEndian.AppendUint32([]byte{0xdd}, 900_000), make([]byte, 900_000)...)),
	bomb("JSON, deep", 2, "refused", opText, bytes.Repeat([]byte("["), 500_000)),
	bomb("JSON, many", 2, "refused", opText, []byte("["+strings.Repeat("0,", 450_000)+"0]")),
	posted("JSON body, deep", "HTTP 400", strings.Repeat(`{"a":`, 100_000)),
	posted("gzip body", "HTTP 400", strings.Repeat(gzipped(strings.Repeat(" ", 1<<20)), 64), "Content-Encoding", "gzip"),
	posted("many tools", "HTTP 400", `{"content":"x","tools":[`+strings.Repeat(`{"name":"t"},`, 30_000)+`{"name":"t"}]}`),
	posted("large body", "HTTP 413", `{"content":"`+strings.Repeat("x", 2<<20)+`"}`),
	{
		name: "large messages that never end", clients: 160, users: 4, every: time.Second, want: []string{"held", "closed 1013", "closed 4008"},
		once: func(ctx context.Context, h hostile) string {
			r, err := h.upgraded(ctx, h.user, "")
			if err != nil {
				return outcomeOf(err)
			}
			defer r.Close()
			if _, err := r.Write(wsFrame(0x80|opText, 1<<20, make([]byte, 1<<20-1))); err != nil {
				return r.verdict(time.Second)
			}
			ended := make(chan string, 1)
			go func() { ended <- r.verdict(time.Hour) }()
			select {
			case what := <-ended:
				return what
			case <-ctx.Done():
				<-ended
				return "held"
			}
		},
	},
	{
		name: "large bodies that never end", clients: 80, users: 2, every: time.Second, want: []string{"held", "HTTP 429", "HTTP 503", "HTTP 408"},
		once: func(ctx context.Context, h hostile) string {
			r, err := dialRaw(ctx, h.plain)
			if err != nil {
				return outcomeOf(err)
			}
			defer r.Close()
			_ = r.say("POST %s HTTP/1.1\r\nHost: %s\r\nAuthorization: Bearer %s\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n", post, h.plain, h.token(h.user), 1<<20)
			_, _ = r.Write(make([]byte, 1<<20-1))
			resp, err := r.status()
			if err != nil && ctx.Err() != nil {
				return "held"
			}
			if err != nil {
				return outcomeOf(err)
			}
			return fmt.Sprint("HTTP ", resp.StatusCode)
		},
	},
	{
		name: "slow bodies", clients: 20, every: time.Second, want: []string{"held", "HTTP 408", "HTTP 429"},
		once: func(ctx context.Context, h hostile) string {
			r, err := dialRaw(ctx, h.plain)
			if err != nil {
				return outcomeOf(err)
			}
			defer r.Close()
			_ = r.say("POST %s HTTP/1.1\r\nHost: %s\r\nAuthorization: Bearer %s\r\nContent-Type: application/json\r\nContent-Length: 100000\r\n\r\n", post, h.plain, h.token(h.user))
			ended := make(chan string, 1)
			go func() {
				resp, err := r.status()
				if err != nil {
					ended <- outcomeOf(err)
					return
				}
				ended <- fmt.Sprint("HTTP ", resp.StatusCode)
			}()
			for {
				select {
				case what := <-ended:
					if ctx.Err() != nil {
						return "held"
					}
					return what
				case <-time.After(200 * time.Millisecond):
					_ = r.say(" ")
				}
			}
		},
	},
}
