package httpapi

import (
	"context"

	"turnlog/eventlog"
	"turnlog/line"
)

// Hub lets event streams follow threads. *eventlog.Hub is one, by way of NewHub.
type Hub interface {
	// Reserve makes a viewer that delivers nothing before Rejoin. wake is called
	// whenever the viewer may have something to deliver; it never blocks.
	Reserve(ctx context.Context, thread eventlog.Thread, wake func()) (Viewer, error)

	line.Retargeter
}

// Viewer is a position in one thread's frames; see eventlog.Viewer.
type Viewer interface {
	Rejoin(ctx context.Context, cursor eventlog.Cursor, policy eventlog.Policy) error
	Next(ctx context.Context, maxFrames, maxBytes int) (eventlog.Delivery, error)
	Leave(ctx context.Context, byServer bool)

	line.Cursor
}

// Requests says which connection runs a tool call.
type Requests interface {
	line.Log
	line.Releaser
}

var _ Viewer = (*eventlog.Viewer)(nil)

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
