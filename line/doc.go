// Package line decides what one connection is shown of one thread, whatever
// carries it: WebSocket messages and server-sent events say the same.
//
// # Guarantees
//
//   - A tool call is shown to the connection that runs it and to no other one;
//     others are shown request_open under the same number. The log decides who runs
//     it (ClaimRequest), so that two nodes agree.
//   - When the target of a call leaves, the next connection that fits gets the
//     call once more, without a number.
//   - A request of a replay that was answered meanwhile is shown as
//     request_closed under its own number; one that is still open from before the
//     replay comes unnumbered behind the header.
//   - Frames that are no requests pass as they are, shared by all viewers.
//
// # Concurrency
//
// A Desk belongs to whoever pulls the thread for a connection, and has no lock.
//
// # Failure model
//
// When the log does not answer, a call is shown as open and stays on the desk's
// list: Reclaim, called again later, claims it. Owed tells that there is such a call.
package line
