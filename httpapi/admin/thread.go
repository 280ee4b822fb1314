package admin

import (
	"net/http"
	"time"

	"turnlog/eventlog"
	"turnlog/httpapi/internal/call"
	"turnlog/httpapi/problem"
)

type threadFacts struct {
	Now              time.Time        `json:"now"`
	User             string           `json:"user"`
	ThreadID         string           `json:"thread_id"`
	Status           eventlog.Status  `json:"status"`
	Outcome          eventlog.Outcome `json:"outcome,omitempty"`
	CreatedAt        *time.Time       `json:"created_at,omitempty"`
	DeletedAt        *time.Time       `json:"deleted_at,omitempty"`
	Title            string           `json:"title,omitempty"`
	Kind             string           `json:"kind,omitempty"`
	KindOnDisconnect eventlog.Policy  `json:"kind_on_disconnect,omitempty"`
	OnDisconnect     eventlog.Policy  `json:"on_disconnect,omitempty"`
	Continues        string           `json:"continues,omitempty"`
	BranchOf         string           `json:"branch_of,omitempty"`
	BranchSeq        int64            `json:"branch_seq,omitempty"`
	Turn             *newestTurn      `json:"turn"`
	Log              heldLog          `json:"log"`
	Requests         []request        `json:"requests"`
	Viewers          []viewer         `json:"viewers"`
	Keys             []key            `json:"keys"`
}

type newestTurn struct {
	TurnID        string           `json:"turn_id"`
	Ordinal       int64            `json:"ordinal"`
	Attempt       int              `json:"attempt"`
	Owner         string           `json:"owner"`
	Agent         string           `json:"agent,omitempty"`
	OnDisconnect  eventlog.Policy  `json:"on_disconnect"`
	FirstSeq      int64            `json:"first_seq"`
	LastFrameAt   time.Time        `json:"last_frame_at"`
	Ending        eventlog.Outcome `json:"ending,omitempty"`
	DetachedAt    *time.Time       `json:"detached_at,omitempty"`
	GraceDeadline *time.Time       `json:"grace_deadline,omitempty"`
	GraceLeft     *int64           `json:"grace_left_ms,omitempty"`
	StopDeadline  *time.Time       `json:"stop_deadline,omitempty"`
	MaxDeadline   *time.Time       `json:"max_deadline,omitempty"`
	StallAfter    int64            `json:"stall_after_ms,omitempty"`
}

type heldLog struct {
	Epoch    string `json:"epoch"`
	FirstSeq int64  `json:"first_seq"`
	LastSeq  int64  `json:"last_seq"`
	Frames   int64  `json:"frames"`
	Bytes    int64  `json:"bytes"`
	LastType string `json:"last_type,omitempty"`
	Messages int64  `json:"messages"`
	Queued   int64  `json:"queued"`
	Inputs   int64  `json:"inputs"`
}

type request struct {
	RequestID string     `json:"request_id"`
	Kind      string     `json:"kind"`
	Name      string     `json:"name,omitempty"`
	ChatSeq   int64      `json:"chat_seq"`
	State     string     `json:"state"`
	Deadline  *time.Time `json:"deadline,omitempty"`
	Left      int64      `json:"left_ms,omitempty"`
	Target    string     `json:"target,omitempty"`
}

type viewer struct {
	Node       string `json:"node"`
	Generation int64  `json:"generation"`
}

type key struct {
	Key     string `json:"key"`
	Name    string `json:"name"`
	Type    string `json:"type"`
	Shows   string `json:"shows"`
	Exists  bool   `json:"exists"`
	TTL     *int64 `json:"ttl_ms"`
	Bytes   int64  `json:"bytes"`
	Entries int64  `json:"entries"`
	Command string `json:"command"`
}

// existing inspects a thread; one that never was is not found, one that was deleted is, for a day.
func (a *API) existing(r *http.Request, t eventlog.Thread) (eventlog.Inspection, error) {
	in, err := a.log.Inspect(r.Context(), t)
	if err == nil && !in.Exists && in.Deleted.IsZero() {
		err = problem.NotFound()
	}
	return in, err
}

// getThread returns everything about a thread but what was said.
func (a *API) getThread(w http.ResponseWriter, r *http.Request) error {
	in, err := a.existing(r, thread(r))
	if err != nil {
		return err
	}
	return call.Reply(w, http.StatusOK, newThreadFacts(in))
}

func newThreadFacts(in eventlog.Inspection) threadFacts {
	m, held := in.Meta, in.Log
	out := threadFacts{
		Now: in.Now.UTC(), User: in.Thread.User, ThreadID: in.Thread.ID, Status: in.Status, Outcome: in.Outcome,
		CreatedAt: call.Moment(in.Created), DeletedAt: call.Moment(in.Deleted),
		Title: m.Title, Kind: m.Kind, KindOnDisconnect: m.KindPolicy, OnDisconnect: m.Policy, Continues: m.Continues, BranchOf: m.BranchOf, BranchSeq: m.BranchSeq,
		Log:      heldLog{held.Epoch, held.FirstSeq, held.LastSeq, held.Frames, held.Bytes, held.LastType, held.Messages, held.Queued, held.Inputs},
		Requests: make([]request, len(in.Requests)), Viewers: make([]viewer, len(in.Viewers)), Keys: make([]key, len(in.Keys)),
	}
	if t := in.Turn; t.TurnID != "" {
		out.Turn = &newestTurn{
			TurnID: t.TurnID, Ordinal: t.Ordinal, Attempt: t.Attempt, Owner: t.Owner, Agent: t.Agent, OnDisconnect: t.Policy, FirstSeq: t.FirstSeq,
			LastFrameAt: t.LastFrame.UTC(), Ending: t.Ending, DetachedAt: call.Moment(t.Detached), GraceDeadline: call.Moment(t.GraceDeadline),
			GraceLeft: left(t.GraceDeadline, in.Now), StopDeadline: call.Moment(t.StopDeadline), MaxDeadline: call.Moment(t.MaxDeadline),
			StallAfter: t.StallAfter.Milliseconds(),
		}
	}
	for i, q := range in.Requests {
		state := "open"
		if q.Answered {
			state = "answered"
		}
		out.Requests[i] = request{q.ID, q.Kind, q.Name, q.Seq, state, call.Moment(q.Deadline), q.Left.Milliseconds(), q.Target}
	}
	for i, v := range in.Viewers {
		out.Viewers[i] = viewer(v)
	}
	for i, k := range in.Keys {
		out.Keys[i] = key{k.Name, k.Key, k.Type, k.Shows(), k.Exists, nil, k.Bytes, k.Entries, k.Command()}
		if k.TTL > 0 {
			ms := k.TTL.Milliseconds()
			out.Keys[i].TTL = &ms
		}
	}
	return out
}
