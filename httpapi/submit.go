package httpapi

import (
	"encoding/json"
	"net/http"
	"strconv"
	"strings"

	"turnlog/eventlog"
	"turnlog/httpapi/internal/call"
	"turnlog/identity"
	"turnlog/session"
)

// What a submission can become.
const (
	statusStarted = "started"
	statusQueued  = "queued"
)

// submitted is the answer to a submission.
type submitted struct {
	ThreadID     string          `json:"thread_id"`
	TurnID       string          `json:"turn_id"`
	Status       string          `json:"status"` // started, queued; finished: of a duplicate whose turn has ended
	ChatSeq      int64           `json:"chat_seq,omitempty"`
	Epoch        string          `json:"epoch,omitempty"`
	OnDisconnect eventlog.Policy `json:"on_disconnect,omitempty"`
	Position     int             `json:"position,omitempty"`
	Duplicate    bool            `json:"duplicate"`
}

// submit admits a turn. The thread is created when it is not there.
func (a *API) submit(w http.ResponseWriter, r *http.Request, who identity.Identity) error {
	f, err := a.body(w, r, false)
	if err != nil {
		return err
	}
	s := session.Submit{Thread: who.Thread(r.PathValue("id")), Data: f.text, Client: clientName(r), Headless: true}
	f.content()
	f.string("role")
	s.Agent, s.Tools = f.string("agent"), f.manifest()
	s.OnBusy = eventlog.OnBusy(f.choice("on_busy", "supersede", "reject", "enqueue"))
	s.Policy = f.policy()
	connection := f.connection()
	f.belongs(s.Thread)
	s.ID = f.idempotencyKey(r)
	if err := f.check(); err != nil {
		return err
	}
	a.submittedBy(&s, connection)
	adm, err := a.sessions.Submit(r.Context(), s)
	if err != nil {
		return err
	}
	return replySubmitted(w, s.Thread, adm)
}

func replySubmitted(w http.ResponseWriter, t eventlog.Thread, adm eventlog.Admission) error {
	out := submitted{
		ThreadID: t.ID, TurnID: adm.TurnID, Status: statusStarted, ChatSeq: adm.FirstSeq, Epoch: adm.Epoch, OnDisconnect: adm.Policy,
		Duplicate: adm.Verdict == eventlog.VerdictDuplicate,
	}
	at := threadPath(t.ID) + "/events?after=" + strconv.FormatInt(max(adm.FirstSeq-1, 0), 10)
	switch {
	case adm.Verdict == eventlog.VerdictQueued || out.Duplicate && adm.Status == "":
		out = submitted{ThreadID: t.ID, TurnID: adm.TurnID, Status: statusQueued, Position: adm.Position, Duplicate: out.Duplicate}
		at = threadPath(t.ID) + "/queue/" + adm.TurnID
	case out.Duplicate && adm.Status == eventlog.StatusFinished:
		out.Status = string(eventlog.StatusFinished)
	}
	w.Header().Set("Location", at)
	return call.Reply(w, http.StatusAccepted, out)
}

// policy reads what is to become of the turn when nobody watches. Without a
// connection that could go away, cancel means nothing.
func (f *form) policy() eventlog.Policy {
	asked := eventlog.Policy(f.choice("on_disconnect", "cancel", "grace", "preserve"))
	if f.flag("close_on_disconnect") {
		asked = eventlog.PolicyCancel
	}
	if asked == eventlog.PolicyCancel && f.given("connection") == nil {
		f.wrong("on_disconnect", "must be grace or preserve: a turn that is submitted without a connection has none to lose")
	}
	if f.flag("preserve_running_on_disconnect") {
		asked = eventlog.PolicyPreserve
	}
	return asked
}

// belongs checks that a body that names a thread names that of the path.
func (f *form) belongs(t eventlog.Thread) {
	if id := f.string("thread_id"); f.given("thread_id") != nil && id != t.ID {
		f.wrong("thread_id", "must be that of the path, or left out")
	}
}

// idempotencyHeader names the client's id of a submission.
const idempotencyHeader = "Idempotency-Key"

// idempotencyKey is the id of a submission: of the header, which may be quoted
// as drafts of the header have it, or of the body.
func (f *form) idempotencyKey(r *http.Request) string {
	id := f.string("id")
	values := r.Header.Values(idempotencyHeader)
	if len(values) == 0 {
		return f.key("id", id)
	}
	key := strings.TrimSpace(values[0])
	if n := len(key); n >= 2 && key[0] == '"' && key[n-1] == '"' {
		var unquoted string
		if json.Unmarshal([]byte(key), &unquoted) == nil {
			key = unquoted
		}
	}
	switch {
	case len(values) > 1 || key == "":
		f.wrong(idempotencyHeader, "must be given once and not be empty")
	case id != "" && id != key:
		f.wrong(idempotencyHeader, "contradicts the id in the body")
	}
	return f.key(idempotencyHeader, key)
}

// key checks an idempotency key, which becomes part of a key in the log.
func (f *form) key(field, id string) string {
	if id == "" {
		return ""
	}
	if _, err := eventlog.EncodeID(id); err != nil {
		f.wrong(field, "must be valid UTF-8 of at most 256 bytes when escaped")
	}
	return id
}

// steer sends a message into the running turn. When nothing runs, or the turn
// ends first, it becomes a turn of its own.
func (a *API) steer(w http.ResponseWriter, r *http.Request, who identity.Identity) error {
	f, err := a.body(w, r, false)
	if err != nil {
		return err
	}
	f.content()
	f.string("role")
	s := session.Steer{Data: f.text, Agent: f.string("agent"), Tools: f.manifest(), Client: clientName(r), Headless: true}
	s.ID = f.idempotencyKey(r)
	f.belongs(who.Thread(r.PathValue("id")))
	if err := f.check(); err != nil {
		return err
	}
	if s.Thread, _, err = a.existing(r, who); err != nil {
		return err
	}
	result, err := a.sessions.Steer(r.Context(), s)
	if err != nil {
		return err
	}
	return call.Reply(w, http.StatusAccepted, struct {
		ThreadID  string `json:"thread_id"`
		TurnID    string `json:"turn_id"`
		Delivered bool   `json:"delivered"`
		Position  int    `json:"position,omitempty"`
		Duplicate bool   `json:"duplicate"`
	}{s.Thread.ID, result.TurnID, result.Delivered, result.Position, result.Duplicate})
}

// stop stops the thread's turn and drops what waits; with a turn_id only that one.
func (a *API) stop(w http.ResponseWriter, r *http.Request, who identity.Identity) error {
	f, err := a.body(w, r, true)
	if err != nil {
		return err
	}
	turnID := f.string("turn_id")
	f.belongs(who.Thread(r.PathValue("id")))
	if err := f.check(); err != nil {
		return err
	}
	t, _, err := a.existing(r, who)
	if err != nil {
		return err
	}
	result, err := a.sessions.Stop(r.Context(), t.User, t.ID, turnID)
	if err != nil {
		return err
	}
	out := struct {
		ThreadID string   `json:"thread_id"`
		Stopped  bool     `json:"stopped"`
		TurnID   string   `json:"turn_id,omitempty"`
		Dropped  []string `json:"dropped"`
	}{t.ID, result.Stopped, "", result.Dropped}
	if result.Stopped {
		out.TurnID = result.TurnID
	}
	if out.Dropped == nil {
		out.Dropped = []string{}
	}
	return call.Reply(w, http.StatusOK, out)
}
