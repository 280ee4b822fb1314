package admin

import (
	"net/http"
	"time"

	"turnlog/eventlog"
	"turnlog/httpapi/internal/call"
)

type backlog struct {
	Deadlines int `json:"deadlines"`
	Overdue   int `json:"overdue"`
	Claimable int `json:"claimable"`
	Unburied  int `json:"unburied"`
}

type hereReaper struct {
	Node            string                   `json:"node"`
	Leads           bool                     `json:"leads"`
	LastPass        *time.Time               `json:"last_pass_at,omitempty"`
	NodesBuried     int                      `json:"nodes_buried"`
	TurnsEnded      map[eventlog.Outcome]int `json:"turns_ended"`
	RequestsExpired int                      `json:"requests_expired"`
	Error           string                   `json:"error,omitempty"`
}

// getReaper tells who leads the reaper, what waits for it, and how this node's fares.
func (a *API) getReaper(w http.ResponseWriter, r *http.Request) error {
	leader, err := a.log.Reaper(r.Context())
	if err != nil {
		return err
	}
	waits, err := a.log.Backlog(r.Context())
	if err != nil {
		return err
	}
	nodes, err := a.log.Nodes(r.Context())
	if err != nil {
		return err
	}
	now, err := a.log.Now(r.Context())
	if err != nil {
		return err
	}
	out := struct {
		Now     time.Time  `json:"now"`
		Leader  *lease     `json:"leader"`
		Backlog backlog    `json:"backlog"`
		Here    hereReaper `json:"here"`
	}{Now: now.UTC(), Leader: lead(leader, now.UTC()), Backlog: backlog{waits.Deadlines, waits.Overdue, waits.Claimable, 0}}
	for _, n := range nodes {
		if n.Dead && !n.Buried {
			out.Backlog.Unburied++
		}
	}
	s := a.reaper()
	out.Here = hereReaper{
		Node: a.sessions.Node(), Leads: s.Leads, LastPass: call.Moment(s.LastPass), NodesBuried: s.NodesBuried, TurnsEnded: s.TurnsEnded,
		RequestsExpired: s.RequestsExpired,
	}
	if s.Err != nil {
		out.Here.Error = s.Err.Error()
	}
	return call.Reply(w, http.StatusOK, out)
}
