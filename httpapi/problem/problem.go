package problem

import (
	"encoding/json"
	"net/http"
	"strconv"
)

// ContentType is the media type of problem documents.
const ContentType = "application/problem+json"

// RequestIDHeader is the response header that names the request. Whoever serves
// the request sets it first; documents repeat it.
const RequestIDHeader = "X-Request-Id"

// Codes, stable on the wire. Those of refused commands are session's: busy,
// idempotency_conflict, policy_conflict, quota_exceeded, draining, unavailable,
// too_large, rate_limited, unknown_agent.
const (
	CodeNotFound             = "not_found"
	CodeUnauthorized         = "unauthorized"
	CodeForbidden            = "forbidden"
	CodeInvalidRequest       = "invalid_request"
	CodeMethodNotAllowed     = "method_not_allowed"
	CodeNotAcceptable        = "not_acceptable"
	CodeUnsupportedMediaType = "unsupported_media_type"
	CodeTooLarge             = "too_large"
	CodeRoom                 = "too_many_bytes"
	CodeUserRoom             = "too_many_bytes_of_user"
	CodeSlowSender           = "slow_sender"
	CodeUnavailable          = "unavailable"
	CodeInternal             = "internal"
)

// Problem is one error as clients see it. It is an error itself, so that handlers
// can return it.
type Problem struct {
	Status     int
	Code       string
	Title      string // "" = the status' own text, as the type about:blank wants it
	Detail     string // a sentence for people; never what somebody else's thread holds
	Retryable  bool   // the same request may succeed later
	RetryAfter int    // seconds, 0 = the header is not sent
	Fields     []Field
}

// Field says what is wrong with one part of a request.
type Field struct {
	Name   string `json:"field"`
	Detail string `json:"detail"`
}

// Error implements error.
func (p *Problem) Error() string { return p.Code + ": " + p.Detail }

// document is a Problem on the wire.
type document struct {
	Type      string  `json:"type"`
	Title     string  `json:"title"`
	Status    int     `json:"status"`
	Code      string  `json:"code"`
	Detail    string  `json:"detail,omitempty"`
	Retryable bool    `json:"retryable"`
	Errors    []Field `json:"errors,omitempty"`
	RequestID string  `json:"request_id,omitempty"`
}

// Write answers a request with a problem document. Nothing must have been
// written to w; its headers that describe a body are replaced.
func Write(w http.ResponseWriter, _ *http.Request, p *Problem) {
	d := document{
		Type: "about:blank", Title: p.Title, Status: p.Status, Code: p.Code, Detail: p.Detail,
		Retryable: p.Retryable, Errors: p.Fields, RequestID: w.Header().Get(RequestIDHeader),
	}
	if d.Title == "" {
		d.Title = http.StatusText(p.Status)
	}
	body, err := json.Marshal(d)
	if err != nil { // strings, numbers and booleans can be encoded
		body = []byte(`{"type":"about:blank"}`)
	}
	h := w.Header()
	for _, name := range []string{"Content-Encoding", "Content-Length", "ETag", "Location"} {
		h.Del(name)
	}
	h.Set("Content-Type", ContentType)
	h.Set("Cache-Control", "no-store")
	h.Set("X-Content-Type-Options", "nosniff")
	if p.RetryAfter > 0 {
		h.Set("Retry-After", strconv.Itoa(p.RetryAfter))
	}
	w.WriteHeader(p.Status)
	_, _ = w.Write(append(body, '\n')) // the client went away; nobody is left to tell
}

// NotFound is what missing things and other people's things have in common.
func NotFound() *Problem {
	return &Problem{Status: http.StatusNotFound, Code: CodeNotFound, Detail: "there is nothing here for you"}
}

// Invalid says which part of a request is wrong, and why.
func Invalid(field, why string) *Problem {
	return &Problem{
		Status: http.StatusBadRequest, Code: CodeInvalidRequest, Detail: "the request is not valid: " + field + " " + why,
		Fields: []Field{{field, why}},
	}
}
