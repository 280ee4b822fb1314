// Package demo is an agent without a model behind it: what it says follows from
// what it is asked, so that people can try things, and tests and benchmarks can
// check content.
//
// # Script
//
// The submission's data may carry "demo":
//
//	frames            number of chunks; without text 10 when absent
//	interval_ms       pause between chunks in milliseconds; 0 = as fast as possible
//	bytes             size up to which each chunk is filled
//	text              words to say, one per chunk, instead of numbers
//	tool_call         {name, args, at}: call a client's tool before chunk at
//	approval          {tool_name, at}: ask for a tool approval before chunk at
//	checkpoint_every  checkpoint after every so many chunks
//	fail_at           return an error before this chunk
//	panic_at          panic before this chunk
//	hang_at           say nothing more from this chunk on, until the turn ends
//	ignore_stop       do not wind down when the turn ends
//	stamp             mark each chunk with content_metadata {"t": microseconds since 1970}
//
// Chunk n (1-based) is "n:" with filler and a space, or the n-th word and a
// space. A request's answer is followed by the chunk "answer:" with the answer
// as JSON and a space; a steering message is answered with "steer:", its content
// and a space. At the end stands the assistant message with all of it, cut at
// half of the frame limit. Without "demo" the agent says something friendly
// about the message, word by word.
//
// # Concurrency and failure
//
// One goroutine per turn, the caller's. Lost turns may be restarted: the next
// attempt reads from checkpoint and log how far the last one came and goes on
// from there, so that nothing is missing and nothing is said twice. A script that makes no sense fails the
// turn with a sentence that names the field. With ignore_stop a turn that hangs
// keeps its goroutine for another minute.
package demo
