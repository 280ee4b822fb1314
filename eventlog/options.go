package eventlog

import (
	"errors"
	"fmt"
	"log/slog"
	"time"
)

// Options configures a Log. Zero values mean the defaults.
type Options struct {
	// Partitions is the number of hash slots over which users are spread
	// (default 64). It is written to Redis once; a Log opened with another
	// number is refused.
	Partitions int

	// ReplayMaxFrames is how many frames of a thread are held (default 2000);
	// never fewer are kept, unless ReplayMaxBytes (default 16 MiB) is reached first.
	ReplayMaxFrames int
	ReplayMaxBytes  int64

	ReplayRetention  time.Duration // how long a finished turn's log is held (default 5 min)
	HistoryRetention time.Duration // how long messages and numbering are held (default 720 h)

	StopTimeout     time.Duration // how long an owner has to end a stopped turn (default 10 s)
	NodeLease       time.Duration // how long a node is trusted without a heartbeat (default 10 s)
	ReconnectWindow time.Duration // for cancel turns whose viewer the server closed (default 15 s)
	Grace           time.Duration // how long a detached grace turn goes on (default 10 min)
	DefaultPolicy   Policy        // when nobody says anything (default grace)

	QueueLimit int // submissions waiting per thread (default 100)
	InputLimit int // inputs held per turn (default 1000)

	OutageBudget   time.Duration // how long appends are retried while Redis is away (default 60 s)
	CommandTimeout time.Duration // deadline of every single command (default 5 s)

	Logger  *slog.Logger // default: discards
	Metrics Metrics      // default: none
}

func (o Options) withDefaults() Options {
	def(&o.Partitions, 64)
	def(&o.ReplayMaxFrames, 2000)
	def(&o.ReplayMaxBytes, 16<<20)
	def(&o.ReplayRetention, 5*time.Minute)
	def(&o.HistoryRetention, 720*time.Hour)
	def(&o.StopTimeout, 10*time.Second)
	def(&o.NodeLease, 10*time.Second)
	def(&o.ReconnectWindow, 15*time.Second)
	def(&o.Grace, 10*time.Minute)
	def(&o.DefaultPolicy, PolicyGrace)
	def(&o.QueueLimit, 100)
	def(&o.InputLimit, 1000)
	def(&o.OutageBudget, time.Minute)
	def(&o.CommandTimeout, 5*time.Second)
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.Metrics == nil {
		o.Metrics = noMetrics{}
	}
	return o
}

func def[T comparable](v *T, d T) {
	var zero T
	if *v == zero {
		*v = d
	}
}

func (o Options) validate() error {
	for name, n := range map[string]int64{
		"Partitions": int64(o.Partitions), "ReplayMaxFrames": int64(o.ReplayMaxFrames), "ReplayMaxBytes": o.ReplayMaxBytes,
		"QueueLimit": int64(o.QueueLimit), "InputLimit": int64(o.InputLimit), "ReplayRetention": int64(o.ReplayRetention),
		"HistoryRetention": int64(o.HistoryRetention), "StopTimeout": int64(o.StopTimeout), "NodeLease": int64(o.NodeLease),
		"ReconnectWindow": int64(o.ReconnectWindow), "Grace": int64(o.Grace), "OutageBudget": int64(o.OutageBudget),
		"CommandTimeout": int64(o.CommandTimeout),
	} {
		if n < 0 {
			return fmt.Errorf("eventlog: %s must not be negative", name)
		}
	}
	switch o.DefaultPolicy {
	case PolicyCancel, PolicyGrace, PolicyPreserve:
	default:
		return fmt.Errorf("eventlog: DefaultPolicy %q is none of cancel, grace, preserve", o.DefaultPolicy)
	}
	if o.Partitions > 4096 {
		return errors.New("eventlog: Partitions must be at most 4096")
	}
	if o.HistoryRetention < o.ReplayRetention {
		return errors.New("eventlog: HistoryRetention must not be shorter than ReplayRetention")
	}
	return nil
}

// pack is the settings as every script receives them (lib_cfg.lua reads it).
func (o Options) pack() string {
	return fmt.Sprintf("%d %d %d %d %d %d %d %d %d %s",
		o.ReplayMaxFrames, o.ReplayMaxBytes, o.ReplayRetention.Milliseconds(), o.HistoryRetention.Milliseconds(),
		o.StopTimeout.Milliseconds(), o.ReconnectWindow.Milliseconds(), o.Grace.Milliseconds(), o.QueueLimit, o.InputLimit, o.DefaultPolicy)
}
