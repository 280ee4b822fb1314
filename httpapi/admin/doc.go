// Package admin is the API for operators under /admin/v1: nodes, running turns of all
// users, what is held of a user, stopping turns and deleting. docs/http.md describes it
// for people, openapi.json for programs; tests hold every answer against the latter.
//
// # Guarantees
//
//   - Nothing is looked at before the caller has shown a token with the scope: without a
//     token the answer is 401, without the scope 403, whatever the path and method are.
//   - Every change, and every attempt at one, is one log line at info: who (the token's
//     subject, the request's id, the client's address) and what; never contents or tokens.
//   - A read costs what its page costs, however much the fleet runs: see eventlog.ListTurns.
//   - Deleting is safe to repeat: what is gone stays gone, and a call that was cut is gone on with
//     by the next one.
//
// An operator reaches every user's threads, so they are named by an Identity of that
// user, made from the path only after the caller's scope was checked (user.go).
//
// # Concurrency and failures
//
// An API holds no state and is safe for concurrent use. It starts no goroutines. While
// Redis does not answer, reads fail at once and stops are retried within the session's
// bounds; both end as 503 with Retry-After.
package admin
