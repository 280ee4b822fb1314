// Package embedded is a node: the wiring of log, session, hub, reaper, WebSocket
// server and HTTP handler, with their defaults. `turnlog serve` is made of it,
// and so is a Go program that brings its own agents. The program owns the Redis
// client and the HTTP server.
//
// # Guarantees
//
// As those of the parts. The parts stop in the order in which they need each
// other: turns and sockets first, what they stand on last. Run returns after its
// turns have ended and everything it started is done. Agents, Redis client and
// authenticator stay the program's.
//
// # Concurrency and failure
//
// Run is called once; everything else is safe for concurrent use. When Run's
// context ends the node refuses new turns, waits Options.Drain.Timeout for running
// ones, and ends the rest as shutdown; Hurry ends them at once. When a part fails,
// the node ends its turns and Run returns the error.
package embedded
