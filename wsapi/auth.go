package wsapi

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"
	"unicode/utf8"
)

// Authenticator decides who a handshake comes from. It fails with
// ErrUnauthorized (401), ErrForbidden (403), or ErrNotReady (503), possibly wrapped;
// any other error is answered like ErrNotReady and logged.
type Authenticator interface {
	Authenticate(ctx context.Context, r *http.Request) (Identity, error)
}

// Identity is the authenticated user of a connection.
type Identity struct {
	User    string
	Expires time.Time // zero = never; then the connection is closed
}

// Why a handshake is refused.
var (
	ErrUnauthorized = errors.New("authentication is required")
	ErrForbidden    = errors.New("access is not allowed")
	ErrNotReady     = errors.New("authentication is not available, try again")
)

// NoAuth trusts everybody: the user is ?user=NAME, or "1" when absent.
type NoAuth struct{}

var _ Authenticator = NoAuth{}

// errBadUser says what is wrong with ?user=.
var errBadUser = fmt.Errorf("%w: user must be valid UTF-8 of at most %d bytes", ErrUnauthorized, maxUser)

// maxUser keeps user ids within what keys can hold even when every byte is escaped.
const maxUser = 256

// Authenticate implements Authenticator.
func (NoAuth) Authenticate(_ context.Context, r *http.Request) (Identity, error) {
	user := r.URL.Query().Get("user")
	if user == "" {
		user = "1"
	}
	if len(user) > maxUser || !utf8.ValidString(user) {
		return Identity{}, errBadUser
	}
	return Identity{User: user}, nil
}

const (
	subprotocol  = "turnlog.v1"
	bearerPrefix = "bearer."
)

// Token returns the token that a handshake carries: in the Authorization header, as
// ?token= or ?api_key=, or as the subprotocol bearer.<token>; "" without one.
func Token(r *http.Request) string {
	if scheme, token, ok := strings.Cut(r.Header.Get("Authorization"), " "); ok && strings.EqualFold(scheme, "bearer") {
		return strings.TrimSpace(token)
	}
	for _, line := range r.Header.Values("Sec-WebSocket-Protocol") {
		for name := range strings.SplitSeq(line, ",") {
			if token, ok := strings.CutPrefix(strings.TrimSpace(name), bearerPrefix); ok {
				return token
			}
		}
	}
	query := r.URL.Query()
	if token := query.Get("token"); token != "" {
		return token
	}
	return query.Get("api_key")
}
