package admin

import (
	"net/http"
	"time"

	"turnlog/eventlog"
	"turnlog/httpapi/internal/call"
)

type listedThread struct {
	ThreadID     string           `json:"thread_id"`
	Title        string           `json:"title,omitempty"`
	Kind         string           `json:"kind,omitempty"`
	Status       eventlog.Status  `json:"status"`
	Outcome      eventlog.Outcome `json:"outcome,omitempty"`
	TurnID       string           `json:"turn_id,omitempty"`
	LastSeq      int64            `json:"last_seq"`
	LastActivity time.Time        `json:"last_activity"`
}

// listThreads lists a user's threads by last activity, newest first.
func (a *API) listThreads(w http.ResponseWriter, r *http.Request) error {
	limit, err := call.Query(r, "limit", 1, mostRows, someRows)
	if err != nil {
		return err
	}
	at, id, err := readCursor(r)
	if err != nil {
		return err
	}
	if id != "" {
		if _, err := eventlog.EncodeID(id); err != nil {
			return errCursor
		}
	}
	whose := user(r).User
	listed, next, err := a.log.ListThreads(r.Context(), whose, eventlog.ThreadPosition{Active: at, ID: id}, int(limit))
	if err != nil {
		return err
	}
	out := struct {
		User    string         `json:"user"`
		Threads []listedThread `json:"threads"`
		Next    *string        `json:"next"`
	}{whose, make([]listedThread, len(listed)), cursor(next.Active, next.ID)}
	for i, l := range listed {
		out.Threads[i] = NewListedThread(l)
	}
	return call.Reply(w, http.StatusOK, out)
}
