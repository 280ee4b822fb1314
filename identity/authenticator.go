package identity

import (
	"context"
	"net/http"
)

// Authenticator decides who somebody is. Its methods fail with ErrUnauthorized,
// ErrForbidden or ErrUnavailable, possibly wrapped, may block for a few seconds while keys
// are fetched, and may be called by many goroutines.
type Authenticator interface {
	// Authenticate identifies who made the request, from the token that Token finds in it.
	Authenticate(ctx context.Context, r *http.Request) (Identity, error)

	// Verify identifies who a token is for.
	Verify(ctx context.Context, token string) (Identity, error)
}

// NoAuth believes everybody: the user is ?user=NAME, or "1" when absent. It has no tokens,
// so Verify always fails.
type NoAuth struct {
	Admin bool // everybody has AdminScope: for servers that only this machine reaches

	AdminScope string // "" = ScopeAdmin
}

var _ Authenticator = NoAuth{}

// Authenticate implements Authenticator. It never blocks.
func (n NoAuth) Authenticate(_ context.Context, r *http.Request) (Identity, error) {
	who := Identity{User: r.URL.Query().Get("user")}
	if who.User == "" {
		who.User = "1"
	}
	if !checkUser(who.User) {
		return Identity{}, ErrBadUser
	}
	if n.Admin {
		who.Scopes = []string{ScopeAdmin}
		if n.AdminScope != "" {
			who.Scopes[0] = n.AdminScope
		}
	}
	return who, nil
}

// Verify implements Authenticator.
func (NoAuth) Verify(context.Context, string) (Identity, error) {
	return Identity{}, ErrUnauthorized
}
