package admin

import (
	"errors"
	"log/slog"
	"net/http"
	"time"

	"turnlog/httpapi/internal/call"
	"turnlog/identity"
)

// Options tune an API. Zero values mean the defaults.
type Options struct {
	// Scope is what a token must have (default identity.ScopeAdmin).
	Scope string

	// NodeLease is this node's node.lease, from which the age of heartbeats is told. 0 = it is not told.
	NodeLease time.Duration

	// DeleteFor bounds one call that deletes a user (default 20 s); it is gone on with by
	// calling again. It must be shorter than any timeout in front of the node.
	DeleteFor time.Duration

	// Allow tells whether the user may make one more call now; false: 429. nil = always.
	Allow func(user string) bool

	Logger  *slog.Logger // default: discards
	Metrics Metrics      // default: none
}

// Metrics is told what calls do. Calls must not block.
type Metrics interface {
	// Refused counts calls that were answered with a problem, by its code.
	Refused(code string)
}

type noMetrics struct{}

func (noMetrics) Refused(string) {}

func (o Options) withDefaults() Options {
	if o.Scope == "" {
		o.Scope = identity.ScopeAdmin
	}
	if o.DeleteFor == 0 {
		o.DeleteFor = 20 * time.Second
	}
	if o.Allow == nil {
		o.Allow = func(string) bool { return true }
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.Metrics == nil {
		o.Metrics = noMetrics{}
	}
	return o
}

// API serves /admin/v1. It is safe for concurrent use.
type API struct {
	log      Log
	sessions Sessions
	reaper   func() ReaperStatus
	auth     identity.Authenticator
	opts     Options
	calls    call.Adapter
	handler  http.Handler
}

var _ http.Handler = (*API)(nil)

// New builds the API. Who has a token of auth with the scope may do everything. reaper
// tells how the reaper of this node fares, and must be safe for concurrent use.
func New(log Log, sessions Sessions, reaper func() ReaperStatus, auth identity.Authenticator, opts Options) (*API, error) {
	if log == nil || sessions == nil || reaper == nil || auth == nil {
		return nil, errors.New("admin: an API needs a log, sessions, a reaper and an authenticator")
	}
	opts = opts.withDefaults()
	if opts.DeleteFor < 0 || opts.NodeLease < 0 {
		return nil, errors.New("admin: DeleteFor and NodeLease must not be negative")
	}
	a := &API{
		log: log, sessions: sessions, reaper: reaper, auth: auth, opts: opts,
		calls: call.Adapter{Log: opts.Logger, Refused: opts.Metrics.Refused},
	}
	a.handler = a.guarded(a.calls.Mux(a.routes()))
	return a, nil
}

// ServeHTTP implements http.Handler. It has to see paths as they were sent: whoever
// tidies them up first turns one thread's path into another's.
func (a *API) ServeHTTP(w http.ResponseWriter, r *http.Request) { a.handler.ServeHTTP(w, r) }
