package admin

import (
	"encoding/json"
	"log/slog"
	"net/http"

	"turnlog/httpapi/internal/call"
	"turnlog/httpapi/problem"
)

const (
	bodyBytes     = 64 << 10
	longestReason = 256

	// stoppedMessage is what viewers are told; a reason comes behind it.
	stoppedMessage = "Stopped by an operator"
)

// stopTurn stops the thread's turn and drops what waits; with a turn_id only that one.
func (a *API) stopTurn(w http.ResponseWriter, r *http.Request) error {
	_, fields, err := call.Object(w, r, bodyBytes, true)
	if err != nil {
		return err
	}
	turnID, err := text(fields, "turn_id", bodyBytes)
	if err != nil {
		return err
	}
	reason, err := text(fields, "reason", longestReason)
	if err != nil {
		return err
	}
	t := thread(r)
	if in, err := a.existing(r, t); err != nil {
		return err
	} else if !in.Exists {
		return problem.NotFound()
	}
	message := stoppedMessage
	if reason != "" {
		message += ": " + reason
	}
	result, err := a.sessions.StopSaying(r.Context(), t, turnID, message)
	a.changed(w, r, "stop_turn", err, slog.String("user", t.User), slog.String("thread_id", t.ID), slog.String("turn_id", result.TurnID),
		slog.Bool("stopped", result.Stopped), slog.Int("dropped", len(result.Dropped)))
	if err != nil {
		return err
	}
	out := struct {
		User     string   `json:"user"`
		ThreadID string   `json:"thread_id"`
		Stopped  bool     `json:"stopped"`
		TurnID   string   `json:"turn_id,omitempty"`
		Dropped  []string `json:"dropped"`
	}{t.User, t.ID, result.Stopped, "", append([]string{}, result.Dropped...)}
	if result.Stopped {
		out.TurnID = result.TurnID
	}
	return call.Reply(w, http.StatusOK, out)
}

// text reads an optional string of a body.
func text(fields map[string]json.RawMessage, name string, longest int) (string, error) {
	var s *string
	if raw := fields[name]; raw != nil && json.Unmarshal(raw, &s) != nil {
		return "", problem.Invalid(name, "must be a string")
	}
	if s == nil {
		return "", nil
	}
	if len(*s) > longest {
		return "", problem.Invalid(name, "is too long")
	}
	return *s, nil
}
