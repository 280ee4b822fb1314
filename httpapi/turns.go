package httpapi

import (
	"net/http"
	"time"

	"turnlog/eventlog"
	"turnlog/httpapi/internal/call"
	"turnlog/identity"
)

// runningTurn is a running turn on the wire.
type runningTurn struct {
	ThreadID      string          `json:"thread_id"`
	TurnID        string          `json:"turn_id"`
	Status        eventlog.Status `json:"status"`
	Epoch         string          `json:"epoch"`
	LastSeq       int64           `json:"last_seq"`
	Attempt       int             `json:"attempt"`
	Detached      bool            `json:"detached"`
	OnDisconnect  eventlog.Policy `json:"on_disconnect"`
	GraceDeadline *time.Time      `json:"grace_deadline,omitempty"`
}

// listTurns lists the user's running turns, on all nodes.
func (a *API) listTurns(w http.ResponseWriter, r *http.Request, who identity.Identity) error {
	turns, err := a.sessions.Turns(r.Context(), who.User)
	if err != nil {
		return err
	}
	out := make([]runningTurn, len(turns))
	for i, t := range turns {
		out[i] = runningTurn{
			ThreadID: t.Thread.ID, TurnID: t.TurnID, Status: eventlog.StatusRunning, Epoch: t.Epoch, LastSeq: t.LastSeq,
			Attempt: t.Attempt, Detached: t.Detached, OnDisconnect: t.Policy, GraceDeadline: call.Moment(t.GraceDeadline),
		}
	}
	return call.Reply(w, http.StatusOK, map[string]any{"turns": out})
}
