package session

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"turnlog/eventlog"
)

// Options tune a Service. The zero value of every field means its default.
type Options struct {
	DefaultAgent string          // name of the agent of submissions that name none; required when there are several
	OnBusy       eventlog.OnBusy // of submissions that ask for nothing (default supersede)
	Quota        int             // running turns allowed to a user; 0 = no limit

	FrameLimit  int           // largest frame of an agent in bytes (default 1 MiB)
	StopTimeout time.Duration // an ended agent is abandoned after it (default 10s)
	ToolTimeout time.Duration // of tool calls (default 300s; negative = none); approvals have none
	MaxDuration time.Duration // of a turn; 0 = off
	StallAfter  time.Duration // without a frame; 0 = off
	Attempts    int           // of turns whose agent is restartable, when their owner is lost (default 1: none is restarted)

	Heartbeat   time.Duration // between renewals of the node's lease (default 3s); must be well below the lease
	Poll        time.Duration // between looks for inputs and queued turns without a wake-up (default 1s)
	Reconcile   time.Duration // between comparisons of memory and log (default 30s)
	AdmitBudget time.Duration // how long a client's command is retried while Redis does not answer (default 10s); the caller waits

	// Kind gives a new thread its kind and the kind's policy (admission rules).
	// It must be pure and fast. nil = no kinds.
	Kind func(Submit) (kind string, policy eventlog.Policy)

	// AgentOf names the agent of a submission that names none, for example by its
	// thread's kind; "" = DefaultAgent. Its answer holds for all attempts. nil = always
	// DefaultAgent.
	AgentOf func(ctx context.Context, s Submit) (string, error)

	// OnRejoin is called when the node was declared dead and goes on under a
	// new id, before anything is done under that id: viewers attach anew here.
	OnRejoin func(ctx context.Context, node string)

	Logger  *slog.Logger // nil = no logs
	Metrics Metrics      // nil = none
}

// Metrics counts turns on this node. Implementations must not block.
type Metrics interface {
	TurnStarted(attempt int)
	TurnFinished(outcome eventlog.Outcome, took time.Duration)
	AgentAbandoned()
}

type noMetrics struct{}

func (noMetrics) TurnStarted(int)                              {}
func (noMetrics) TurnFinished(eventlog.Outcome, time.Duration) {}
func (noMetrics) AgentAbandoned()                              {}

func (o Options) withDefaults() Options {
	if o.OnBusy == "" {
		o.OnBusy = eventlog.OnBusySupersede
	}
	if o.Attempts == 0 {
		o.Attempts = 1
	}
	if o.FrameLimit == 0 {
		o.FrameLimit = 1 << 20
	}
	for _, d := range []struct {
		field *time.Duration
		value time.Duration
	}{
		{&o.StopTimeout, 10 * time.Second},
		{&o.ToolTimeout, 300 * time.Second},
		{&o.Heartbeat, 3 * time.Second},
		{&o.Poll, time.Second},
		{&o.Reconcile, 30 * time.Second},
		{&o.AdmitBudget, 10 * time.Second},
	} {
		if *d.field == 0 {
			*d.field = d.value
		}
	}
	if o.ToolTimeout < 0 {
		o.ToolTimeout = 0
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.Metrics == nil {
		o.Metrics = noMetrics{}
	}
	return o
}

func (o Options) validate() error {
	for _, d := range []struct {
		name  string
		value time.Duration
	}{
		{"StopTimeout", o.StopTimeout}, {"Heartbeat", o.Heartbeat}, {"Poll", o.Poll},
		{"Reconcile", o.Reconcile}, {"AdmitBudget", o.AdmitBudget},
	} {
		if d.value <= 0 {
			return fmt.Errorf("session: %s must be positive, got %s", d.name, d.value)
		}
	}
	for _, d := range []struct {
		name  string
		value time.Duration
	}{{"MaxDuration", o.MaxDuration}, {"StallAfter", o.StallAfter}} {
		if d.value < 0 {
			return fmt.Errorf("session: %s must not be negative, got %s", d.name, d.value)
		}
	}
	if o.FrameLimit < 1024 {
		return fmt.Errorf("session: FrameLimit must be at least 1024 bytes, got %d", o.FrameLimit)
	}
	if o.Attempts < 1 || o.Attempts > 100 {
		return fmt.Errorf("session: Attempts must be between 1 and 100, got %d", o.Attempts)
	}
	switch o.OnBusy {
	case eventlog.OnBusySupersede, eventlog.OnBusyReject, eventlog.OnBusyEnqueue:
	default:
		return fmt.Errorf("session: OnBusy must be supersede, reject or enqueue, got %q", o.OnBusy)
	}
	return nil
}
