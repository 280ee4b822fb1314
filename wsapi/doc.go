// Package wsapi is the WebSocket side of Turnlog: connections, commands,
// frames and close codes. It is the only package that knows WebSocket. The wire
// itself is described in docs/protocol.md.
//
// # Shape
//
//	request ──> handshake (draining? origin? user?) ──> conn
//	              reader ── decode ── dispatch ── command ──> session, hub
//	                 │ replies (bounded)                        │ wake
//	                 v                                          v
//	              outbox <──────── announce ─────────────── following (a cursor)
//	                 │
//	              writer ── pull ── show ── encode ── cork ──> socket
//
// Every connection has two goroutines: one reads and carries out commands, one
// after the other; one writes. Pings, silence, expiry and retries are looked
// after by one ticker per server (Run).
//
// # Guarantees
//
//   - Frames never queue in memory: the writer pulls them from the cursor of
//     each followed thread, in turn, when the socket takes them. Only replies
//     queue, and only up to a bound. A client that does not read them first stops
//     being read, and is then closed with 4008.
//   - Every command gets exactly one acknowledgement. That of resume_chat stands
//     right behind the last replayed frame (resume.go, pull.go).
//   - Every stop is followed by exactly one generation_stopped (stopping.go).
//   - A tool call is shown to one connection; see toolcall.go.
//   - What a client sends is checked and bounded before it is used (package
//     pack); nothing it sends ends more than its own connection.
//
// # Limits
//
// Options. A connection follows at most ThreadsPerConnection threads; when it
// has that many, a thread that was not asked for by follow makes room for the
// next one: one that was submitted to and has finished, else one that was
// resumed and never ran.
//
// Messages of more than limit.Free bytes are counted against Options.Room from their
// first byte until they were carried out; between two messages a connection keeps no
// more than 4 KiB of the last one.
//
// Commands of a connection are carried out one after another by its reader.
//
// # Concurrency
//
// Server and its methods are safe for concurrent use. Locks are taken in the
// order following.moving, following.mu, then the outbox or the hub's own; none
// is held while a socket is written, except the cork's.
//
// # Failure model
//
// When the log cannot be read, a thread's frames come later (retried every
// second), under the same numbers. Verbs fail with a refusal; nothing was stored then.
// A connection that ends tells its threads within a bounded time; if Redis
// is away the hub repeats it.
package wsapi
