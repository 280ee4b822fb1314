package wsapi

import (
	"context"

	"turnlog/eventlog"
	"turnlog/session"
)

// Turns is what commands need of the session to start and guide turns. All
// methods may block on Redis; a *session.Refusal says that nothing was stored.
type Turns interface {
	Submit(ctx context.Context, s session.Submit) (eventlog.Admission, error)
	Stop(ctx context.Context, user, threadID, turnID string) (session.StopResult, error)
	Answer(ctx context.Context, user string, a session.Answer) error
	Steer(ctx context.Context, s session.Steer) (session.SteerResult, error)
}

// Settings is what the remaining commands need of the session.
type Settings interface {
	SetPolicy(ctx context.Context, thread eventlog.Thread, policy eventlog.Policy, scope string) (eventlog.Policy, error)
	SetPermissionMode(ctx context.Context, thread eventlog.Thread, mode string) error
	Turns(ctx context.Context, user string) ([]eventlog.RunningTurn, error)
}

// Node is the node that this server belongs to.
type Node interface {
	Node() string
	Draining() bool
}

// Sessions is the part of session.Service that the server uses.
type Sessions interface {
	Turns
	Settings
	Node
}

// Hub lets connections follow threads. *eventlog.Hub is one, by way of NewHub.
type Hub interface {
	// Reserve makes a viewer that delivers nothing before Start or Rejoin. wake is
	// called whenever the viewer may have something to deliver; it never blocks.
	Reserve(ctx context.Context, thread eventlog.Thread, wake func()) (Viewer, error)

	// Retarget tells this node's viewers that the target of an open tool call left.
	Retarget(thread eventlog.Thread, requestID string)
}

// Viewer is a position in one thread's frames; see eventlog.Viewer.
type Viewer interface {
	Cursor
	Generation() int64
	Position() (epoch string, lastSeq int64)
	Leave(ctx context.Context, byServer bool)
}

// Cursor is the moving part of a Viewer.
type Cursor interface {
	Start(epoch string, after int64)
	Rejoin(ctx context.Context, cursor eventlog.Cursor, policy eventlog.Policy) error
	Next(ctx context.Context, maxFrames, maxBytes int) (eventlog.Delivery, error)
	RequestOpen(id string, seq int64) bool
}

// Log is what the server asks the log itself: which connection runs a tool
// call, a tool call whose target left, and where a thread is.
type Log interface {
	ClaimRequest(ctx context.Context, thread eventlog.Thread, requestID, conn string) (bool, error)
	ReleaseConn(ctx context.Context, thread eventlog.Thread, conn string) ([]string, error)
	Frames(ctx context.Context, thread eventlog.Thread, after, until int64, limit, maxBytes int) ([]eventlog.StoredFrame, error)
	Peek(ctx context.Context, threads []eventlog.Thread) ([]eventlog.Peek, error)
}

var (
	_ Log    = (*eventlog.Log)(nil)
	_ Viewer = (*eventlog.Viewer)(nil)
)

// NewHub adapts the log's hub.
func NewHub(hub *eventlog.Hub) Hub { return hubAdapter{hub} }

type hubAdapter struct{ *eventlog.Hub }

func (h hubAdapter) Reserve(ctx context.Context, thread eventlog.Thread, wake func()) (Viewer, error) {
	v, err := h.Hub.Reserve(ctx, thread, eventlog.JoinOptions{Wake: func(*eventlog.Viewer) { wake() }})
	if err != nil {
		return nil, err
	}
	return v, nil
}
