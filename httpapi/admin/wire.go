package admin

import "turnlog/eventlog"

// Thread is everything about a thread but what was said, as GET …/threads/{thread}
// answers. It and its siblings are for programs of this module that read the API, or that
// show the same facts read from Redis.
type Thread = threadFacts

// ListedThread is a thread in the list of its user's.
type ListedThread = listedThread

// Frame is a frame as the log holds it.
type Frame = storedFrame

// Key is a Redis key of a thread.
type Key = key

// NewThread makes of an inspection what GET …/threads/{thread} answers.
func NewThread(in eventlog.Inspection) Thread { return newThreadFacts(in) }

// NewListedThread makes of a thread what GET …/threads lists.
func NewListedThread(l eventlog.ListedThread) ListedThread {
	return ListedThread{
		ThreadID: l.Thread.ID, Title: l.Meta.Title, Kind: l.Meta.Kind, Status: l.Status, Outcome: l.Outcome, TurnID: l.TurnID,
		LastSeq: l.LastSeq, LastActivity: l.Active.UTC(),
	}
}
