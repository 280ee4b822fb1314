package client

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// HandshakeError is a handshake that was answered, but not with an upgrade: by a
// server of Turnlog with a problem document, or by something else on the way.
type HandshakeError struct {
	Status int // HTTP status

	// What the problem document says, "" where there was none. It is the peer's
	// text: clean it before it reaches a terminal or a page.
	Code      string // stable, such as "too_many_connections"
	Title     string
	Detail    string // a sentence for people
	RequestID string // names the request in the server's log

	RetryAfter time.Duration // what the server asks for; 0 = nothing
}

var _ error = (*HandshakeError)(nil)

// Error implements error.
func (e *HandshakeError) Error() string {
	text := fmt.Sprintf("handshake: HTTP %d %s", e.Status, http.StatusText(e.Status))
	if said := e.Said(); said != "" {
		text += ": " + said
	}
	return text
}

// Said is what the server says about it: the detail, else a title that is more than
// the status' own text; "" when it says nothing.
func (e *HandshakeError) Said() string {
	if e.Detail == "" && e.Title != http.StatusText(e.Status) {
		return e.Title
	}
	return e.Detail
}

// refusedHandshake reads an answer; of its body only the beginning is there.
func refusedHandshake(resp *http.Response) *HandshakeError {
	p := readProblem(resp)
	return &HandshakeError{
		Status: resp.StatusCode, Code: p.Code, Title: p.Title, Detail: p.Detail, RequestID: p.RequestID,
		RetryAfter: retryAfter(resp.Header.Get("Retry-After")),
	}
}

// problem is what a problem document says.
type problem struct {
	Code, Title, Detail string
	RequestID           string `json:"request_id"`
	Retryable           bool
}

// readProblem reads the problem that an answer may be. A document that is cut off or
// of another shape says nothing; the status remains.
func readProblem(resp *http.Response) (p problem) {
	kind, _, _ := strings.Cut(resp.Header.Get("Content-Type"), ";")
	if strings.TrimSpace(kind) != "application/problem+json" || resp.Body == nil {
		return problem{}
	}
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxProblem))
	if err != nil || json.Unmarshal(body, &p) != nil {
		return problem{}
	}
	return p
}

const maxProblem = 64 << 10 // bytes

func retryAfter(v string) time.Duration {
	seconds, err := strconv.Atoi(strings.TrimSpace(v))
	if err != nil || seconds < 0 {
		return 0
	}
	return time.Duration(min(seconds, 3600)) * time.Second
}
