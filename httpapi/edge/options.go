package edge

import (
	"log/slog"
	"time"
)

// Options say what a node lets through. Zero values mean the defaults.
type Options struct {
	Origins Origins // pages of other hosts that may call (default: none)
	Proxies Proxies // whose word on client addresses is taken (default: nobody's)

	// TLS says that connections end at this process; browsers are then told to
	// come back by https only.
	TLS bool

	// Local is for nodes without authentication on loopback: only requests for an
	// address, localhost or a host of Origins are answered (see host.go).
	Local bool

	// BodyLimit is how long a request's body may take to arrive, plus a second per
	// 32 KiB (default 30 s).
	BodyLimit time.Duration

	// AnswerLimit is how long a client may take nothing of an answer, and how long all of
	// it may take, plus a second per 32 KiB (default 30 s).
	AnswerLimit time.Duration

	Refused func(code string) // counts what is refused here; must not block (default: nobody)
	Logger  *slog.Logger      // default: discards
}

func (o Options) withDefaults() Options {
	if o.BodyLimit <= 0 {
		o.BodyLimit = 30 * time.Second
	}
	if o.AnswerLimit <= 0 {
		o.AnswerLimit = 30 * time.Second
	}
	if o.Refused == nil {
		o.Refused = func(string) {}
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	return o
}
