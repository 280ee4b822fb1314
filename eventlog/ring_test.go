package eventlog_test

import (
	"math/rand/v2"
	"testing"

	"turnlog/eventlog"
)

func delivered(seq int64, size int) *eventlog.Delivered {
	return &eventlog.Delivered{Seq: seq, JSON: make([]byte, size)}
}

func TestRing_IsAContiguousBoundedRun(t *testing.T) {
	const frames, bytes = 20, 500
	for round := range 200 {
		r := eventlog.NewRing(frames, bytes)
		rng := rand.New(rand.NewPCG(1, uint64(round)))
		next := int64(1)
		for range 300 {
			switch rng.IntN(12) {
			case 0: // a hole
				next += 1 + rng.Int64N(40)
			case 1: // a repeat
				next = max(1, next-rng.Int64N(3))
			case 2: // the hole is filled from the log
				if first, _ := r.Bounds(); first > 3 {
					r.Unshift([]*eventlog.Delivered{delivered(first-2, 10), delivered(first-1, 10)})
				}
			}
			r.Push(delivered(next, 1+rng.IntN(60)))
			next++
			first, last := r.Bounds()
			total := 0
			for seq := first; seq <= last; seq++ {
				d := r.Get(seq)
				if d == nil || d.Seq != seq {
					t.Fatalf("round %d: frame %d is %+v in [%d, %d]", round, seq, d, first, last)
				}
				total += len(d.JSON)
			}
			if last-first >= frames || total > bytes || last < next-1 {
				t.Fatalf("round %d: [%d, %d] of %d bytes after %d", round, first, last, total, next-1)
			}
		}
	}
}

func TestRing_KeepsOneFrameLargerThanItself(t *testing.T) {
	r := eventlog.NewRing(4, 100)
	r.Push(delivered(1, 10))
	r.Push(delivered(2, 1000))
	if first, last := r.Bounds(); first != 2 || last != 2 {
		t.Errorf("holds [%d, %d]", first, last)
	}
}

func TestDelivered_MsgpackIsComputedOnce(t *testing.T) {
	d := delivered(1, 3)
	calls := 0
	for range 3 {
		if got := d.Msgpack(func(b []byte) []byte { calls++; return b[:1] }); len(got) != 1 {
			t.Errorf("got %v", got)
		}
	}
	if calls != 1 {
		t.Errorf("encoded %d times", calls)
	}
}
