package httpapi

import (
	"fmt"
	"time"
)

// EventsOptions tune event streams. Zero values mean the defaults.
type EventsOptions struct {
	PingEvery  time.Duration // heartbeats, give or take a quarter (default 20 s)
	StallLimit time.Duration // how long a client may take nothing while something waits for it (default 30 s)

	// Connect counts a user's connection; it fails when there are too many.
	// nil = as many as come.
	Connect func(user string) (release func(), err error)

	Metrics EventsMetrics // default: none
}

// EventsMetrics is told what event streams do. Calls must not block.
type EventsMetrics interface {
	StreamOpened()
	// StreamClosed gets why: "end", "left", "restart", "expired", "slow" or "failed".
	StreamClosed(why string)
	StreamSent(events, bytes int)
	// Replayed counts headers: "complete", "incomplete", or "unknown" when
	// there was nothing to replay.
	Replayed(kind string)
}

type noEventsMetrics struct{}

func (noEventsMetrics) StreamOpened()       {}
func (noEventsMetrics) StreamClosed(string) {}
func (noEventsMetrics) StreamSent(int, int) {}
func (noEventsMetrics) Replayed(string)     {}

var _ EventsMetrics = noEventsMetrics{}

func (o EventsOptions) withDefaults() EventsOptions {
	if o.PingEvery == 0 {
		o.PingEvery = 20 * time.Second
	}
	if o.StallLimit == 0 {
		o.StallLimit = 30 * time.Second
	}
	if o.Connect == nil {
		o.Connect = func(string) (func(), error) { return func() {}, nil }
	}
	if o.Metrics == nil {
		o.Metrics = noEventsMetrics{}
	}
	return o
}

func (o EventsOptions) validate() error {
	if o.PingEvery < time.Millisecond || o.StallLimit < time.Millisecond {
		return fmt.Errorf("httpapi: Events.PingEvery and Events.StallLimit must be positive, not %s and %s", o.PingEvery, o.StallLimit)
	}
	return nil
}
