package eventlog

import (
	"context"
	"fmt"
	"log/slog"
	"time"
)

// HubOptions tune a Hub. The zero value is good for production.
type HubOptions struct {
	// RingFrames and RingBytes bound the frames cached per followed thread
	// (defaults 256 and 256 KiB). Viewers further behind read the log.
	RingFrames int
	RingBytes  int

	// ReadAheadBytes bounds what all viewers of the node together hold of the
	// log beyond what they were given (default 32 MiB). Viewers that find no
	// room go on in smaller steps, at one round trip to Redis each.
	ReadAheadBytes int64

	// CheckEvery is how often followed running threads are compared with the
	// log, which bounds how long a lost live message goes unnoticed (default 3 s).
	CheckEvery time.Duration

	// IdleCheckEvery is the same for followed threads where nothing runs (default 10 s).
	IdleCheckEvery time.Duration

	// ReconcileEvery is how often the node's entries as a viewer are compared
	// with what it follows (default 30 s).
	ReconcileEvery time.Duration

	// RepairWait is how long a cursor beyond a running log waits for the
	// owner's repair before it is treated as fresh (default 2 s).
	RepairWait time.Duration

	// JoinWait is how long a new viewer waits for its live channel while Redis
	// does not answer; then ErrUnavailable (default 10 s).
	JoinWait time.Duration

	// OnDetach is told what the leaving of a thread's last viewer did, by the
	// goroutine that left: a cancel turn may have to be ended (default: nothing).
	OnDetach func(context.Context, Thread, DetachResult)

	// Logger gets what an operator can act on (default: nothing).
	Logger *slog.Logger
	// Metrics counts what tests and dashboards watch (default: nothing).
	Metrics HubMetrics
}

// HubMetrics is told about the rarer paths. Calls must not block.
type HubMetrics interface {
	// HubMissed: live messages were lost and noticed by comparing.
	HubMissed()
	// HubPage: a page of n frames was read from the log.
	HubPage(n int)
	// HubHeader: a viewer was given a new header in-band.
	HubHeader()
}

type noHubMetrics struct{}

func (noHubMetrics) HubMissed()  {}
func (noHubMetrics) HubPage(int) {}
func (noHubMetrics) HubHeader()  {}

var _ HubMetrics = noHubMetrics{}

func (o HubOptions) withDefaults() HubOptions {
	if o.RingFrames == 0 {
		o.RingFrames = 256
	}
	if o.RingBytes == 0 {
		o.RingBytes = 256 << 10
	}
	if o.ReadAheadBytes == 0 {
		o.ReadAheadBytes = 32 << 20
	}
	if o.CheckEvery == 0 {
		o.CheckEvery = 3 * time.Second
	}
	if o.IdleCheckEvery == 0 {
		o.IdleCheckEvery = max(10*time.Second, o.CheckEvery)
	}
	if o.ReconcileEvery == 0 {
		o.ReconcileEvery = 30 * time.Second
	}
	if o.RepairWait == 0 {
		o.RepairWait = 2 * time.Second
	}
	if o.JoinWait == 0 {
		o.JoinWait = 10 * time.Second
	}
	if o.OnDetach == nil {
		o.OnDetach = func(context.Context, Thread, DetachResult) {}
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.Metrics == nil {
		o.Metrics = noHubMetrics{}
	}
	return o
}

func (o HubOptions) validate() error {
	switch {
	case o.RingFrames < 1 || o.RingBytes < 1:
		return fmt.Errorf("RingFrames and RingBytes must be positive, not %d and %d", o.RingFrames, o.RingBytes)
	case o.ReadAheadBytes < 0:
		return fmt.Errorf("ReadAheadBytes must not be negative, not %d", o.ReadAheadBytes)
	case o.CheckEvery <= 0 || o.ReconcileEvery <= 0 || o.RepairWait < 0:
		return fmt.Errorf("CheckEvery and ReconcileEvery must be positive and RepairWait not negative, not %s, %s and %s",
			o.CheckEvery, o.ReconcileEvery, o.RepairWait)
	case o.JoinWait < 0:
		return fmt.Errorf("JoinWait must not be negative, not %s", o.JoinWait)
	case o.IdleCheckEvery < o.CheckEvery:
		return fmt.Errorf("IdleCheckEvery (%s) must not be shorter than CheckEvery (%s)", o.IdleCheckEvery, o.CheckEvery)
	}
	return nil
}
