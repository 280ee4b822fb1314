package httpapi

import (
	"encoding/base64"
	"net/http"
	"strconv"
	"strings"
	"time"

	"turnlog/eventlog"
	"turnlog/httpapi/internal/call"
	"turnlog/httpapi/problem"
	"turnlog/identity"
	"turnlog/session"
)

// thread is a thread on the wire.
type thread struct {
	ThreadID     string           `json:"thread_id"`
	Title        string           `json:"title,omitempty"`
	Kind         string           `json:"kind,omitempty"`
	Continues    string           `json:"continues,omitempty"`
	BranchOf     string           `json:"branch_of,omitempty"`
	BranchSeq    *int64           `json:"branch_seq,omitempty"`
	OnDisconnect eventlog.Policy  `json:"on_disconnect,omitempty"`
	Status       eventlog.Status  `json:"status"`
	Outcome      eventlog.Outcome `json:"outcome,omitempty"`
	TurnID       string           `json:"turn_id,omitempty"`
	LastSeq      int64            `json:"last_seq"`

	// Of single threads.
	Epoch         string     `json:"epoch,omitempty"`
	FirstHeld     int64      `json:"first_held,omitempty"`
	GraceDeadline *time.Time `json:"grace_deadline,omitempty"`

	// Of lists.
	LastActivity *time.Time `json:"last_activity,omitempty"`
}

func newThread(id string, m eventlog.ThreadMeta) thread {
	t := thread{ThreadID: id, Title: m.Title, Kind: m.Kind, Continues: m.Continues, BranchOf: m.BranchOf, OnDisconnect: m.Policy}
	if m.Continues != "" || m.BranchOf != "" {
		t.BranchSeq = &m.BranchSeq
	}
	if stronger(m.KindPolicy, m.Policy) {
		t.OnDisconnect = m.KindPolicy
	}
	return t
}

var strength = map[eventlog.Policy]int{eventlog.PolicyCancel: 1, eventlog.PolicyGrace: 2, eventlog.PolicyPreserve: 3}

func stronger(a, b eventlog.Policy) bool { return strength[a] > strength[b] }

// existing reads the thread that the path names. One that is missing, or that
// somebody else has under the same id, is not found.
func (a *API) existing(r *http.Request, who identity.Identity) (eventlog.Thread, eventlog.ThreadMeta, error) {
	t := who.Thread(r.PathValue("id"))
	meta, ok, err := a.logs.Thread(r.Context(), t)
	if err == nil && !ok {
		err = problem.NotFound()
	}
	return t, meta, err
}

// look returns what a thread is doing now, and its frames behind a cursor.
func (a *API) look(r *http.Request, t eventlog.Thread, c eventlog.Cursor, frames int) (eventlog.Snapshot, error) {
	return a.logs.Attach(r.Context(), eventlog.Attach{Thread: t, Cursor: c, PageFrames: frames, PageBytes: pageBytes})
}

// Bounds of lists.
const (
	someThreads = 50
	mostThreads = 200
)

// listThreads lists the user's threads by last activity, newest first.
func (a *API) listThreads(w http.ResponseWriter, r *http.Request, who identity.Identity) error {
	limit, err := call.Query(r, "limit", 1, mostThreads, someThreads)
	if err != nil {
		return err
	}
	behind, ok := parseThreadCursor(r.URL.Query().Get("cursor"))
	if !ok {
		return problem.Invalid("cursor", "must be the next of an earlier page")
	}
	listed, next, err := a.logs.ListThreads(r.Context(), who.User, behind, int(limit))
	if err != nil {
		return err
	}
	page := struct {
		Threads []thread `json:"threads"`
		Next    *string  `json:"next"`
	}{Threads: make([]thread, len(listed))}
	for i, l := range listed {
		t := newThread(l.Thread.ID, l.Meta)
		t.Status, t.Outcome, t.TurnID, t.LastSeq, t.LastActivity = l.Status, l.Outcome, l.TurnID, l.LastSeq, call.Moment(l.Active)
		page.Threads[i] = t
	}
	if next != (eventlog.ThreadPosition{}) {
		cursor := threadCursor(next)
		page.Next = &cursor
	}
	return call.Reply(w, http.StatusOK, page)
}

// threadCursor makes an opaque text of a position.
func threadCursor(p eventlog.ThreadPosition) string {
	return base64.RawURLEncoding.EncodeToString([]byte(strconv.FormatInt(p.Active, 10) + " " + p.ID))
}

func parseThreadCursor(text string) (eventlog.ThreadPosition, bool) {
	if text == "" {
		return eventlog.ThreadPosition{}, true
	}
	b, err := base64.RawURLEncoding.DecodeString(text)
	at, id, found := strings.Cut(string(b), " ")
	active, bad := strconv.ParseInt(at, 10, 64)
	if _, unfit := eventlog.EncodeID(id); err != nil || !found || bad != nil || unfit != nil || active < 0 {
		return eventlog.ThreadPosition{}, false
	}
	return eventlog.ThreadPosition{Active: active, ID: id}, true
}

// getThread returns a thread's metadata and what it is doing.
func (a *API) getThread(w http.ResponseWriter, r *http.Request, who identity.Identity) error {
	t, meta, err := a.existing(r, who)
	if err != nil {
		return err
	}
	return a.replyThread(w, r, http.StatusOK, t, meta)
}

func (a *API) replyThread(w http.ResponseWriter, r *http.Request, status int, t eventlog.Thread, meta eventlog.ThreadMeta) error {
	now, err := a.look(r, t, eventlog.Cursor{Live: true}, 1)
	if err != nil {
		return err
	}
	out := newThread(t.ID, meta)
	out.Status, out.TurnID, out.LastSeq, out.Epoch, out.FirstHeld = now.Status, now.TurnID, now.LastSeq, now.Epoch, now.FirstHeld
	if now.Status == eventlog.StatusFinished {
		out.Outcome = now.Outcome
	}
	if now.Status == eventlog.StatusRunning {
		out.GraceDeadline = call.Moment(now.GraceDeadline)
	}
	return call.Reply(w, status, out)
}

