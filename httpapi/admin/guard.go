package admin

import (
	"context"
	"log/slog"
	"net/http"

	"turnlog/httpapi/edge"
	"turnlog/httpapi/internal/call"
	"turnlog/httpapi/problem"
	"turnlog/identity"
)

type operatorKey struct{}

// operator is who makes the call; guarded has checked the scope.
func operator(r *http.Request) identity.Identity {
	who, _ := r.Context().Value(operatorKey{}).(identity.Identity)
	return who
}

// guarded lets operators through to next. Whoever else asks gets the same answers
// whatever the path, so that they do not even tell what there is.
func (a *API) guarded(next http.Handler) http.Handler {
	return a.calls.Handle(func(w http.ResponseWriter, r *http.Request) error {
		who, err := a.auth.Authenticate(r.Context(), r)
		if err != nil {
			return err
		}
		edge.SetUser(r.Context(), who.User)
		if !who.Has(a.opts.Scope) {
			return identity.ErrForbidden
		}
		if !a.opts.Allow(who.User) {
			return call.ErrTooFast
		}
		inner := r.WithContext(context.WithValue(r.Context(), operatorKey{}, who))
		defer func() { r.Pattern = inner.Pattern }() // for the log line of the request
		next.ServeHTTP(w, inner)
		return nil
	})
}

// changed logs a change, or an attempt at one that failed: who, and what.
func (a *API) changed(w http.ResponseWriter, r *http.Request, action string, err error, what ...slog.Attr) {
	attrs := append([]slog.Attr{
		slog.String("action", action), slog.String("by", operator(r).User),
		slog.String("request_id", w.Header().Get(problem.RequestIDHeader)), slog.String("client", client(r)),
	}, what...)
	if err != nil {
		attrs = append(attrs, slog.Any("error", err))
	}
	a.opts.Logger.LogAttrs(context.WithoutCancel(r.Context()), slog.LevelInfo, "admin change", attrs...)
}

// client is the address of the client: behind trusted proxies what they say.
func client(r *http.Request) string {
	if addr := edge.Client(r.Context()); addr.IsValid() {
		return addr.String()
	}
	return r.RemoteAddr
}
