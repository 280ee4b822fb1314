package httpapi

import (
	"encoding/json"
	"net/http"
	"time"

	"turnlog/eventlog"
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
			Attempt: t.Attempt, Detached: t.Detached, OnDisconnect: t.Policy, GraceDeadline: moment(t.GraceDeadline),
		}
	}
	return reply(w, http.StatusOK, map[string]any{"turns": out})
}

// moment is a time on the wire, nil when there is none.
func moment(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	t = t.UTC()
	return &t
}

// reply answers with JSON.
func reply(w http.ResponseWriter, status int, v any) error {
	body, err := json.Marshal(v)
	if err != nil {
		return err
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(append(body, '\n')) // the client went away; nobody is left to tell
	return nil
}
