package call

import (
	"errors"
	"net/http"

	"turnlog/eventlog"
	"turnlog/httpapi/problem"
	"turnlog/identity"
	"turnlog/limit"
	"turnlog/session"
)

// Seconds after which a client may try again.
const (
	retrySoon  = 1 // draining, failing over
	retryLater = 5 // quotas, full queues
)

// ErrTooFast refuses a call of a user who makes too many.
var ErrTooFast = &session.Refusal{Code: session.CodeRateLimited, Message: "too many calls, slow down", Retryable: true}

// statuses are the statuses of refused commands.
var statuses = map[string]struct{ status, retryAfter int }{
	session.CodeBusy:           {http.StatusConflict, retryLater},
	session.CodeConflict:       {http.StatusConflict, 0},
	session.CodePolicyConflict: {http.StatusConflict, 0},
	session.CodeQuota:          {http.StatusTooManyRequests, retryLater},
	session.CodeRateLimited:    {http.StatusTooManyRequests, retrySoon},
	session.CodeDraining:       {http.StatusServiceUnavailable, retrySoon},
	session.CodeUnavailable:    {http.StatusServiceUnavailable, retrySoon},
	session.CodeTooLarge:       {http.StatusRequestEntityTooLarge, 0},
	session.CodeUnknownAgent:   {http.StatusUnprocessableEntity, 0},
	session.CodeInvalid:        {http.StatusBadRequest, 0},
}

// failures maps what the layers below return to what clients are told.
var failures = []struct {
	err     error
	problem problem.Problem
}{
	{identity.ErrUnauthorized, problem.Problem{Status: 401, Code: problem.CodeUnauthorized, Detail: "a valid token is required"}},
	{identity.ErrForbidden, problem.Problem{Status: 403, Code: problem.CodeForbidden, Detail: "access is not allowed"}},
	{identity.ErrUnavailable, problem.Problem{Status: 503, Code: problem.CodeUnavailable, Detail: "authentication is not available", Retryable: true, RetryAfter: retrySoon}},
	{limit.ErrUserConnections, problem.Problem{Status: 429, Code: "too_many_connections_of_user", Detail: limit.ErrUserConnections.Error(), Retryable: true, RetryAfter: retryLater}},
	{limit.ErrConnections, problem.Problem{Status: 503, Code: "too_many_connections", Detail: limit.ErrConnections.Error(), Retryable: true, RetryAfter: retryLater}},
	{limit.ErrUserRoom, problem.Problem{Status: 429, Code: problem.CodeUserRoom, Detail: limit.ErrUserRoom.Error(), Retryable: true, RetryAfter: retrySoon}},
	{limit.ErrRoom, problem.Problem{Status: 503, Code: problem.CodeRoom, Detail: limit.ErrRoom.Error(), Retryable: true, RetryAfter: retrySoon}},
	{eventlog.ErrBadID, problem.Problem{Status: 400, Code: problem.CodeInvalidRequest, Detail: "an id is empty, longer than 256 bytes when escaped, or not valid UTF-8"}},
	{eventlog.ErrLineage, problem.Problem{Status: 400, Code: problem.CodeInvalidRequest, Detail: "the thread cannot continue, or branch off, the thread that was named"}},
	{eventlog.ErrPolicyConflict, problem.Problem{Status: 409, Code: session.CodePolicyConflict, Detail: "on_disconnect cancel contradicts the policy of the thread or its kind"}},
	{eventlog.ErrOutOfMemory, problem.Problem{Status: 503, Code: problem.CodeUnavailable, Detail: "the server has no room", Retryable: true, RetryAfter: retryLater}},
	{eventlog.ErrUnavailable, problem.Problem{Status: 503, Code: problem.CodeUnavailable, Detail: "the server cannot reach its storage", Retryable: true, RetryAfter: retrySoon}},
	{eventlog.ErrFenced, problem.Problem{Status: 503, Code: problem.CodeUnavailable, Detail: "this node has just lost its standing", Retryable: true, RetryAfter: retrySoon}},
	{eventlog.ErrClosed, problem.Problem{Status: 503, Code: session.CodeDraining, Detail: "this node is shutting down", Retryable: true, RetryAfter: retrySoon}},
	{eventlog.ErrDeleted, problem.Problem{Status: 404, Code: problem.CodeNotFound, Detail: problem.NotFound().Detail}},
}

// problem makes what the client is told of an error. Unknown errors are logged
// here and nowhere else.
func (a Adapter) problem(r *http.Request, err error) *problem.Problem {
	var known *problem.Problem
	if errors.As(err, &known) {
		return known
	}
	var refusal *session.Refusal
	if errors.As(err, &refusal) {
		return refused(refusal)
	}
	for _, f := range failures {
		if errors.Is(err, f.err) {
			p := f.problem
			return &p
		}
	}
	a.Log.ErrorContext(r.Context(), "a call failed", "method", r.Method, "pattern", r.Pattern, "error", err)
	return &problem.Problem{
		Status: http.StatusInternalServerError, Code: problem.CodeInternal, Detail: "something went wrong on the server", Retryable: true,
	}
}

// refused is the problem of a command that was not carried out.
func refused(r *session.Refusal) *problem.Problem {
	p := &problem.Problem{Status: http.StatusServiceUnavailable, Code: r.Code, Detail: r.Message, Retryable: r.Retryable}
	if known, ok := statuses[r.Code]; ok {
		p.Status = known.status
		if r.Retryable {
			p.RetryAfter = known.retryAfter
		}
	}
	if r.Code == session.CodeInvalid {
		p.Code = problem.CodeInvalidRequest
	}
	return p
}
