package eventlog_test

import (
	"context"
	"math/rand/v2"
	"sync"
	"testing"

	"turnlog/eventlog"
)

// Viewers join, resume and leave at random while frames are committed, live
// messages get lost and repeated, and the log is trimmed: what each viewer
// gets is contiguous between headers, and ends at the end.
func TestB10_B14_B20_ViewersUnderEverythingAtOnce(t *testing.T) {
	r := newRig(eventlog.HubOptions{RingFrames: 16, CheckEvery: 5e6, IdleCheckEvery: 5e6})
	stop := r.run(t)
	r.append(alice, "turn_started")
	const frames = 3000
	r.bus.setLose(func(string) bool { return rand.IntN(4) == 0 })
	var writer, viewers sync.WaitGroup
	writer.Go(func() {
		for i := range frames {
			c := r.append(alice, "chunk")
			if i%3 == 0 {
				r.hub.Committed(c)
			}
			if i%500 == 499 {
				r.trim(alice, c.FirstSeq-100)
			}
		}
		r.append(alice, "turn_finished")
	})
	for range 8 {
		viewers.Go(func() {
			c := eventlog.Cursor{}
			for range 30 {
				tl := r.join(t, alice, c)
				for range 20 {
					tl.pull()
					if rand.IntN(10) == 0 {
						again := eventlog.Cursor{LastSeq: max(1, tl.last-5), Epoch: []string{"", "E1"}[rand.IntN(2)]}
						if err := tl.v.Rejoin(t.Context(), again, eventlog.PolicyUnset); err != nil {
							t.Error(err)
						}
					}
				}
				c = eventlog.Cursor{LastSeq: tl.last, Epoch: "E1"}
				tl.v.Leave(context.Background(), false)
			}
			tl := r.join(t, alice, c)
			tl.until(frames + 2)
			tl.v.Leave(context.Background(), false)
		})
	}
	writer.Wait()
	viewers.Wait()
	stop()
	r.attached(t, false)
	if n := r.bus.subscriptions(); n != 0 {
		t.Errorf("%d subscriptions are left", n)
	}
}
