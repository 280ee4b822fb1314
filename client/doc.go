// Package client talks to a Turnlog server over its WebSocket and keeps doing
// so across lost connections: it reconnects, resumes every thread with a turn
// in flight exactly where it stopped, drops what it has already seen, and sends
// what was written offline once the socket is back. It reads the history over HTTP
// (Messages) when frames alone do not tell.
//
// # Two small machines
//
// The connection:
//
//	            Run                     socket open
//	(new) ----------> connecting -----------------------> online
//	                     ^  | dial failed                  | lost, silent, closed
//	          delay over |  v                              |
//	                    waiting <--------------------------+
//	                     |
//	                     +--> closed (Close, context over, or a refusal that
//	                          retrying cannot cure: 401 without a token source,
//	                          403, close codes 1008, 1009, 4003)
//
// The first retry after a healthy connection is immediate; later ones wait a
// random time up to 250 ms, 500 ms, ... 10 s (full jitter). 1012 (restart)
// waits up to a second, so that the clients of a node do not return as one
// wave; 1013 and HTTP 503 wait at least as long as the server asks; 4001 fetches
// a new token at once. Wake ends a wait, and gives a connection that looks open 5 s
// to prove it.
//
// A token is asked for before each connect, and again Options.ReauthBefore before it
// expires by the server's clock: the connection is extended, not cut. Where that fails it is
// tried again at half of what is left, down to 2 s, and then 4001 does the rest.
//
// Each thread:
//
//	       Send, turn_started,
//	       chat_turn_active              turn_finished, header unknown,
//	idle ----------------------> busy    header finished + incomplete
//	  ^                           |
//	  +---------------------------+
//
//	in step --hole, other numbering, new connection--> syncing
//	syncing --chat_resumed--> in step
//
// A thread's cursor is the highest chat_seq seen. Frames at or below it are
// dropped, a hole asks for a resume, and while syncing numbered frames are
// ignored, because the replay brings them. Another epoch restarts the
// cursor under the header that announced it. This machine is pure (thread.go), the same
// as JavaScript's, and held to it by testdata/thread_cases.json.
//
// # What a header means
//
// OnReconcile asks for what Messages reads.
//
//	unknown                 idle, OnReconcile: reload the history
//	incomplete, running     busy, OnReconcile: reload the history, then frames go on
//	incomplete, finished    idle, OnReconcile: reload the history
//	complete                nothing: the frames alone drive the state
//
// A finished thread has nothing waiting on the server any more. Behind a stop,
// which tells only its sender what it dropped, a thread with a queue resumes to know.
//
// # Guarantees
//
//   - OnFrame sees each numbered frame once and in order within an epoch,
//     whatever the connection does.
//   - A message sent with Send is admitted at most once (it carries an
//     idempotency id) and is retried until the server answers.
//   - A stop that is sent again touches only the turn it was meant for.
//   - A tool runs once per request id for the life of the Client. An answer whose
//     socket died with it is sent again when the server shows the request again.
//
// # Concurrency
//
// All methods may be called from any goroutine, callbacks included, and do not
// block; Pending.Wait and Messages do, and must not be called in a callback. Callbacks run
// one at a time on the goroutine of Run; a slow one slows the reading of
// the socket and nothing else. Tools run on goroutines of their own. Close
// (or the end of Run's context) stops everything and waits for it.
//
// # Failure model
//
// The network may lose, cut, delay or silence the connection at any byte. A
// connection silent for Options.Silence is taken for dead (the server pings
// every 25 s). What was not acknowledged is sent again after the next resume.
// Memory is bounded by Options.QueueLimit commands (then ErrQueueFull), Options.MaxFrame, 1,024
// closed requests, and a few hundred bytes for each thread until Unfollow.
//
// Nothing is kept on disk: a new process goes on with Open and a cursor it saved
// (Client.Thread), or starts fresh and reloads the history.
package client
