package httpapi

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"time"

	"turnlog/eventlog"
	"turnlog/httpapi/internal/call"
	"turnlog/identity"
	"turnlog/limit"
	"turnlog/session"
)

// APIOptions tune an API. Zero values mean the defaults.
type APIOptions struct {
	// InboundBytes is the largest body a client may send (default 8 MiB); a larger
	// one is refused with 413.
	InboundBytes int64

	// Kind gives a thread that is created here its kind and the kind's policy
	// (admission rules; session.Options.Kind). nil = no rules.
	Kind func(session.Submit) (kind string, policy eventlog.Policy)

	// KindPolicy is the policy of a kind that a client names. nil = no kind has one.
	KindPolicy func(kind string) eventlog.Policy

	// Allow tells whether the user may make one more call now; false: 429. nil = always.
	Allow func(user string) bool

	// Begin counts a call of the user until end is called; false: 429. Event streams count
	// as connections instead. nil = as many at once as come.
	Begin func(user string) (end func(), ok bool)

	// Room bounds the bytes of large bodies that arrive or are carried out at once; one
	// that finds no room is refused with 429 or 503. nil = nothing is bounded.
	Room *limit.Room

	Events EventsOptions

	Logger  *slog.Logger // default: discards
	Metrics APIMetrics   // default: none
}

// APIMetrics is told what calls do. Calls must not block.
type APIMetrics interface {
	// Refused counts calls that were answered with a problem, by its code.
	Refused(code string)
}

type noMetrics struct{}

func (noMetrics) Refused(string) {}

var _ APIMetrics = noMetrics{}

func (o APIOptions) withDefaults() APIOptions {
	if o.InboundBytes == 0 {
		o.InboundBytes = 8 << 20
	}
	if o.Kind == nil {
		o.Kind = func(session.Submit) (string, eventlog.Policy) { return "", eventlog.PolicyUnset }
	}
	if o.KindPolicy == nil {
		o.KindPolicy = func(string) eventlog.Policy { return eventlog.PolicyUnset }
	}
	if o.Allow == nil {
		o.Allow = func(string) bool { return true }
	}
	if o.Begin == nil {
		o.Begin = func(string) (func(), bool) { return func() {}, true }
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.Metrics == nil {
		o.Metrics = noMetrics{}
	}
	o.Events = o.Events.withDefaults()
	return o
}

func (o APIOptions) validate() error {
	if o.InboundBytes < 1024 {
		return fmt.Errorf("httpapi: InboundBytes must be at least 1024, not %d", o.InboundBytes)
	}
	return o.Events.validate()
}

// API serves /v1. It is safe for concurrent use.
type API struct {
	sessions Sessions
	logs     Log
	hub      Hub
	auth     identity.Authenticator
	opts     APIOptions
	log      *slog.Logger
	events   *events
	calls    call.Adapter
	mux      http.Handler
}

// NewAPI builds the API.
func NewAPI(sessions Sessions, logs Log, hub Hub, auth identity.Authenticator, opts APIOptions) (*API, error) {
	if sessions == nil || logs == nil || hub == nil || auth == nil {
		return nil, errors.New("httpapi: an API needs sessions, a log, a hub and an authenticator")
	}
	opts = opts.withDefaults()
	if err := opts.validate(); err != nil {
		return nil, err
	}
	a := &API{sessions: sessions, logs: logs, hub: hub, auth: auth, opts: opts, log: opts.Logger}
	a.events = newEvents(sessions, logs, hub, opts.Events, opts.Logger)
	a.calls = call.Adapter{Log: opts.Logger, Refused: opts.Metrics.Refused}
	a.mux = a.routed()
	return a, nil
}

// Shutdown refuses new event streams and ends the open ones, spread over the
// given time. It returns when all are gone, or with the cause of ctx after those that are
// left were cut. Safe to call twice.
func (a *API) Shutdown(ctx context.Context, spread time.Duration) error {
	return a.events.shutdown(ctx, spread)
}

// Streams returns how many event streams are open.
func (a *API) Streams() int { return a.events.count() }

// ServeHTTP implements http.Handler. It has to see paths as they were sent: whoever
// tidies them up first turns one thread's path into another's.
func (a *API) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	a.mux.ServeHTTP(w, r)
}
