// Package coalesce gathers an agent's text deltas into fewer, larger chunks: by
// time, by size, or both. It decorates an agent and is off unless it is used.
//
// # Guarantees
//
// The text stays the same, byte for byte, and so does the order of all frames:
// whatever is held back goes first when the agent emits anything else, asks,
// saves a checkpoint or returns. Only chunks that have no other keys than
// content and thinking are gathered, and thinking is never mixed with text.
//
// # Concurrency and failure
//
// Turns may be used by several goroutines, as the port has it. A frame that was
// held back may be refused later; the next call then fails with that error. When
// a turn is ended from outside, what was held back (at most the last interval or
// size) is lost, like every word that comes too late.
package coalesce
