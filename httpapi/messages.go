package httpapi

import (
	"encoding/json"
	"net/http"
	"strconv"
	"strings"

	"turnlog/eventlog"
	"turnlog/httpapi/internal/call"
	"turnlog/httpapi/problem"
	"turnlog/identity"
)

// Bounds of a page of messages.
const (
	someMessages = 50
	mostMessages = 200
	firstBite    = 4 // rows of one read; more once they have proved small
)

// messagesPage is a page of history.
type messagesPage struct {
	Messages []json.RawMessage `json:"messages"`
	Next     *string           `json:"next"` // the before of the next, older page; null = there is none
}

// messages returns history: the newest page first, oldest first within a page.
func (a *API) messages(w http.ResponseWriter, r *http.Request, who identity.Identity) error {
	limit, err := call.Query(r, "limit", 1, mostMessages, someMessages)
	if err != nil {
		return err
	}
	at, ok := parseMessageCursor(r.URL.Query().Get("before"))
	if !ok {
		return problem.Invalid("before", "must be a chat_seq of at least 1, or the next of an earlier page")
	}
	t, _, err := a.existing(r, who)
	if err != nil {
		return err
	}
	if at.thread != "" {
		t = who.Thread(at.thread)
	}
	rows, more, err := a.history(r, who, t, at.seq, int(limit))
	if err != nil {
		return err
	}
	page := messagesPage{Messages: make([]json.RawMessage, len(rows))}
	for i, row := range rows {
		if page.Messages[i], err = message(row); err != nil {
			return err
		}
	}
	if more {
		cursor := strconv.FormatInt(rows[0].Seq, 10)
		if rows[0].ThreadID != r.PathValue("id") {
			cursor += "@" + rows[0].ThreadID
		}
		page.Next = &cursor
	}
	return call.Reply(w, http.StatusOK, page)
}

// history reads the rows before a number in bites, so that large ones end a
// page early; one always comes. more: there are older ones.
func (a *API) history(r *http.Request, who identity.Identity, t eventlog.Thread, before int64, limit int) (rows []eventlog.Message, more bool, err error) {
	bytes := 0
	for bite := firstBite; ; bite *= 4 {
		older, err := a.logs.History(r.Context(), t, before, min(bite, limit-len(rows))+1)
		if err != nil {
			return nil, false, err
		}
		more = len(older) > min(bite, limit-len(rows))
		if more {
			older = older[1:]
		}
		for i := range older {
			bytes += len(older[i].Row)
		}
		rows = append(older, rows...)
		if !more || len(rows) >= limit || bytes >= pageBytes {
			return rows, more, nil
		}
		t, before = who.Thread(rows[0].ThreadID), rows[0].Seq
	}
}

// message is a row with its place in the log.
func message(m eventlog.Message) (json.RawMessage, error) {
	row := make(map[string]any)
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(m.Row, &fields); err != nil {
		return nil, err
	}
	for k, v := range fields {
		row[k] = v
	}
	delete(row, "type") // of the frame that carried it; all of them are messages
	row["thread_id"], row["chat_seq"], row["epoch"], row["turn_id"] = m.ThreadID, m.Seq, m.Epoch, m.TurnID
	return json.Marshal(row)
}

// messageCursor is a place in history; a thread other than that of the path
// is one that it goes back to.
type messageCursor struct {
	seq    int64
	thread string
}

func parseMessageCursor(text string) (messageCursor, bool) {
	if text == "" {
		return messageCursor{}, true
	}
	number, thread, named := strings.Cut(text, "@")
	seq, err := strconv.ParseInt(number, 10, 64)
	if err != nil || seq < 1 {
		return messageCursor{}, false
	}
	if _, err := eventlog.EncodeID(thread); named && err != nil {
		return messageCursor{}, false
	}
	return messageCursor{seq, thread}, true
}
