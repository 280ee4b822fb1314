package admin

import (
	"encoding/json"
	"math"
	"net/http"

	"turnlog/eventlog"
	"turnlog/httpapi/internal/call"
)

// Bounds of a page of frames.
const (
	someFrames = 100
	mostFrames = 1000
	pageBytes  = 4 << 20 // one frame always comes
)

type storedFrame struct {
	ChatSeq int64           `json:"chat_seq"`
	TurnID  string          `json:"turn_id"`
	Ordinal int64           `json:"ordinal"`
	Type    string          `json:"type"`
	Bytes   int             `json:"bytes"`
	Frame   json.RawMessage `json:"frame"`
}

// readFrames returns frames behind a number, oldest first, as the log holds them.
func (a *API) readFrames(w http.ResponseWriter, r *http.Request) error {
	after, err := call.Query(r, "after", 0, math.MaxInt64-1, 0)
	if err != nil {
		return err
	}
	limit, err := call.Query(r, "limit", 1, mostFrames, someFrames)
	if err != nil {
		return err
	}
	t := thread(r)
	in, err := a.existing(r, t)
	if err != nil {
		return err
	}
	frames, err := a.log.Frames(r.Context(), t, after, 0, int(limit), pageBytes)
	if err != nil {
		return err
	}
	turns, err := a.log.TurnIDs(r.Context(), t)
	if err != nil {
		return err
	}
	out := struct {
		Epoch    string          `json:"epoch"`
		Status   eventlog.Status `json:"status"`
		FirstSeq int64           `json:"first_seq"`
		LastSeq  int64           `json:"last_seq"`
		Frames   []storedFrame   `json:"frames"`
		Next     *int64          `json:"next"`
	}{in.Log.Epoch, in.Status, in.Log.FirstSeq, in.Log.LastSeq, make([]storedFrame, len(frames)), nil}
	for i, f := range frames {
		out.Frames[i] = storedFrame{ChatSeq: f.Seq, TurnID: turns[f.Ordinal], Ordinal: f.Ordinal, Type: f.Type, Bytes: len(f.Frame), Frame: f.Frame}
	}
	if n := len(frames); n > 0 {
		last := frames[n-1].Seq
		if out.LastSeq = max(out.LastSeq, last); last < out.LastSeq {
			out.Next = &last
		}
	}
	return call.Reply(w, http.StatusOK, out)
}
