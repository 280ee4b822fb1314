package httpapi

import (
	"context"
	"time"
)

// retryPull is when a log that did not answer is asked again.
const retryPull = time.Second

// eventClock says when a stream has something to do besides news: the next
// heartbeat, another try, the end of the token.
type eventClock struct {
	every   time.Duration
	ping    time.Time
	retry   time.Time // zero = nothing to try again
	expires time.Time // zero = never
	timer   *time.Timer
}

func newEventClock(every time.Duration, expires time.Time) *eventClock {
	c := &eventClock{every: every, ping: time.Now().Add(jitter(every, 0.25)), expires: expires}
	c.timer = time.NewTimer(time.Until(c.due()))
	return c
}

func (c *eventClock) stop() { c.timer.Stop() }

// again asks for another try soon.
func (c *eventClock) again() { c.retry = time.Now().Add(jitter(retryPull, 0.25)) }

// due is the nearest of its times.
func (c *eventClock) due() time.Time {
	due := c.ping
	for _, t := range []time.Time{c.retry, c.expires} {
		if !t.IsZero() && t.Before(due) {
			due = t
		}
	}
	return due
}

// await waits until there may be something to do: news, an end, or what the
// clock says. A heartbeat that is due goes onto the page.
func (s *stream) await(ctx context.Context, p *page, c *eventClock) {
	c.timer.Reset(time.Until(c.due()))
	select {
	case <-ctx.Done():
		s.end(endLeft)
	case <-s.wake:
	case <-c.timer.C:
	}
	s.tick(p, c, time.Now())
}

// tick does what the clock says. It is also asked while the news never end.
func (s *stream) tick(p *page, c *eventClock, now time.Time) {
	if !now.Before(c.ping) {
		c.ping = now.Add(jitter(c.every, 0.25))
		p.ping()
	}
	if !c.retry.IsZero() && !now.Before(c.retry) {
		c.retry = time.Time{}
	}
	if !c.expires.IsZero() && now.After(c.expires) {
		s.end(endExpired)
	}
}
