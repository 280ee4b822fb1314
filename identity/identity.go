package identity

import (
	"slices"
	"strings"
	"time"

	"turnlog/eventlog"
)

// ScopeAdmin is the scope that opens /admin unless another one is configured.
const ScopeAdmin = "turnlog:admin"

// Identity is who a request comes from.
type Identity struct {
	User    string
	Scopes  []string
	Expires time.Time // until when this is believed; zero = for ever
}

// Has reports whether the identity has a scope.
func (i Identity) Has(scope string) bool { return slices.Contains(i.Scopes, scope) }

// Thread is the thread that an id names for this user. It is the one place that decides:
// an id names a thread of the user who says it and of nobody else, so that another user's
// thread is, for whoever asks, one that does not exist.
func (i Identity) Thread(id string) eventlog.Thread {
	return eventlog.Thread{User: i.User, ID: id}
}

// checkUser refuses names that could not be kept apart or stored.
func checkUser(name string) bool {
	_, err := eventlog.EncodeID(name)
	// Decoders replace what is no character with U+FFFD, so that two names would be one.
	return err == nil && !strings.ContainsRune(name, '\uFFFD')
}
