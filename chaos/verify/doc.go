// Package verify judges what a chaos run recorded. It is pure: it takes a History and
// returns findings, and knows neither sockets nor Redis nor a clock.
//
// What it holds against a History:
//
//   - one socket: between two headers chat_seq is +1, in order, each once; a resume with a
//     cursor goes on right behind it
//   - one thread: a number has one content and one turn, for every viewer, at every attempt to read,
//     and that is what the log holds
//   - one turn: turn_started first, attempts counting up, no frame of another turn between, one
//     turn_finished at the very end, every request closed once, an outcome that something in the run explains
//   - content: what the deterministic demo agent says, over all attempts, nothing missing and nothing twice
//   - submissions and steers: an acknowledged one became one turn (or an aside), never two
//   - what is left: nothing running, no keys but documented ones, no subscriptions of nobody
//
// The rules assume that Redis lost nothing and that no log was trimmed: the run sees to that.
package verify
