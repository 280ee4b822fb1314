//go:build soak

package e2e_test

import (
	"context"
	"time"
)

// garbled is an attack on a socket: what first is sent, then what is sent again and again.
func garbled(name string, clients int, want []string, first []byte, again func() []byte, every time.Duration) attack {
	return attack{name: name, clients: clients, every: 100 * time.Millisecond, want: want, once: func(ctx context.Context, h hostile) string {
		r, err := h.upgraded(ctx, h.user, "Sec-WebSocket-Extensions: permessage-deflate\r\n")
		if err != nil {
			return outcomeOf(err)
		}
		defer r.Close()
		if _, err := r.Write(first); err != nil {
			return "cut"
		}
		if again == nil {
			return r.verdict(5 * time.Second)
		}
		ended := make(chan string, 1)
		go func() { ended <- r.verdict(time.Hour) }()
		tick := time.NewTicker(every)
		defer tick.Stop()
		for {
			select {
			case what := <-ended:
				return what
			case <-tick.C:
				if _, err := r.Write(again()); err != nil {
					return <-ended
				}
			}
		}
	}}
}

func fixed(b []byte) func() []byte { return func() []byte { return b } }

// Frames that are half, wrong, endless, or too many.
var hostileFrames = []attack{
	garbled("header, then silence", 10, []string{"waits", "closed 4008"}, wsFrame(0x80|opText, 1000, nil), nil, 0),
	garbled("fragments for ever", 10, []string{"closed 1009", "closed 4008", "cut"}, wsFrame(opText, 1, []byte(`"`)), fixed(wsFrame(opContinue, 100, make([]byte, 100))), 20*time.Millisecond),
	garbled("empty fragments for ever", 2, []string{"closed 4008", "cut"}, wsFrame(opText, 1, []byte(`"`)), fixed(wsFrame(opContinue, 0, nil)), time.Millisecond),
	garbled("claims 2^62 bytes", 4, []string{"waits"}, wsFrame(0x80|opText, 1<<62, []byte("{")), nil, 0),
	garbled("claims a negative size", 2, []string{"closed 1002", "cut"}, append([]byte{0x80 | opText, 0x80 | 127}, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0), nil, 0),
	garbled("unmasked", 4, []string{"closed 1002", "cut"}, []byte{0x80 | opText, 2, '{', '}'}, nil, 0),
	garbled("reserved bits, as of compression", 4, []string{"closed 1002", "cut"}, wsFrame(0xc0|opText, 4, make([]byte, 4)), nil, 0),
	garbled("unknown opcode", 2, []string{"closed 1002", "cut"}, wsFrame(0x80|5, 0, nil), nil, 0),
	garbled("continues nothing", 2, []string{"closed 1002", "cut"}, wsFrame(0x80|opContinue, 1, []byte("x")), nil, 0),
	garbled("large control frame", 2, []string{"closed 1002", "cut"}, wsFrame(0x80|opPing, 1000, make([]byte, 1000)), nil, 0),
	garbled("pings", 4, []string{"closed 1008"}, nil, fixed(wsFrame(0x80|opPing, 100, make([]byte, 100))), time.Millisecond),
	garbled("ping frames", 4, []string{"closed 1008"}, nil, fixed(wsText(`{"type":"ping","ts":1}`)), time.Millisecond),
}
