package httpapi

import (
	"context"
	"errors"
	"net/http"

	"github.com/google/uuid"

	"turnlog/httpapi/edge"
	"turnlog/httpapi/problem"
	"turnlog/identity"
)

// handler carries out one call for an authenticated user. It either answers and
// returns nil, or writes nothing and returns an error, which becomes a problem. An
// error after the answer has begun is logged; the connection is cut.
type handler func(w http.ResponseWriter, r *http.Request, who identity.Identity) error

// serve adapts a handler: it authenticates, and answers what failed.
func (a *API) serve(h handler) http.Handler {
	return a.public(func(w http.ResponseWriter, r *http.Request) error {
		who, err := a.auth.Authenticate(r.Context(), r)
		if err != nil {
			return err
		}
		edge.SetUser(r.Context(), who.User)
		if !a.opts.Allow(who.User) {
			return errTooFast
		}
		return h(w, r, who)
	})
}

// public adapts a handler that needs no user.
func (a *API) public(h func(http.ResponseWriter, *http.Request) error) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		answer := &answer{ResponseWriter: w}
		header := w.Header()
		if header.Get(problem.RequestIDHeader) == "" {
			header.Set(problem.RequestIDHeader, uuid.NewString())
		}
		header.Set("Cache-Control", "no-store")
		header.Set("X-Content-Type-Options", "nosniff")
		err := h(answer, r)
		switch {
		case err == nil:
		case r.Context().Err() != nil && errors.Is(err, context.Cause(r.Context())):
			// The client went away: nobody is left to tell.
		case answer.begun:
			a.log.Warn("an answer broke off", "error", err)
			panic(http.ErrAbortHandler)
		default:
			p := a.problem(r, err)
			a.opts.Metrics.Refused(p.Code)
			edge.SetCode(r.Context(), p.Code)
			if p.Status == http.StatusUnauthorized {
				header.Set("WWW-Authenticate", "Bearer")
			}
			problem.Write(answer, r, p)
		}
	})
}

// answer remembers whether anything was written.
type answer struct {
	http.ResponseWriter
	begun bool
}

// WriteHeader implements http.ResponseWriter.
func (a *answer) WriteHeader(status int) {
	a.begun = true
	a.ResponseWriter.WriteHeader(status)
}

// Write implements http.ResponseWriter.
func (a *answer) Write(b []byte) (int, error) {
	a.begun = true
	return a.ResponseWriter.Write(b)
}

// Unwrap lets http.ResponseController reach the connection.
func (a *answer) Unwrap() http.ResponseWriter { return a.ResponseWriter }
