package embedded

import (
	"context"
	"errors"
	"time"

	"turnlog/eventlog"
	"turnlog/reaper"
	"turnlog/session"
)

// feed passes committed frames to the hub, which is made after the session
// because it needs the node's id. Nothing is committed before the node runs.
type feed Node

var _ session.Feed = (*feed)(nil)

// Committed implements session.Feed.
func (f *feed) Committed(c eventlog.Commit) { f.hub.Committed(c) }

// errDeclaredDead breaks the trust of a node that others declared dead.
var errDeclaredDead = errors.New("declared dead")

// trustedLog tells the reaper's trust how the node's own heartbeats fare.
type trustedLog struct {
	session.Log
	trust *reaper.Trust
}

// Heartbeat implements session.Nodes.
func (l trustedLog) Heartbeat(ctx context.Context, node string) (alive bool, err error) {
	alive, err = l.Log.Heartbeat(ctx, node)
	judged := err
	if err == nil && !alive {
		judged = errDeclaredDead
	}
	l.trust.Beat(time.Now(), judged)
	return alive, err
}
