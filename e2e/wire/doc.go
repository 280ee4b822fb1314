// Package wire is a raw protocol client for tests. It sends what it is told,
// records everything it receives in order, and judges nothing by itself; the
// checks are separate: Check for the rules of numbering on one socket, Story for
// what a viewer was told across all of its sockets.
//
// One goroutine per Conn reads until the socket ends. Await and the accessors may
// be used from any goroutine. A Conn never reconnects.
package wire
