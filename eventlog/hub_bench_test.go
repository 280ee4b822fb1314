package eventlog_test

import (
	"context"
	"fmt"
	"strconv"
	"testing"

	"turnlog/eventlog"
)

// BenchmarkHub_CommittedToNext measures one committed frame reaching every
// viewer of the node: encoding once, one wake-up and one Next per viewer.
func BenchmarkHub_CommittedToNext(b *testing.B) {
	for _, viewers := range []int{1, 10, 1000} {
		for _, batch := range []int{1, 32} {
			b.Run(fmt.Sprintf("viewers=%d/batch=%d", viewers, batch), func(b *testing.B) {
				benchDelivery(b, viewers, batch)
			})
		}
	}
}

func benchDelivery(b *testing.B, viewers, batch int) {
	r := newRig(eventlog.HubOptions{})
	r.append(alice, "turn_started")
	woken := 0
	var all []*eventlog.Viewer
	for range viewers {
		v, err := r.hub.Join(b.Context(), alice, eventlog.Cursor{Live: true}, eventlog.JoinOptions{Wake: func(*eventlog.Viewer) { woken++ }})
		if err != nil {
			b.Fatal(err)
		}
		all = append(all, v)
	}
	ctx := context.Background()
	for _, v := range all {
		if _, err := v.Next(ctx, 256, 1<<20); err != nil {
			b.Fatal(err)
		}
	}
	entries := make([]eventlog.Entry, batch)
	for i := range entries {
		entries[i] = eventlog.Entry{Type: "chunk", Frame: []byte(`{"type":"chunk","content":"` + strconv.Itoa(i) + ` twelve or so words of an answer, as a model streams it"}`)}
	}
	c := eventlog.Commit{Thread: alice, Epoch: "E1", Ordinal: 1, Attempt: 1, TurnID: "turn-1", FirstSeq: 2, Entries: entries}
	woken = 0
	b.ReportAllocs()
	for b.Loop() {
		r.hub.Committed(c)
		c.FirstSeq += int64(batch)
		for _, v := range all {
			d, err := v.Next(ctx, 256, 1<<20)
			if err != nil || len(d.Frames) != batch {
				b.Fatalf("%d frames, %v", len(d.Frames), err)
			}
		}
	}
	if woken != b.N*viewers {
		b.Errorf("%d wake-ups for %d deliveries", woken, b.N*viewers)
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*viewers*batch), "ns/delivered")
}
