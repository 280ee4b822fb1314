// Package webhook runs turns on a server of yours: the turn is POSTed to a URL,
// and the response streams what the agent says, as server-sent events or JSON
// lines. docs/agents.md describes the protocol.
//
// Answers to requests are POSTed to the same URL; the response may stream on, so
// that a server need not keep anything between two calls. The turn is over when
// nothing is streaming and no request is open, or with an "end" line.
//
// # Guarantees
//
// Every POST can be signed (HMAC-SHA256 over id, time and body, as Standard
// Webhooks has it); Verify checks a signature in constant time and refuses old
// ones. A POST is repeated, under the same id, only while no response has begun.
// Redirects are not followed, so that a turn goes nowhere but to its URL.
// Memory is bounded: a line by the frame limit.
//
// # Concurrency and failure
//
// An Agent is safe for concurrent use. When a turn ends its requests are closed:
// that is how the server learns of it. Failures fail the turn with an
// *agent.Error that has error_type and, when there was an HTTP answer, status_code.
package webhook
