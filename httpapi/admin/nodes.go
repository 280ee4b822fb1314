package admin

import (
	"net/http"
	"time"

	"turnlog/eventlog"
	"turnlog/httpapi/internal/call"
)

type node struct {
	Node         string     `json:"node"`
	State        string     `json:"state"`
	Address      string     `json:"address,omitempty"`
	Version      string     `json:"version,omitempty"`
	StartedAt    *time.Time `json:"started_at,omitempty"`
	LeaseUntil   *time.Time `json:"lease_until,omitempty"`
	LeaseLeft    *int64     `json:"lease_left_ms,omitempty"`
	HeartbeatAge *int64     `json:"heartbeat_age_ms,omitempty"`
	DeadSince    *time.Time `json:"dead_since,omitempty"`
	Draining     *bool      `json:"draining,omitempty"`
	Connections  *int       `json:"connections,omitempty"`
	Turns        int        `json:"turns"`
	Viewing      int        `json:"viewing_threads"`
}

func (a *API) node(r eventlog.NodeReport) node {
	n := node{
		Node: r.ID, State: r.State(), Address: r.Info.Address, Version: r.Info.Version, StartedAt: call.Moment(r.Info.Started),
		Turns: r.Turns, Viewing: r.Viewing,
	}
	if r.Dead {
		n.DeadSince = call.Moment(r.Until)
		return n
	}
	ms := r.Left.Milliseconds()
	n.LeaseUntil, n.LeaseLeft = call.Moment(r.Until), &ms
	if a.opts.NodeLease > 0 {
		age := max(a.opts.NodeLease-r.Left, 0).Milliseconds()
		n.HeartbeatAge = &age
	}
	if load := r.Info.Load; load != nil {
		n.Draining, n.Connections = &load.Draining, &load.Connections
	}
	return n
}

type lease struct {
	Node  string     `json:"node"`
	Term  int64      `json:"term"`
	Since *time.Time `json:"since,omitempty"`
	Until time.Time  `json:"lease_until"`
	Left  int64      `json:"lease_left_ms"`
}

// lead is who leads the reaper, nil when nobody does.
func lead(s eventlog.ReaperState, now time.Time) *lease {
	if s.Node == "" {
		return nil
	}
	return &lease{Node: s.Node, Term: s.Term, Since: call.Moment(s.Since), Until: now.Add(s.Left), Left: s.Left.Milliseconds()}
}

// listNodes lists the nodes with a lease and the dead of the last day.
func (a *API) listNodes(w http.ResponseWriter, r *http.Request) error {
	reports, err := a.log.NodeReports(r.Context())
	if err != nil {
		return err
	}
	leader, err := a.log.Reaper(r.Context())
	if err != nil {
		return err
	}
	now, err := a.log.Now(r.Context())
	if err != nil {
		return err
	}
	out := struct {
		Now    time.Time `json:"now"`
		Nodes  []node    `json:"nodes"`
		Reaper *lease    `json:"reaper"`
	}{Now: now.UTC(), Nodes: make([]node, len(reports)), Reaper: lead(leader, now.UTC())}
	for i, report := range reports {
		out.Nodes[i] = a.node(report)
	}
	return call.Reply(w, http.StatusOK, out)
}
