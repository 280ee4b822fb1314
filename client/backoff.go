package client

import (
	"math/rand/v2"
	"time"
)

const (
	firstDelay  = 250 * time.Millisecond
	restartSpan = time.Second     // the node left or died: spread its clients over this
	stableAfter = 2 * time.Second // a connection that lived this long was healthy
)

// backoff counts failures in a row and says how long to wait before the next
// attempt. Not safe for concurrent use.
type backoff struct {
	max      time.Duration
	failures int
	jitter   func(time.Duration) time.Duration // uniform in [0, d)
}

func newBackoff(limit time.Duration) *backoff {
	return &backoff{max: limit, jitter: func(d time.Duration) time.Duration { return rand.N(d) }}
}

// healthy forgets earlier failures.
func (b *backoff) healthy() { b.failures = 0 }

// next is the wait before the next attempt: none for the first failure after
// a healthy connection (up to restartSpan when its node went), then full jitter
// under a doubling ceiling.
func (b *backoff) next(why lost) time.Duration {
	b.failures++
	var wait time.Duration
	if b.failures > 1 {
		ceiling := b.max
		if shift := b.failures - 2; shift < 16 {
			ceiling = min(b.max, firstDelay<<shift)
		}
		wait = b.jitter(ceiling)
	}
	switch {
	case why.restart && b.failures == 1:
		wait = b.jitter(min(b.max, restartSpan))
	case why.later > 0:
		wait = max(wait, min(b.max, why.later)) + b.jitter(restartSpan)
	}
	return wait
}
