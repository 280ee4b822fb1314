package admin

import (
	"context"
	"time"

	"turnlog/eventlog"
	"turnlog/session"
)

// Nodes is the fleet as Redis knows it.
type Nodes interface {
	Nodes(ctx context.Context) ([]eventlog.NodeState, error)
	NodeReports(ctx context.Context) ([]eventlog.NodeReport, error)
	Reaper(ctx context.Context) (eventlog.ReaperState, error)
	Backlog(ctx context.Context) (eventlog.Backlog, error)
	Now(ctx context.Context) (time.Time, error)
}

// Turns are the running turns of all users.
type Turns interface {
	ListTurns(ctx context.Context, f eventlog.TurnFilter, behind eventlog.TurnPosition, limit int) (eventlog.TurnPage, error)
	CountTurns(ctx context.Context) (eventlog.TurnCounts, error)
}

// Threads are the threads of a user.
type Threads interface {
	ListThreads(ctx context.Context, user string, behind eventlog.ThreadPosition, limit int) ([]eventlog.ListedThread, eventlog.ThreadPosition, error)
	Inspect(ctx context.Context, t eventlog.Thread) (eventlog.Inspection, error)
	Frames(ctx context.Context, t eventlog.Thread, after, until int64, limit, maxBytes int) ([]eventlog.StoredFrame, error)
	TurnIDs(ctx context.Context, t eventlog.Thread) (map[int64]string, error)
}

// Deletes removes what is held of a user.
type Deletes interface {
	DeleteThread(ctx context.Context, t eventlog.Thread) (eventlog.Deleted, error)
	DeleteUser(ctx context.Context, user string, atMost time.Duration) (eventlog.UserDeletion, error)
}

// Log is everything that the API asks the event log.
type Log interface {
	Nodes
	Turns
	Threads
	Deletes
}

// Sessions stops turns, wherever they run.
type Sessions interface {
	Node() string
	StopSaying(ctx context.Context, thread eventlog.Thread, turnID, message string) (session.StopResult, error)
}

// ReaperStatus is how the reaper of this node fares; see reaper.Status.
type ReaperStatus struct {
	Leads    bool
	LastPass time.Time
	Err      error

	NodesBuried     int
	TurnsEnded      map[eventlog.Outcome]int
	RequestsExpired int
}

var (
	_ Log      = (*eventlog.Log)(nil)
	_ Sessions = (*session.Service)(nil)
)
