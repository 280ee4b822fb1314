// Package reaper ends what nobody else can end: turns whose node died, whose
// grace ran out, whose stop, duration or stall limit passed, and requests whose
// own deadline passed.
//
// Every node runs a Reaper; one at a time leads, under a lease with a term
// (eventlog.ReaperLease), and looks twice a second:
//
//	lead? -> declare dead the nodes whose lease is past
//	      -> bury the dead: their late writes are refused, their turns become
//	         due or ready for the next attempt, their viewers are detached
//	      -> reap due threads: fence, read the frames, close
//
// # Guarantees
//
// A turn ends once, whoever reaps it and however often: each step is checked
// again inside its script, by Redis time. Two reapers at once, one that was
// killed between any two steps, or one that was paused and goes on are harmless;
// the lease only saves work. Another node takes over within the lease.
//
// A node acts on the absence of others only while its own Trust holds; see there.
// An outage of Redis alone therefore kills no node and ends no grace.
//
// # Failure model
//
// Redis errors end a round; the next one starts over. A burial is done only
// when every partition is; any later reaper continues it. Work is bounded per
// round, so a storm of deadlines delays, and never blocks, the renewal of the lease.
//
// The Reaper runs no agents: turns to be restarted are marked ready, and any
// node claims them.
package reaper
