package admin

import (
	"log/slog"
	"net/http"
	"time"

	"turnlog/eventlog"
	"turnlog/httpapi/internal/call"
)

type removed struct {
	Threads    int        `json:"threads"`
	TurnsEnded int        `json:"turns_ended"`
	Keys       int        `json:"keys"`
	Streams    int        `json:"streams"`
	Frames     int        `json:"frames"`
	Messages   int        `json:"messages"`
	Queued     int        `json:"queued"`
	MarksUntil *time.Time `json:"marks_until,omitempty"`
}

func newRemoved(d eventlog.Deleted) removed {
	out := removed{d.Threads, d.TurnsEnded, d.Keys, d.Streams, d.Frames, d.Messages, d.Queued, nil}
	if d.Threads > 0 {
		out.MarksUntil = call.Moment(time.Now().Add(eventlog.MarkRetention))
	}
	return out
}

func (d removed) attrs() []slog.Attr {
	return []slog.Attr{
		slog.Int("threads", d.Threads), slog.Int("turns_ended", d.TurnsEnded), slog.Int("keys", d.Keys), slog.Int("frames", d.Frames),
		slog.Int("messages", d.Messages),
	}
}

// deleteThread removes a thread with everything it holds and ends its turn. Again: nothing went.
func (a *API) deleteThread(w http.ResponseWriter, r *http.Request) error {
	t := thread(r)
	gone, err := a.log.DeleteThread(r.Context(), t)
	out := struct {
		User     string `json:"user"`
		ThreadID string `json:"thread_id"`
		removed
	}{t.User, t.ID, newRemoved(gone)}
	a.changed(w, r, "delete_thread", err, append([]slog.Attr{slog.String("user", t.User), slog.String("thread_id", t.ID)}, out.attrs()...)...)
	if err != nil {
		return err
	}
	return call.Reply(w, http.StatusOK, out)
}

type begunMeanwhile struct {
	Threads   int      `json:"threads"`
	ThreadIDs []string `json:"thread_ids"`
}

// deleteUser removes all threads that a user has, as far as it comes in the time for one call.
func (a *API) deleteUser(w http.ResponseWriter, r *http.Request) error {
	whose := user(r).User
	d, err := a.log.DeleteUser(r.Context(), whose, a.opts.DeleteFor)
	out := struct {
		User     string `json:"user"`
		Complete bool   `json:"complete"`
		removed
		BeganAt time.Time      `json:"began_at"`
		Begun   begunMeanwhile `json:"begun_meanwhile"`
	}{whose, d.Complete, newRemoved(d.Deleted), d.Began.UTC(), begunMeanwhile{d.Begun, append([]string{}, d.BegunIDs...)}}
	a.changed(w, r, "delete_user", err, append([]slog.Attr{slog.String("user", whose), slog.Bool("complete", d.Complete)}, out.attrs()...)...)
	if err != nil {
		return err
	}
	return call.Reply(w, http.StatusOK, out)
}
