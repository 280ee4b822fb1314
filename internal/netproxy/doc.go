// Package netproxy is a TCP proxy for tests: it stands between a client and a
// server and misbehaves on command, the way networks do.
//
//	Cut            every open connection is reset
//	CutAfter       a connection is reset after so many bytes to the client
//	Delay          every piece is held back
//	BlackHole      connections stay open, nothing passes (until Resume, then all of it does)
//	HalfOpen       the server sees the connection end, the client sees silence
//	Refuse         new connections are closed at once
//	Filter         sees every piece, passes it, swallows it, or cuts before or after it
//
// With the RESP framing a piece is one whole Redis value, so that a filter can
// swallow exactly one reply or one published message without damaging the stream.
//
// Safe for concurrent use. Close resets every connection and waits for the
// proxy's goroutines. A filter runs on the goroutine of its connection and
// direction, so calls for one direction of one connection never overlap.
package netproxy
