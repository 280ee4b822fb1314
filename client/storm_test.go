package client_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"turnlog/client"
	"turnlog/internal/netproxy"
)

// storm breaks networks at random moments and in random ways until it is stopped. After each
// fault it waits for progress, so that there is some on a machine that is busy.
func (w *world) storm(rnd *rand.Rand, progress func() int) (stop func() (faults int)) {
	quit := make(chan struct{})
	pause := func(d time.Duration) (stopped bool) {
		select {
		case <-quit:
			return true
		case <-time.After(d):
			return false
		}
	}
	var raging sync.WaitGroup
	faults := 0
	raging.Go(func() {
		for !pause(time.Duration(rnd.IntN(100)) * time.Millisecond) {
			faults++
			switch bytes := int64(rnd.IntN(6000)); rnd.IntN(12) {
			case 0: // the next connections break in the middle of something
				var n atomic.Int32
				w.all(func(p *netproxy.Proxy) {
					p.CutAfter(func(int) int64 {
						if n.Add(1) > 4 {
							return -1
						}
						return bytes
					})
				})
				w.cut()
			case 1:
				w.all((*netproxy.Proxy).HalfOpen)
			case 2:
				w.all((*netproxy.Proxy).BlackHole)
				pause(time.Duration(rnd.IntN(3000)) * time.Millisecond)
				w.all((*netproxy.Proxy).Resume)
			default:
				w.cut()
			}
			for before := progress(); progress() == before && !pause(time.Millisecond); {
			}
		}
		w.all(func(p *netproxy.Proxy) { p.CutAfter(nil); p.Resume() })
	})
	return func() int {
		close(quit)
		raging.Wait()
		return faults
	}
}

func TestB10_B110_B114_RandomFaultsOverManyTurnsLoseNothing(t *testing.T) {
	t.Parallel()
	const threads, turns = 4, 25
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	w := newWorld(t, nil)
	see := newWitness()
	c := w.dial(client.Options{Handler: see.handler(), Silence: 2 * time.Second, DialTimeout: 2 * time.Second})
	stop := w.storm(rand.New(rand.NewPCG(seed, 0)), see.progress)
	wants := make([][]string, threads) // by thread, what user and agent said
	turnIDs := make([][]string, threads)
	var talking sync.WaitGroup
	for i := range threads {
		rnd := rand.New(rand.NewPCG(seed, uint64(i+1)))
		thread := fmt.Sprint("t", i)
		talking.Go(func() {
			for n := range turns {
				frames := 1 + rnd.IntN(40)
				p, err := c.Send(thread, client.Message{Content: strconv.Itoa(n), Extra: script(frames, rnd.Float64()*6, nil)})
				if err != nil {
					t.Error(err)
					return
				}
				ack, err := p.Wait(t.Context())
				if err != nil {
					t.Error(err)
					return
				}
				wants[i] = append(wants[i], "user "+strconv.Itoa(n), "assistant "+said(frames))
				turnIDs[i] = append(turnIDs[i], ack.TurnID)
				if !eventually(func() bool { return !c.Thread(thread).Busy }) {
					t.Errorf("%s: turn %d does not end", thread, n)
					return
				}
			}
		})
	}
	talking.Wait()
	faults := stop()
	for i := range threads {
		thread := fmt.Sprint("t", i)
		var got []string
		for _, m := range w.messages(c, thread) {
			got = append(got, m.Role+" "+content(m))
		}
		if fmt.Sprint(got) != fmt.Sprint(wants[i]) {
			t.Errorf("%s: the history is %q, want %q", thread, got, wants[i])
		}
		for n, turn := range turnIDs[i] {
			if see.partial[turn] {
				continue // its beginning came with the history
			}
			if got := see.text(turn); "assistant "+got != wants[i][2*n+1] || see.outcome(turn) != "completed" {
				t.Errorf("%s, turn %d: %s, frames said %q, want %q", thread, n, see.outcome(turn), got, wants[i][2*n+1])
			}
		}
	}
	t.Logf("%d faults, %d connections, %d turns partly from the history", faults, see.connections(), len(see.partial))
	if len(see.wrong) > 0 {
		t.Errorf("numbers: %v", see.wrong)
	}
	// A thread's first turn may be over before this client has learnt its epoch.
	if len(see.partial) > threads {
		t.Errorf("%d incomplete replays of %d threads", len(see.partial), threads)
	}
	if faults < 10 || see.connections() < 10 {
		t.Errorf("%d faults, %d connections: no storm", faults, see.connections())
	}
}

// content is a message's text.
func content(m client.Entry) string {
	var s string
	if json.Unmarshal(m.Content, &s) != nil {
		return string(m.Content)
	}
	return s
}
