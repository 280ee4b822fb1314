package httpapi

import (
	"context"

	"turnlog/eventlog"
	"turnlog/session"
)

// Turns is what the API needs of the session to start and guide turns. All
// methods may block on Redis; a *session.Refusal says that nothing was stored.
type Turns interface {
	Submit(ctx context.Context, s session.Submit) (eventlog.Admission, error)
	Stop(ctx context.Context, user, threadID, turnID string) (session.StopResult, error)
	Answer(ctx context.Context, user string, a session.Answer) error
	Steer(ctx context.Context, s session.Steer) (session.SteerResult, error)
}

// Sessions is the part of session.Service that the API uses.
type Sessions interface {
	Turns
	Settings
	Node() string
	Draining() bool
}

// Settings is what the remaining calls need of the session.
type Settings interface {
	SetPolicy(ctx context.Context, thread eventlog.Thread, policy eventlog.Policy, scope string) (eventlog.Policy, error)
	Turns(ctx context.Context, user string) ([]eventlog.RunningTurn, error)
}

// Frames reads what a thread's log and history hold.
type Frames interface {
	Frames(ctx context.Context, thread eventlog.Thread, after, until int64, limit, maxBytes int) ([]eventlog.StoredFrame, error)
	History(ctx context.Context, thread eventlog.Thread, before int64, limit int) ([]eventlog.Message, error)
	// Attach with generation 0 looks only.
	Attach(ctx context.Context, a eventlog.Attach) (eventlog.Snapshot, error)
}

// Threads keeps threads and their metadata.
type Threads interface {
	Thread(ctx context.Context, thread eventlog.Thread) (eventlog.ThreadMeta, bool, error)
	SetThread(ctx context.Context, thread eventlog.Thread, meta eventlog.ThreadMeta) error
	Delete(ctx context.Context, thread eventlog.Thread) (bool, error)
	ListThreads(ctx context.Context, user string, behind eventlog.ThreadPosition, limit int) ([]eventlog.ListedThread, eventlog.ThreadPosition, error)
}

// Queue holds submissions that wait.
type Queue interface {
	Queue(ctx context.Context, thread eventlog.Thread) ([]eventlog.Submission, error)
	DropQueued(ctx context.Context, thread eventlog.Thread, turnID string) (bool, error)
}

// Log is everything that the API asks the event log itself.
type Log interface {
	Frames
	Threads
	Queue
	Requests
}

var (
	_ Log      = (*eventlog.Log)(nil)
	_ Sessions = (*session.Service)(nil)
)
