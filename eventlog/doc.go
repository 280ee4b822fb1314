// Package eventlog keeps every frame of every turn in Redis, one stream per
// thread, and is the only package that knows Redis keys. What is not in
// the stream was not said: a client may go away at any time and read on from the
// number it saw last, on whatever node.
//
// # Guarantees
//
//   - Frames of a thread have the numbers 1, 2, 3, ... within an epoch, across
//     turns. A frame that was seen keeps its number and content while the epoch lives.
//     The epoch changes only when numbers may have been lost; numbering then
//     continues above everything that is known.
//   - One attempt of a turn has one owner, and only the owner appends. Begin
//     (superseding), Finish and Reap write otherwise, and they end the turn in
//     the same script. Every write checks the owner's right inside the script.
//   - A turn ends once. Its closing frames, status and outcome become visible in one step.
//   - Every call may be sent twice: the second one changes nothing. Ids are
//     minted by the caller before the first try.
//   - Inputs are stored before the owner is woken. A lost wake-up loses nothing,
//     because nodes poll.
//   - Turns can be ended when Redis is out of memory; new ones are refused
//     before anything is stored.
//
// # Concurrency
//
// A Log is safe for concurrent use and has no goroutines until the first
// Writer; Close stops them. One Writer belongs to one running turn. Hub, Bus and their
// viewers are described at their types.
//
// # Failure model
//
// Every command has a deadline (Options.CommandTimeout). An error that unwraps
// to ErrUnavailable leaves open whether the call was executed: send the same
// call again. Redis may lose its last writes in a failover: the owner of a
// running turn repairs what is missing from its tail, or starts a new epoch;
// where no owner can confirm and the master changed, a new epoch starts 65,536
// numbers higher. Redis may forget its scripts at any time. Time is Redis time, everywhere.
//
// A turn that others than its owner end is fenced first (state.closing): its
// log cannot move any more, so that the closing frames, built from what it says, are
// complete. Begin and Reap therefore take two calls. A fence always comes
// with stop_at, so that the reaper ends what a crashed caller left fenced.
//
//	chat_message --Begin--> running, watched <--Attach-- running, detached --grace_at--> Reap: detached
//	                          |  last viewer gone -----------^  preserve: no deadline
//	                          |                                 cancel: fenced, then Finish or Reap
//	                          +-- owner: Finish ------------> completed | failed | stopped | ...
//	                          +-- Begin again: fence, then close and start --> superseded
//	                          +-- owner dead: Bury ---------> Reap: owner_lost, or BeginNext: next attempt
//
// # Keys
//
// All keys of a user share the hash tag {p}, so that every script is atomic on
// a Redis Cluster: p is the FNV-1a hash (32 bits) of the encoded user modulo
// the number of partitions. Hash, number and format version are part of the stored
// format (turnlog:{nodes}:format). Ids are percent-encoded outside
// [A-Za-z0-9._~@-] and at most 256 bytes long after that. Scripts get the
// thread's state key and derive its siblings (lua/lib_keys.lua).
//
// Let T = turnlog:{p}:<user>/<thread>, U = turnlog:{p}:<user>, P = turnlog:{p}.
// replay and history are the two retentions; "running: none" means that a
// running turn's key has no TTL.
//
//	key               type     written by                 TTL
//	T:log             stream   begin, append, finish...   running: none; then replay
//	T:turns           hash     begin                      like T:log; ordinal -> turn_id
//	T:state           hash     all scripts                running: none; then history; deleted: 24 h
//	T:messages        stream   with the log               like T:state
//	T:queue           list     begin, close, send_input   like T:state
//	T:inputs          stream   send_input, reap           deleted at the end of the turn
//	T:requests        hash     append, send_input, claim  deleted at the end of the turn
//	T:viewers         hash     begin, attach, detach      running: none; then like T:state; without a state 1 h
//	T:submit:<id>     string   begin, send_input (steer)  24 h; "<turn_id> <digest>"
//	T:input:<id>      string   send_input                 24 h; "<turn_id> <dropped>..."
//	T:live            channel  begin, append, finish...
//	U:threads         zset     begin, close, set_thread   history, renewed; by last activity
//	U:running         set      begin, close               none; emptied by the end of turns
//	U:requests        hash     append, close              none; emptied by the end of turns
//	P:turns           zset     begin, close               none; running turns by start
//	P:due             zset     lib_due                    none; threads by nearest deadline
//	P:ready           zset     close, begin_next, bury    none; threads with something to claim
//	P:dead            zset     bury                       members 24 h
//	P:node:<id>:turns    set   begin, close, bury         none; emptied by close and bury
//	P:node:<id>:viewing  set   attach, detach, bury       none; emptied by detach and bury
//	P:node:<id>:inbox    set   send_input, close          none; taken by Poll, dropped by bury
//	turnlog:{nodes}:lease   zset    heartbeat             none; nodes by end of lease
//	turnlog:{nodes}:dead    zset    declare_dead, resign  members 24 h
//	turnlog:{nodes}:buried  zset    buried                members 24 h
//	turnlog:{nodes}:reaper  string  lead                  5 s; "<node> <term>"
//	turnlog:{nodes}:since   string  lead                  5 s; when that lease was taken, Unix ms
//	turnlog:{nodes}:term    string  lead                  none
//	turnlog:{nodes}:format  string  Open                  none; "<version> <partitions>"
//	turnlog:node:<id>       hash    Register              24 h; also the channel of wake-ups ("w <p>")
//
// An entry of T:log has the id <chat_seq>-0 and the fields turn (ordinal), type,
// pos (bytes of all frames up to and including this one) and frame, in this
// order. An entry of T:messages has turn_id, epoch and frame. The field lineage of
// T:state lists the threads whose messages History shows in front of the
// thread's own, with the last number that counts and its epoch (lua/lib_lineage.lua). Frames are stored as the agent
// emitted them; scripts never decode one.
package eventlog
