// Package frame reads and writes the outer layer of a turn's frames: one flat
// JSON object with a non-empty string "type". It looks at top-level keys only
// and never decodes and re-encodes what lies below, so numbers, key order and
// empty lists arrive exactly as the agent wrote them.
//
// # What a frame is
//
//   - one JSON object, surrounded by nothing but white space;
//   - valid UTF-8, and every \u escape names a character (a lone surrogate such
//     as \ud800 cannot be written in UTF-8 and is read differently by every
//     decoder, so it is refused; Repair replaces them);
//   - nested at most MaxDepth levels deep;
//   - "type" is a non-empty string of at most MaxType bytes. Of repeated keys the
//     last one counts, as in JSON.parse and encoding/json.
//
// The keys chat_seq, thread_id and turn_id belong to the runtime: Strip and
// Check take them out on the way into the log, Splice puts the true ones in on
// the way to a viewer.
//
// # Concurrency and failure
//
// All functions are pure and safe for concurrent use. None of them panics on
// any input or keeps its arguments, but results may share memory with them.
// Validation of a plain chunk allocates nothing.
package frame
