// Package httpapi is the HTTP side of a node: the API under /v1 with its event
// streams, liveness, readiness, metrics, a plain index page, and the mount
// point of the WebSocket endpoint. docs/http.md describes the API for people,
// openapi.json for programs; tests hold every answer against the latter.
//
// # Guarantees
//
//   - A call is carried out once or answered with a problem document
//     (package problem) whose code is stable.
//   - Threads are named by identity.Identity.Thread and nowhere else. A thread of
//     somebody else and one that is missing take the same path through the code,
//     and so are answered alike. Only submitting and PUT create threads.
//   - Paths are taken as they were sent: what is not in its shortest form is not found,
//     and never redirected to what may be another thread.
//   - Bodies are bounded in size, nesting and elements before they are decoded; pages
//     of frames and messages in number and bytes.
//
// # Shape
//
// routes.go is the table of calls; each is a handler func(w, r, who) error that either
// answers or returns an error. serve.go adapts it: authentication, request id,
// rates, and the mapping of errors in package internal/call, which is the only one. Event streams
// are in events*.go.
//
// # Concurrency and failures
//
// An API holds no state but its open event streams and is safe for concurrent use. It
// starts no goroutines: calls and streams live in those of their requests. While Redis
// does not answer, changes are retried by the session within its own bounds, reads fail
// at once; both end as 503 with Retry-After. The package knows neither Redis nor the
// WebSocket protocol.
package httpapi
