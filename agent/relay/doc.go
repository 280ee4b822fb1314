// Package relay speaks for agents that are not Go: it turns the JSON objects that
// a program or a server sends in a turn into frames, requests, checkpoints and
// usage, and builds the lines that tell it about the turn (start, input, answer).
// docs/agents.md describes both directions.
//
// # Guarantees
//
// Frames keep the order in which they are passed; a request has its place among
// them. Text that was said without an assistant message of its own becomes one at
// the end. What cannot be a frame is refused with a sentence that says why.
//
// # Concurrency and failure
//
// A Relay is for one turn and safe for concurrent use. Each open request takes a
// goroutine, at most 64 of them; Wait waits for these. Errors of the turn are passed on.
package relay
