package wsapi

import (
	"errors"
	"net/http"
	"time"

	"turnlog/httpapi/edge"
	"turnlog/httpapi/problem"
	"turnlog/limit"
	"turnlog/session"
)

// Limits bound what users take of a node. *limit.Users is one. Calls must not block.
type Limits interface {
	// Connect grants one more connection until release is called, or fails with
	// limit.ErrConnections or limit.ErrUserConnections.
	Connect(user string) (release func(), err error)
	// Allow takes one command from the user's allowance; false when there is none left.
	Allow(user string) bool
}

type noLimits struct{}

func (noLimits) Connect(string) (func(), error) { return func() {}, nil }
func (noLimits) Allow(string) bool              { return true }

var (
	_ Limits = noLimits{}
	_ Limits = (*limit.Users)(nil)
)

// Codes of refusals that are not commands'.
const (
	codeOrigin          = edge.CodeOrigin
	codeConnections     = "too_many_connections"
	codeUserConnections = "too_many_connections_of_user"
	codeRoom            = problem.CodeRoom
	codeUserRoom        = problem.CodeUserRoom
	codeFlood           = "flood"
	codeSlowSender      = problem.CodeSlowSender
)

// handshakeLimit bounds what happens between a request's headers, which have a
// limit of their own, and the upgrade.
const handshakeLimit = 10 * time.Second

// crowdedRetry is what clients are told to wait when there are too many
// connections, in seconds: longer than a drain's, since nothing is about to change.
const crowdedRetry = 5

var errTooFast = &session.Refusal{Code: session.CodeRateLimited, Message: "too many commands, slow down", Retryable: true}

// denied is the refusal of a handshake.
type denied struct {
	status     int
	code       string
	detail     string
	retryAfter int // seconds, 0 = trying again is of no use
}

// crowded is the refusal of a connection that the limits did not grant.
func crowded(err error) denied {
	if errors.Is(err, limit.ErrUserConnections) {
		return denied{http.StatusTooManyRequests, codeUserConnections, limit.ErrUserConnections.Error(), crowdedRetry}
	}
	return denied{http.StatusServiceUnavailable, codeConnections, limit.ErrConnections.Error(), crowdedRetry}
}

// deny refuses a handshake.
func (s *Server) deny(w http.ResponseWriter, r *http.Request, d denied) {
	s.opts.Metrics.Refused(d.code)
	edge.SetCode(r.Context(), d.code)
	problem.Write(w, r, &problem.Problem{Status: d.status, Code: d.code, Detail: d.detail, Retryable: d.retryAfter > 0, RetryAfter: d.retryAfter})
}
