package call

import (
	"context"
	"errors"
	"log/slog"
	"net/http"

	"github.com/google/uuid"

	"turnlog/httpapi/edge"
	"turnlog/httpapi/problem"
)

// Handler carries out one call. It either answers and returns nil, or writes nothing
// and returns an error.
type Handler func(w http.ResponseWriter, r *http.Request) error

// Adapter makes http.Handlers of Handlers. Both fields are required.
type Adapter struct {
	Log     *slog.Logger
	Refused func(code string) // told of each problem; must not block
}

// Handle adapts a handler: it names the request, and makes a problem document of an
// error. An error after the answer has begun is logged; the connection is cut.
func (a Adapter) Handle(h Handler) http.Handler {
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
			a.Log.Warn("an answer broke off", "error", err)
			panic(http.ErrAbortHandler)
		default:
			p := a.problem(r, err)
			a.Refused(p.Code)
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
