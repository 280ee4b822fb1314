package identity

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"time"

	"turnlog/eventlog"
)

// ScopeAdmin is the scope that the admin calls need, unless configured otherwise.
const ScopeAdmin = "turnlog:admin"

// Identity is an authenticated user.
type Identity struct {
	User    string
	Scopes  []string
	Expires time.Time // zero = never; from then on the identity is worth nothing
}

// Has tells whether the identity was given the scope.
func (i Identity) Has(scope string) bool { return slices.Contains(i.Scopes, scope) }

// Thread names one of this user's threads. Whatever the id is, it is a thread of
// this user and of nobody else.
func (i Identity) Thread(id string) eventlog.Thread {
	return eventlog.Thread{User: i.User, ID: id}
}

// Why somebody is not let in.
var (
	ErrUnauthorized = errors.New("authentication is required")                 // 401
	ErrForbidden    = errors.New("access is not allowed")                      // 403
	ErrUnavailable  = errors.New("authentication is not available, try again") // 503
)

// Authenticator decides who a request comes from. It fails with
// ErrUnauthorized, ErrForbidden or ErrUnavailable, possibly wrapped; any other
// error counts as ErrUnavailable.
type Authenticator interface {
	// Authenticate takes the token from the header, the query or the subprotocol.
	Authenticate(ctx context.Context, r *http.Request) (Identity, error)
	// Verify checks a token that came in another way (reauth).
	Verify(ctx context.Context, token string) (Identity, error)
}
