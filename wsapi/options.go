package wsapi

import (
	"fmt"
	"log/slog"
	"time"

	"turnlog/limit"
)

// Options configures a Server. Zero values mean the defaults.
type Options struct {
	// InboundBytes is the largest message a client may send (default 8 MiB);
	// a larger one closes the connection with 1009.
	InboundBytes int64

	// ThreadsPerConnection is how many threads one connection may follow
	// (default 128).
	ThreadsPerConnection int

	// MessagesPerSecond and MessageBurst bound what a client may send
	// (defaults 200 and 400); beyond that the connection is closed with 1008.
	MessagesPerSecond float64
	MessageBurst      int

	PingEvery    time.Duration // visible ping frames (default 25 s)
	SilenceLimit time.Duration // a peer silent for so long is closed (default 70 s)
	StallLimit   time.Duration // how long a client may take no bytes at all before 4008 (default 30 s)
	MessageLimit time.Duration // how long one message may take to arrive, plus a second per 32 KiB, before 4008 (default 30 s)

	// Limits bound what users take of the node, across connections. nil = nothing is bounded.
	Limits Limits

	// Room bounds the bytes of large messages that arrive or are carried out at once; one
	// that finds no room closes its connection with 1013. nil = nothing is bounded.
	Room *limit.Room

	// Origin reports whether a browser page of this origin may connect. nil =
	// pages of the same host only. Requests without an Origin header are not asked about.
	Origin func(origin, host string) bool

	Logger  *slog.Logger // default: discards
	Metrics Metrics      // default: none
}

// Metrics is told what connections do. Calls must not block.
type Metrics interface {
	Connected()
	Disconnected(code int)
	Sent(messages, bytes int)
	Received(bytes int)

	// Replayed counts headers that viewers were given: "complete",
	// "incomplete", or "unknown" when there was nothing to replay.
	Replayed(kind string)
	// Refused counts handshakes, messages and commands that were refused, by their code.
	Refused(code string)
}

type noMetrics struct{}

func (noMetrics) Connected()       {}
func (noMetrics) Disconnected(int) {}
func (noMetrics) Sent(int, int)    {}
func (noMetrics) Received(int)     {}
func (noMetrics) Replayed(string)  {}
func (noMetrics) Refused(string)   {}

var _ Metrics = noMetrics{}

func (o Options) withDefaults() Options {
	def(&o.InboundBytes, 8<<20)
	def(&o.ThreadsPerConnection, 128)
	def(&o.MessagesPerSecond, 200)
	def(&o.MessageBurst, 400)
	def(&o.PingEvery, 25*time.Second)
	def(&o.SilenceLimit, 70*time.Second)
	def(&o.StallLimit, 30*time.Second)
	def(&o.MessageLimit, 30*time.Second)
	if o.Limits == nil {
		o.Limits = noLimits{}
	}
	if o.Origin == nil {
		o.Origin = sameHost
	}
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
	switch {
	case o.InboundBytes < 1024:
		return fmt.Errorf("wsapi: InboundBytes must be at least 1024, not %d", o.InboundBytes)
	case o.ThreadsPerConnection < 1:
		return fmt.Errorf("wsapi: ThreadsPerConnection must be positive, not %d", o.ThreadsPerConnection)
	case o.MessagesPerSecond <= 0 || o.MessageBurst < 1:
		return fmt.Errorf("wsapi: MessagesPerSecond and MessageBurst must be positive, not %g and %d", o.MessagesPerSecond, o.MessageBurst)
	case o.PingEvery <= 0 || o.StallLimit <= 0 || o.MessageLimit <= 0:
		return fmt.Errorf("wsapi: PingEvery, StallLimit and MessageLimit must be positive, not %s, %s and %s", o.PingEvery, o.StallLimit, o.MessageLimit)
	case o.SilenceLimit <= o.PingEvery:
		return fmt.Errorf("wsapi: SilenceLimit (%s) must be longer than PingEvery (%s)", o.SilenceLimit, o.PingEvery)
	}
	return nil
}
