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
	TurnIDs(ctx context.Context, thread eventlog.Thread) (map[int64]string, error)
	Messages(ctx context.Context, thread eventlog.Thread, before int64, limit int) ([]eventlog.Message, error)
	// Attach with generation 0 looks only.
	Attach(ctx context.Context, a eventlog.Attach) (eventlog.Snapshot, error)
	Peek(ctx context.Context, threads []eventlog.Thread) ([]eventlog.Peek, error)
}

// Threads keeps threads and their metadata.
type Threads interface {
	Thread(ctx context.Context, thread eventlog.Thread) (eventlog.ThreadMeta, bool, error)
	SetThread(ctx context.Context, thread eventlog.Thread, meta eventlog.ThreadMeta) error
	Delete(ctx context.Context, thread eventlog.Thread) (bool, error)
	Threads(ctx context.Context, user string, offset, limit int) ([]eventlog.Thread, error)
}

// Queue holds submissions that wait.
type Queue interface {
	Queue(ctx context.Context, thread eventlog.Thread) ([]eventlog.Submission, error)
	DropQueued(ctx context.Context, thread eventlog.Thread, turnID string) (bool, error)
	FindRequest(ctx context.Context, user, requestID string) (eventlog.Thread, bool, error)
}

// Log is everything that the API asks the event log itself.
type Log interface {
	Frames
	Threads
	Queue
}

var (
	_ Log      = (*eventlog.Log)(nil)
	_ Sessions = (*session.Service)(nil)
)

// Hub lets event streams follow threads. *eventlog.Hub is one, by way of NewHub.
type Hub interface {
	// Reserve makes a viewer that delivers nothing before Rejoin. wake is called
	// whenever the viewer may have something to deliver; it never blocks.
	Reserve(ctx context.Context, thread eventlog.Thread, wake func()) (Viewer, error)
}

// Viewer is a position in one thread's frames; see eventlog.Viewer.
type Viewer interface {
	Rejoin(ctx context.Context, cursor eventlog.Cursor, policy eventlog.Policy) error
	Next(ctx context.Context, maxFrames, maxBytes int) (eventlog.Delivery, error)
	Position() (epoch string, lastSeq int64)
	Leave(ctx context.Context, byServer bool)
}

var _ Viewer = (*eventlog.Viewer)(nil)

// NewHub adapts the log's hub.
func NewHub(hub *eventlog.Hub) Hub { return hubAdapter{hub} }

type hubAdapter struct{ hub *eventlog.Hub }

func (h hubAdapter) Reserve(ctx context.Context, thread eventlog.Thread, wake func()) (Viewer, error) {
	v, err := h.hub.Reserve(ctx, thread, eventlog.JoinOptions{Wake: func(*eventlog.Viewer) { wake() }})
	if err != nil {
		return nil, err
	}
	return v, nil
}
