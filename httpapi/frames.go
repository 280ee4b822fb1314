package httpapi

import (
	"encoding/json"
	"math"
	"net/http"

	"turnlog/eventlog"
	"turnlog/frame"
	"turnlog/httpapi/internal/call"
	"turnlog/identity"
)

// Bounds of a page of frames.
const (
	someFrames = 256
	mostFrames = 1000
	pageBytes  = 4 << 20 // one frame always comes
)

// framesPage is a page of raw frames.
type framesPage struct {
	Frames     []json.RawMessage `json:"frames"`
	Next       int64             `json:"next"` // the after of the next page
	LastSeq    int64             `json:"last_seq"`
	Epoch      string            `json:"epoch"`
	Status     eventlog.Status   `json:"status"`
	Incomplete bool              `json:"incomplete,omitempty"`
}

// frames returns frames behind a number, oldest first, as the log has them.
func (a *API) frames(w http.ResponseWriter, r *http.Request, who identity.Identity) error {
	after, err := call.Query(r, "after", 0, math.MaxInt64, 0)
	if err != nil {
		return err
	}
	limit, err := call.Query(r, "limit", 1, mostFrames, someFrames)
	if err != nil {
		return err
	}
	t, _, err := a.existing(r, who)
	if err != nil {
		return err
	}
	epoch := r.URL.Query().Get("epoch")
	now, err := a.look(r, t, eventlog.Cursor{LastSeq: after, Epoch: epoch, Full: after == 0}, int(limit))
	if err != nil {
		return err
	}
	stale := after > now.LastSeq || after > 0 && epoch != "" && epoch != now.Epoch
	if stale { // numbers of another life: from the oldest frame, as for a cursor of 0
		if now, err = a.look(r, t, eventlog.Cursor{Full: true}, int(limit)); err != nil {
			return err
		}
		after = 0
	}
	page := framesPage{Next: after, LastSeq: now.LastSeq, Epoch: now.Epoch, Status: now.Status, Frames: make([]json.RawMessage, len(now.Page))}
	for i, f := range now.Page {
		if turnID := now.Turns[f.Ordinal]; f.Type == "turn_started" { // as viewers get it
			page.Frames[i] = frame.SpliceEpoch(nil, f.Frame, t.ID, turnID, f.Seq, now.Epoch)
		} else {
			page.Frames[i] = frame.Splice(nil, f.Frame, t.ID, turnID, f.Seq)
		}
		page.Next = f.Seq
	}
	switch {
	case len(now.Page) > 0:
		page.Incomplete = stale || now.Page[0].Seq != after+1
	default:
		page.Incomplete = stale || after < now.LastSeq
		page.Next = now.LastSeq
	}
	return call.Reply(w, http.StatusOK, page)
}
