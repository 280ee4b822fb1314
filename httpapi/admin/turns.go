package admin

import (
	"cmp"
	"errors"
	"maps"
	"net/http"
	"slices"
	"time"

	"turnlog/eventlog"
	"turnlog/httpapi/internal/call"
	"turnlog/httpapi/problem"
)

type runningTurn struct {
	User          string          `json:"user"`
	ThreadID      string          `json:"thread_id"`
	TurnID        string          `json:"turn_id"`
	Owner         string          `json:"owner"`
	Attempt       int             `json:"attempt"`
	State         string          `json:"state"`
	Kind          string          `json:"kind,omitempty"`
	OnDisconnect  eventlog.Policy `json:"on_disconnect"`
	StartedAt     time.Time       `json:"started_at"`
	Epoch         string          `json:"epoch"`
	LastSeq       int64           `json:"last_seq"`
	LastFrameAt   time.Time       `json:"last_frame_at"`
	ViewingNodes  int             `json:"viewing_nodes"`
	DetachedAt    *time.Time      `json:"detached_at,omitempty"`
	GraceDeadline *time.Time      `json:"grace_deadline,omitempty"`
	GraceLeft     *int64          `json:"grace_left_ms,omitempty"`
}

func newRunningTurn(t eventlog.ListedTurn, now time.Time) runningTurn {
	return runningTurn{
		User: t.Thread.User, ThreadID: t.Thread.ID, TurnID: t.TurnID, Owner: t.Owner, Attempt: t.Attempt, State: t.State(), Kind: t.Kind,
		OnDisconnect: t.Policy, StartedAt: t.Started.UTC(), Epoch: t.Epoch, LastSeq: t.LastSeq, LastFrameAt: time.UnixMilli(t.LastFrame).UTC(),
		ViewingNodes: t.ViewingNodes, DetachedAt: call.Moment(t.DetachedAt), GraceDeadline: call.Moment(t.GraceDeadline),
		GraceLeft: left(t.GraceDeadline, now),
	}
}

// longestSearch bounds q, in bytes.
const longestSearch = 256

// filter reads which turns are asked for.
func filter(r *http.Request) (eventlog.TurnFilter, error) {
	query := r.URL.Query()
	f := eventlog.TurnFilter{
		User: query.Get("user"), Node: query.Get("node"), State: query.Get("state"), Kind: query.Get("kind"),
		Policy: eventlog.Policy(query.Get("on_disconnect")), Search: query.Get("q"),
	}
	if f.User != "" {
		if _, err := eventlog.EncodeID(f.User); err != nil {
			return f, problem.Invalid("user", "must be the name of a user")
		}
	}
	switch f.State {
	case "", eventlog.TurnWatched, eventlog.TurnDetached:
	default:
		return f, problem.Invalid("state", "must be one of running, detached")
	}
	switch f.Policy {
	case "", eventlog.PolicyCancel, eventlog.PolicyGrace, eventlog.PolicyPreserve:
	default:
		return f, problem.Invalid("on_disconnect", "must be one of cancel, grace, preserve")
	}
	if len(f.Search) > longestSearch {
		return f, problem.Invalid("q", "must have at most 256 bytes")
	}
	return f, nil
}

// listTurns lists running turns of all users, those that run longest first.
func (a *API) listTurns(w http.ResponseWriter, r *http.Request) error {
	limit, err := call.Query(r, "limit", 1, mostRows, someRows)
	if err != nil {
		return err
	}
	at, name, err := readCursor(r)
	if err != nil {
		return err
	}
	f, err := filter(r)
	if err != nil {
		return err
	}
	page, err := a.log.ListTurns(r.Context(), f, eventlog.TurnPosition{Started: at, Name: name}, int(limit))
	if errors.Is(err, eventlog.ErrBadID) {
		return errCursor
	}
	if err != nil {
		return err
	}
	now, err := a.log.Now(r.Context())
	if err != nil {
		return err
	}
	out := struct {
		Now     time.Time     `json:"now"`
		Turns   []runningTurn `json:"turns"`
		Next    *string       `json:"next"`
		Scanned int           `json:"scanned"`
	}{now.UTC(), make([]runningTurn, len(page.Turns)), cursor(page.Next.Started, page.Next.Name), page.Scanned}
	for i, t := range page.Turns {
		out.Turns[i] = newRunningTurn(t, now)
	}
	return call.Reply(w, http.StatusOK, out)
}

type counts struct {
	Turns    int `json:"turns"`
	Detached int `json:"detached"`
}

func newCounts(t eventlog.Tally) counts { return counts{t.Running, t.Detached} }

type nodeCounts struct {
	Node string `json:"node"`
	counts
}

type policyCounts struct {
	OnDisconnect eventlog.Policy `json:"on_disconnect"`
	counts
}

// countTurns counts running turns by node and policy.
func (a *API) countTurns(w http.ResponseWriter, r *http.Request) error {
	counted, err := a.log.CountTurns(r.Context())
	if err != nil {
		return err
	}
	now, err := a.log.Now(r.Context())
	if err != nil {
		return err
	}
	out := struct {
		Now time.Time `json:"now"`
		counts
		Nodes    []nodeCounts   `json:"nodes"`
		Policies []policyCounts `json:"policies"`
	}{now.UTC(), newCounts(counted.Tally), []nodeCounts{}, []policyCounts{}}
	for _, id := range slices.Sorted(maps.Keys(counted.Nodes)) {
		out.Nodes = append(out.Nodes, nodeCounts{id, newCounts(counted.Nodes[id])})
	}
	for policy, t := range counted.Policies {
		out.Policies = append(out.Policies, policyCounts{policy, newCounts(t)})
	}
	slices.SortFunc(out.Policies, func(a, b policyCounts) int { return cmp.Compare(a.OnDisconnect, b.OnDisconnect) })
	return call.Reply(w, http.StatusOK, out)
}