// putThread creates a thread, or changes what is given of one that is there.
func (a *API) putThread(w http.ResponseWriter, r *http.Request, who identity.Identity) error {
	meta, err := a.metadata(w, r)
	if err != nil {
		return err
	}
	t := who.Thread(r.PathValue("id"))
	before, there, err := a.logs.Thread(r.Context(), t)
	if err != nil {
		return err
	}
	if there {
		return a.changeThread(w, r, t, before, meta)
	}
	meta.RuleKind, meta.RulePolicy = a.opts.Kind(session.Submit{Thread: t, Client: clientName(r)})
	if err := a.logs.SetThread(r.Context(), t, meta); err != nil {
		return err
	}
	if meta, there, err = a.logs.Thread(r.Context(), t); err != nil || !there {
		return cmpError(err, problem.NotFound())
	}
	w.Header().Set("Location", threadPath(t.ID))
	return a.replyThread(w, r, http.StatusCreated, t, meta)
}

// patchThread changes what is given of a thread that is there.
func (a *API) patchThread(w http.ResponseWriter, r *http.Request, who identity.Identity) error {
	meta, err := a.metadata(w, r, typeMergePatch)
	if err != nil {
		return err
	}
	t, before, err := a.existing(r, who)
	if err != nil {
		return err
	}
	return a.changeThread(w, r, t, before, meta)
}

// changeThread changes what meta has of a thread. What it descends from was
// settled when it was created; naming that again is no change.
func (a *API) changeThread(w http.ResponseWriter, r *http.Request, t eventlog.Thread, before, meta eventlog.ThreadMeta) error {
	for _, settled := range []struct {
		field     string
		is, wants string
	}{{"continues", before.Continues, meta.Continues}, {"branch_of", before.BranchOf, meta.BranchOf}} {
		if settled.wants != "" && settled.wants != settled.is {
			return problem.Invalid(settled.field, "is settled when the thread is created")
		}
	}
	if meta.BranchSeq != 0 && meta.BranchSeq != before.BranchSeq {
		return problem.Invalid("branch_seq", "is settled when the thread is created")
	}
	if meta.Policy != "" { // first, since only this one can be refused; it also tells the running turn
		if _, err := a.sessions.SetPolicy(r.Context(), t, meta.Policy, "thread"); err != nil {
			return err
		}
	}
	if meta.Title != "" || meta.Kind != "" {
		change := eventlog.ThreadMeta{Title: meta.Title, Kind: meta.Kind, KindPolicy: meta.KindPolicy}
		if err := a.logs.SetThread(r.Context(), t, change); err != nil {
			return err
		}
	}
	now, there, err := a.logs.Thread(r.Context(), t)
	if err != nil || !there {
		return cmpError(err, problem.NotFound())
	}
	return a.replyThread(w, r, http.StatusOK, t, now)
}

// Bounds of metadata, in bytes.
const (
	longestTitle = 1024
	longestKind  = 64
)

// metadata reads the body of PUT and PATCH.
func (a *API) metadata(w http.ResponseWriter, r *http.Request, types ...string) (eventlog.ThreadMeta, error) {
	f, err := a.body(w, r, false, types...)
	if err != nil {
		return eventlog.ThreadMeta{}, err
	}
	m := eventlog.ThreadMeta{
		Title: f.named("title", longestTitle), Kind: f.named("kind", longestKind),
		Continues: f.threadID("continues"), BranchOf: f.threadID("branch_of"),
		Policy: eventlog.Policy(f.choice("on_disconnect", "cancel", "grace", "preserve")),
	}
	if m.Continues != "" && m.BranchOf != "" {
		f.wrong("branch_of", "cannot be given together with continues")
	}
	if f.into("branch_seq", &m.BranchSeq, "a whole number") && m.Continues == "" && m.BranchOf == "" {
		f.wrong("branch_seq", "needs continues or branch_of")
	}
	for _, field := range []string{"title", "kind", "on_disconnect", "continues", "branch_of", "branch_seq"} {
		if string(f.fields[field]) == "null" && r.Method == http.MethodPatch {
			f.wrong(field, "cannot be removed; give another value or leave it out")
		}
	}
	if m.Kind != "" {
		m.KindPolicy = a.opts.KindPolicy(m.Kind)
	}
	return m, f.check()
}

// named reads an optional text that is neither empty nor too long.
func (f *form) named(field string, longest int) string {
	var s string
	if !f.into(field, &s, "a string") {
		return ""
	}
	if s == "" || len(s) > longest {
		f.wrong(field, "must have between 1 and "+strconv.Itoa(longest)+" bytes")
	}
	return s
}

// threadID reads an optional thread id.
func (f *form) threadID(field string) string {
	var s string
	if !f.into(field, &s, "a string") {
		return ""
	}
	if _, err := eventlog.EncodeID(s); err != nil {
		f.wrong(field, "must be the id of a thread")
	}
	return s
}

// deleteThread removes a thread with everything it holds and ends its turn.
func (a *API) deleteThread(w http.ResponseWriter, r *http.Request, who identity.Identity) error {
	was, err := a.logs.Delete(r.Context(), who.Thread(r.PathValue("id")))
	if err != nil {
		return err
	}
	if !was {
		return problem.NotFound()
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}

// cmpError is the first of two errors.
func cmpError(err, otherwise error) error {
	if err != nil {
		return err
	}
	return otherwise
}
