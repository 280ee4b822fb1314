package embedded

import (
	"log/slog"
	"net/http"
	"time"

	"turnlog/eventlog"
	"turnlog/httpapi"
	"turnlog/identity"
	"turnlog/reaper"
	"turnlog/session"
	"turnlog/wsapi"
)

// Options tune a Node; the zero value of each field means its default. The options
// of a part are that part's own, apart from what only the node can know: every
// Logger, the session's OnRejoin, the hub's OnDetach, the reaper's Node and Trust.
type Options struct {
	Log     eventlog.Options
	Session session.Options // Kind, AgentOf, DefaultAgent, limits
	Hub     eventlog.HubOptions
	Reaper  reaper.Options
	Sockets wsapi.Options
	API     httpapi.APIOptions // its event streams and calls count against Sockets.Limits unless they have limits of their own

	Auth   identity.Authenticator // nil = identity.NoAuth: for loopback only; the Run of an identity.JWT is the program's to call
	HTTP   HTTP
	Drain  Drain
	Entry  Entry
	Logger *slog.Logger // for all parts; nil = no logs
}

// HTTP is what the handler has besides the endpoints and health checks.
type HTTP struct {
	Metrics    http.Handler                      // serves /metrics; nil = there is no such page
	Around     []func(http.Handler) http.Handler // around all of the handler, outermost first
	AdminScope string                            // of tokens that open /admin/v1; "" = identity.ScopeAdmin
}

// Drain bounds the way down.
type Drain struct {
	Timeout     time.Duration // how long running turns may go on after Run's context has ended (default 30 s; negative = not at all)
	CloseSpread time.Duration // over how long sockets and event streams are closed meanwhile (default 1 s; negative = all at once); at most Timeout
}

// Entry is what `turnlog nodes` tells operators about the node.
type Entry struct {
	Address string // where the node listens; "" = the node is listed by its id alone
	Version string
}

// callLimits is what Sockets.Limits may have besides: *limit.Users does.
type callLimits interface {
	Begin(user string) (end func(), ok bool)
}

const (
	defaultLease       = 10 * time.Second
	defaultHeartbeat   = 3 * time.Second
	defaultDrain       = 30 * time.Second
	defaultCloseSpread = time.Second
)

func (o Options) withDefaults() Options {
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	for _, logger := range []**slog.Logger{&o.Log.Logger, &o.Session.Logger, &o.Hub.Logger, &o.Reaper.Logger, &o.Sockets.Logger, &o.API.Logger} {
		*logger = o.Logger
	}
	for _, d := range []struct {
		field *time.Duration
		value time.Duration
	}{
		{&o.Log.NodeLease, defaultLease}, {&o.Session.Heartbeat, defaultHeartbeat},
		{&o.Drain.Timeout, defaultDrain}, {&o.Drain.CloseSpread, defaultCloseSpread},
	} {
		if *d.field == 0 {
			*d.field = d.value
		}
	}
	o.Drain.Timeout = max(o.Drain.Timeout, 0)
	o.Drain.CloseSpread = min(max(o.Drain.CloseSpread, 0), o.Drain.Timeout)
	if o.API.Room == nil {
		o.API.Room = o.Sockets.Room
	}
	if limits := o.Sockets.Limits; limits != nil {
		if o.API.Allow == nil {
			o.API.Allow = limits.Allow
		}
		if calls, ok := limits.(callLimits); ok && o.API.Begin == nil {
			o.API.Begin = calls.Begin
		}
		if o.API.Events.Connect == nil {
			o.API.Events.Connect = limits.Connect
		}
	}
	if o.Auth == nil {
		o.Auth = identity.NoAuth{}
	}
	return o
}
