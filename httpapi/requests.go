package httpapi

import (
	"encoding/json"
	"maps"
	"net/http"
	"slices"

	"turnlog/eventlog"
	"turnlog/frame"
	"turnlog/httpapi/internal/call"
	"turnlog/httpapi/problem"
	"turnlog/identity"
	"turnlog/session"
)

// openRequest is a request that waits for an answer, on the wire.
type openRequest struct {
	RequestID string          `json:"request_id"`
	Kind      string          `json:"kind"`
	Name      string          `json:"name,omitempty"`
	ChatSeq   int64           `json:"chat_seq"`
	Frame     json.RawMessage `json:"frame"`
}

// listRequests lists what waits for an answer.
func (a *API) listRequests(w http.ResponseWriter, r *http.Request, who identity.Identity) error {
	t, _, err := a.existing(r, who)
	if err != nil {
		return err
	}
	now, err := a.look(r, t, eventlog.Cursor{Live: true}, 1)
	if err != nil {
		return err
	}
	out := make([]openRequest, len(now.Open))
	for i, o := range now.Open {
		out[i] = openRequest{RequestID: o.ID, Kind: o.Kind, Name: o.Name, ChatSeq: o.Seq, Frame: frame.Splice(nil, o.Frame, t.ID, now.TurnID, o.Seq)}
	}
	return call.Reply(w, http.StatusOK, map[string]any{"requests": out})
}

// answerKeys are the keys of an answering frame that are not the answer.
var answerKeys = []string{"type", "thread_id", "tool_call_id", "approval_id", "request_id", "turn_id", "chat_seq"}

// answer answers one open request of the thread. The first answer wins; a
// request that is answered or unknown is not found.
func (a *API) answer(w http.ResponseWriter, r *http.Request, who identity.Identity) error {
	f, err := a.body(w, r, false)
	if err != nil {
		return err
	}
	id := f.requestID()
	f.belongs(who.Thread(r.PathValue("id")))
	if err := f.check(); err != nil {
		return err
	}
	t, _, err := a.existing(r, who)
	if err != nil {
		return err
	}
	now, err := a.look(r, t, eventlog.Cursor{Live: true}, 1)
	if err != nil {
		return err
	}
	at := slices.IndexFunc(now.Open, func(o eventlog.OpenRequest) bool { return o.ID == id })
	if at < 0 {
		return problem.NotFound()
	}
	kind := now.Open[at].Kind
	f.answers(kind)
	if err := f.check(); err != nil {
		return err
	}
	if err := a.sessions.Answer(r.Context(), who.User, session.Answer{RequestID: id, Kind: kind, Payload: f.payload()}); err != nil {
		return err
	}
	return call.Reply(w, http.StatusAccepted, map[string]any{"thread_id": t.ID, "request_id": id})
}

// requestID reads which request is answered; its id has several names.
func (f *form) requestID() (id string) {
	for _, field := range []string{"request_id", "tool_call_id", "approval_id"} {
		switch s := f.string(field); {
		case s == "":
		case id != "" && id != s:
			f.wrong(field, "names another request")
		default:
			id = s
		}
	}
	if id == "" && len(f.wrongs) == 0 {
		f.wrong("request_id", "is required, or tool_call_id or approval_id")
	}
	return id
}

// answers checks an answer to a kind of request.
func (f *form) answers(kind string) {
	switch kind {
	case "tool_call":
		f.flag("ok")
		if _, result := f.fields["result"]; !result && f.given("ok") == nil && f.given("error") == nil {
			f.wrong("ok", "is required, or result or error")
		}
	case "tool_approval":
		f.decision("allow", "allow_for_chat", "deny")
	case "plan_approval":
		f.decision("approve", "reject")
		f.string("feedback")
	case "secret":
		f.required("status")
	}
}

func (f *form) decision(of ...string) {
	if f.choice("decision", of...) == "" && len(f.wrongs) == 0 {
		f.wrong("decision", "is required")
	}
}

// payload is the answer without what only addresses it.
func (f *form) payload() json.RawMessage {
	out := []byte{'{'}
	for _, key := range slices.Sorted(maps.Keys(f.fields)) {
		if slices.Contains(answerKeys, key) {
			continue
		}
		if len(out) > 1 {
			out = append(out, ',')
		}
		out = append(frame.AppendString(out, key), ':')
		out = append(out, f.fields[key]...)
	}
	return append(out, '}')
}
