package httpapi

import (
	"net/http"

	"turnlog/httpapi/edge"
	"turnlog/httpapi/internal/call"
	"turnlog/identity"
	"turnlog/limit"
)

// handler carries out one call for an authenticated user. It either answers and
// returns nil, or writes nothing and returns an error, which becomes a problem.
type handler func(w http.ResponseWriter, r *http.Request, who identity.Identity) error

// serve adapts a handler: it authenticates, and answers what failed.
func (a *API) serve(h handler) http.Handler {
	return a.calls.Handle(func(w http.ResponseWriter, r *http.Request) error {
		who, err := a.auth.Authenticate(r.Context(), r)
		if err != nil {
			return err
		}
		edge.SetUser(r.Context(), who.User)
		if !a.opts.Allow(who.User) {
			return call.ErrTooFast
		}
		if r.Body != nil && r.Body != http.NoBody {
			body := limit.Body{ReadCloser: r.Body, Place: a.opts.Room.Place(who.User)}
			defer body.Leave()
			r = r.WithContext(r.Context()) // the server looks at its own request's body behind the answer
			r.Body = body
		}
		return h(w, r, who)
	})
}

// counted bounds how many calls of a user are under way: each may hold a body or a page of
// some megabytes for as long as its client is slow.
func (a *API) counted(h handler) handler {
	return func(w http.ResponseWriter, r *http.Request, who identity.Identity) error {
		end, ok := a.opts.Begin(who.User)
		if !ok {
			return call.ErrTooFast
		}
		defer end()
		return h(w, r, who)
	}
}
