package reaper_test

import (
	"errors"
	"testing"
	"time"

	"turnlog/reaper"
)

// B85: an outage of Redis, longer than the lease or not, gives nobody the
// right to declare others dead right after it.
func TestB85_TrustNeedsOneFullLeaseWithoutAnErrorOrAGap(t *testing.T) {
	const lease, heartbeat = 10 * time.Second, 3 * time.Second
	start := time.Now()
	at := func(seconds float64) time.Time { return start.Add(time.Duration(seconds * float64(time.Second))) }
	failed := errors.New("redis away")

	type beat struct {
		at  float64
		err error
	}
	for _, row := range []struct {
		name  string
		beats []beat
		now   float64
		want  bool
	}{
		{name: "no heartbeat yet", now: 20, want: false},
		{name: "too young", beats: []beat{{at: 0}, {at: 3}, {at: 6}, {at: 9}}, now: 9.9, want: false},
		{name: "one full lease", beats: []beat{{at: 0}, {at: 3}, {at: 6}, {at: 9}}, now: 10, want: true},
		{name: "an error starts anew", beats: []beat{{at: 0}, {at: 3}, {at: 6, err: failed}, {at: 9}, {at: 12}}, now: 13, want: false},
		{name: "trust comes back a lease after the error", beats: []beat{{at: 0}, {at: 3, err: failed}, {at: 6}, {at: 9}, {at: 12}, {at: 15}}, now: 16, want: true},
		{name: "a gap starts anew", beats: []beat{{at: 0}, {at: 3}, {at: 9.5}, {at: 12}}, now: 13, want: false},
		{name: "two late heartbeats are no gap", beats: []beat{{at: 0}, {at: 6}, {at: 11}}, now: 12, want: true},
		{name: "silence now", beats: []beat{{at: 0}, {at: 3}, {at: 6}, {at: 9}, {at: 12}}, now: 18.5, want: false},
	} {
		t.Run(row.name, func(t *testing.T) {
			trust := reaper.NewTrust(lease, heartbeat)
			for _, b := range row.beats {
				trust.Beat(at(b.at), b.err)
			}
			if got := trust.Held(at(row.now)); got != row.want {
				t.Fatalf("Held = %v, want %v", got, row.want)
			}
		})
	}
}
