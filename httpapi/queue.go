package httpapi

import (
	"encoding/json"
	"net/http"
	"slices"

	"turnlog/eventlog"
	"turnlog/httpapi/internal/call"
	"turnlog/httpapi/problem"
	"turnlog/identity"
)

// waiting is a submission that waits, on the wire.
type waiting struct {
	TurnID       string          `json:"turn_id"`
	Position     int             `json:"position"`
	ID           string          `json:"id,omitempty"` // the client's
	Agent        string          `json:"agent,omitempty"`
	OnDisconnect eventlog.Policy `json:"on_disconnect,omitempty"`
	Message      json.RawMessage `json:"message"`
}

// waitingIn reads the queue of the thread that the path names.
func (a *API) waitingIn(r *http.Request, who identity.Identity) (eventlog.Thread, []waiting, error) {
	t, _, err := a.existing(r, who)
	if err != nil {
		return t, nil, err
	}
	queue, err := a.logs.Queue(r.Context(), t)
	out := make([]waiting, len(queue))
	for i, s := range queue {
		out[i] = waiting{TurnID: s.TurnID, Position: i + 1, ID: s.ID, Agent: s.Agent, OnDisconnect: s.Policy, Message: s.Message}
	}
	return t, out, err
}

// listQueue lists the submissions that wait, next one first.
func (a *API) listQueue(w http.ResponseWriter, r *http.Request, who identity.Identity) error {
	_, queue, err := a.waitingIn(r, who)
	if err != nil {
		return err
	}
	return call.Reply(w, http.StatusOK, map[string]any{"queue": queue})
}

// getQueued returns one submission that waits.
func (a *API) getQueued(w http.ResponseWriter, r *http.Request, who identity.Identity) error {
	_, queue, err := a.waitingIn(r, who)
	if err != nil {
		return err
	}
	at := slices.IndexFunc(queue, func(q waiting) bool { return q.TurnID == r.PathValue("turn_id") })
	if at < 0 {
		return problem.NotFound()
	}
	return call.Reply(w, http.StatusOK, queue[at])
}

// dropQueued takes a submission out of the queue.
func (a *API) dropQueued(w http.ResponseWriter, r *http.Request, who identity.Identity) error {
	t, _, err := a.existing(r, who)
	if err != nil {
		return err
	}
	dropped, err := a.logs.DropQueued(r.Context(), t, r.PathValue("turn_id"))
	if err != nil {
		return err
	}
	if !dropped {
		return problem.NotFound()
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}
