package e2e_test

import (
	"context"
	"strings"
	"sync"
	"testing"
	"time"

	"turnlog/client"
	"turnlog/e2e/wire"
)

// F5: the socket is cut every 50 ms for 10 s in the middle of a turn; the Go client, as
// everybody uses it, ends with the right text.
func TestF5_AReconnectStormLosesNothing(t *testing.T) {
	p := at(t, twoNodes)
	nets := proxies(t, p)
	user := someone()
	const frames = 1200
	var mu sync.Mutex
	var text strings.Builder
	var seqs []int64
	ended := make(chan string, 1)
	connects := 0
	url := "ws://" + nets[0].Addr() + "/ws"
	c, err := client.Dial(t.Context(), url, client.Options{
		User: user, MaxDelay: 200 * time.Millisecond,
		Handler: client.Handler{
			OnFrame: func(f client.Frame) {
				mu.Lock()
				defer mu.Unlock()
				if f.Seq > 0 {
					seqs = append(seqs, f.Seq)
				}
			},
			OnText: func(_, s string) {
				mu.Lock()
				defer mu.Unlock()
				text.WriteString(s)
			},
			OnFinish: func(f client.Finish) { ended <- f.Outcome },
			OnState: func(s client.State) {
				if s.Phase == client.Online {
					mu.Lock()
					connects++
					mu.Unlock()
				}
			},
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	pending, err := c.Send("t", client.Message{Content: "go", Extra: object{"demo": object{"frames": frames, "interval_ms": 9, "bytes": 30}}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := pending.Wait(t.Context()); err != nil {
		t.Fatal(err)
	}
	storm := time.After(10 * time.Second)
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for raging := true; raging; {
		select {
		case <-tick.C:
			nets[0].Cut()
		case <-storm:
			raging = false
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	select {
	case outcome := <-ended:
		if outcome != "completed" {
			t.Errorf("outcome %s", outcome)
		}
	case <-ctx.Done():
		t.Fatal("the client never saw the end")
	}
	mu.Lock()
	defer mu.Unlock()
	if text.String() != wire.DemoText(frames, 30) {
		t.Errorf("text of %d bytes differs from what the agent said", text.Len())
	}
	for i, n := range seqs {
		if n != int64(i+1) {
			t.Fatalf("frame %d has number %d", i+1, n)
		}
	}
	t.Logf("%d connections", connects)
	if connects < 20 {
		t.Errorf("%d connections: no storm", connects)
	}
}
