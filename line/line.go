package line

import (
	"context"

	"turnlog/eventlog"
)

// Line is one object on its way to a client: a frame shared by all viewers, or
// one made for this connection alone.
type Line struct {
	Shared *eventlog.Delivered
	Own    []byte

	stands *eventlog.Delivered // the frame whose number Own has
}

// JSON is what the client is sent. It must not be changed.
func (l Line) JSON() []byte {
	if l.Shared != nil {
		return l.Shared.JSON
	}
	return l.Own
}

// Position is the place in the log of the frame that the line shows, or stands
// for; false when the line has no number.
func (l Line) Position() (epoch string, seq int64, numbered bool) {
	at := l.Shared
	if at == nil {
		at = l.stands
	}
	if at == nil {
		return "", 0, false
	}
	return at.Epoch, at.Seq, true
}

// Log is what a desk asks the log. *eventlog.Log implements it.
type Log interface {
	// ClaimRequest makes conn the target of an open request, if it may be.
	ClaimRequest(ctx context.Context, thread eventlog.Thread, requestID, conn string) (bool, error)
	// Frames reads a call whose target left.
	Frames(ctx context.Context, thread eventlog.Thread, after, until int64, limit, maxBytes int) ([]eventlog.StoredFrame, error)
}

// Cursor tells which requests were answered before the header was made.
// *eventlog.Viewer is one.
type Cursor interface {
	RequestOpen(id string, seq int64) bool
}

// Conn is the connection that is shown a thread.
type Conn interface {
	ID() string
	Runs(tool string) bool // the client has this tool
}

var (
	_ Log    = (*eventlog.Log)(nil)
	_ Cursor = (*eventlog.Viewer)(nil)
)
