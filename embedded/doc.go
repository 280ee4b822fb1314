// Package embedded runs a node inside a Go program that brings its own agents:
// the wiring of log, session, hub, reaper and WebSocket server, with their
// defaults. The program owns the Redis client and the HTTP server.
//
// # Guarantees
//
// As those of the parts. Run returns after its turns have ended and everything it
// started is done. Agents, Redis client and authenticator stay the program's.
//
// # Concurrency and failure
//
// Run is called once. When its context ends the node refuses new turns, waits
// Options.Drain for running ones, and ends the rest as shutdown.
package embedded
