package reaper

import (
	"sync"
	"time"
)

// Trust tells whether this node may act on the absence of others: declare a
// node dead, or end a turn because nobody watches it. A node whose own
// heartbeats fail or come late cannot tell a dead peer from a Redis that was
// away for everybody, so it must first have lived through one full lease
// without an error and without a gap of more than two heartbeats.
//
// Times are monotonic readings of this process; Redis time never enters here.
// Trust only delays work. Safety comes from the scripts, which re-check leases
// and deadlines by Redis time.
type Trust struct {
	lease     time.Duration
	heartbeat time.Duration

	mu    sync.Mutex
	since time.Time // start of the unbroken run of heartbeats; zero = broken
	last  time.Time // newest successful heartbeat
}

// NewTrust returns a Trust without any heartbeat yet: not held.
func NewTrust(lease, heartbeat time.Duration) *Trust {
	return &Trust{lease: lease, heartbeat: heartbeat}
}

// Beat records the end of one heartbeat of this node.
func (t *Trust) Beat(now time.Time, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if err != nil {
		t.since = time.Time{}
		return
	}
	if t.since.IsZero() || t.gap(now) {
		t.since = now
	}
	t.last = now
}

// Held reports whether the node may act on the absence of others at now.
func (t *Trust) Held(now time.Time) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return !t.since.IsZero() && !t.gap(now) && now.Sub(t.since) >= t.lease
}

// gap reports whether more than two heartbeats are missing at now.
func (t *Trust) gap(now time.Time) bool { return now.Sub(t.last) > 2*t.heartbeat }
