// Package closing builds the last frames of a turn.
//
// A Transcript is fed with the turn's frames as they stand in the log and
// remembers only what is still owed to the history: text that no message
// frame covers yet, and announced tool calls without a result. Close turns
// that, and the outcome, into closing entries:
//
//	message(tool)...     stand-ins for calls announced in an assistant message
//	message(assistant)   partial: the text so far, with the calls that no message announced
//	message(tool)...     stand-ins for those
//	generation_stopped   when stopped, unless it was logged before
//	error                failed, owner_lost, timed_out, stalled, shutdown
//	chunk done           unless superseded: an old client must not go idle
//	turn_finished
//
// The order keeps the history valid for a model: a tool message directly
// follows the assistant message that announced its call. A completed turn
// gets only the last two. The request_closed frames of open requests are
// written by the log itself, in front of these.
//
// Conversation is the other end of it: it makes of persisted messages, wherever
// they were cut and whatever agents left in them, a history that a model accepts.
//
// Everything but Read is pure: no I/O, no clock, no randomness. Owner, superseder
// and reaper get the same entries from the same frames. A Transcript is not safe
// for concurrent use; its memory is bounded by its limit and by MaxCalls.
package closing
