package main

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"turnlog/cmd/turnlog/term"
	"turnlog/eventlog"
)

const nodesHelp = `Lists the nodes with a lease and the dead of the last 24 hours, and says which
node's reaper leads.

  alive   its lease runs; LEASE is what is left of it
  late    its lease is past; the reaper is about to declare it dead
  dead    declared dead; its turns and viewers are being dealt with
  buried  nothing of it is left; LEASE is how long ago it died

TURNS are running turns that a node owns, VIEWING the threads that its viewers
follow.

  turnlog nodes --redis redis://10.0.0.9`

// newNodesCommand lists nodes.
func newNodesCommand() *cobra.Command {
	var asJSON bool
	var colour term.When
	cmd := &cobra.Command{
		Use:   "nodes",
		Short: "List nodes: address, lease, turns, viewers, and who leads the reaper",
		Long:  nodesHelp,
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return look(cmd, func(ctx context.Context, log *eventlog.Log) error {
				report, err := listNodes(ctx, log)
				if err != nil {
					return err
				}
				if asJSON {
					return writeJSON(cmd.OutOrStdout(), report)
				}
				return report.table(screen(cmd, colour))
			})
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	addRedisFlags(cmd.Flags())
	addColourFlag(cmd, &colour)
	return cmd
}

// nodesReport is what turnlog nodes prints. Times are by the Redis clock.
type nodesReport struct {
	Now    time.Time     `json:"now"`
	Nodes  []listedNode  `json:"nodes"`
	Reaper *listedReaper `json:"reaper"` // null = nobody leads at this moment
}

type listedNode struct {
	Node       string     `json:"node"`
	State      string     `json:"state"` // alive, late, dead or buried
	Address    string     `json:"address,omitempty"`
	Version    string     `json:"version,omitempty"`
	StartedAt  *time.Time `json:"started_at,omitempty"`
	LeaseUntil *time.Time `json:"lease_until,omitempty"` // of nodes that are not dead
	DeadSince  *time.Time `json:"dead_since,omitempty"`
	Turns      int        `json:"turns"`
	Viewing    int        `json:"viewing_threads"`
}

type listedReaper struct {
	Node       string    `json:"node"`
	Term       int64     `json:"term"`
	LeaseUntil time.Time `json:"lease_until"`
}

func listNodes(ctx context.Context, log *eventlog.Log) (nodesReport, error) {
	report := nodesReport{Nodes: []listedNode{}}
	nodes, err := log.NodeReports(ctx)
	if err != nil {
		return report, err
	}
	reaper, err := log.Reaper(ctx)
	if err != nil {
		return report, err
	}
	now, err := log.Now(ctx)
	if err != nil {
		return report, err
	}
	report.Now = now.UTC()
	for _, n := range nodes {
		listed := listedNode{
			Node: n.ID, State: n.State(), Address: n.Info.Address, Version: n.Info.Version, StartedAt: stamp(n.Info.Started),
			Turns: n.Turns, Viewing: n.Viewing,
		}
		if n.Dead {
			listed.DeadSince = stamp(n.Until)
		} else {
			listed.LeaseUntil = stamp(n.Until)
		}
		report.Nodes = append(report.Nodes, listed)
	}
	if reaper.Node != "" {
		report.Reaper = &listedReaper{Node: reaper.Node, Term: reaper.Term, LeaseUntil: report.Now.Add(reaper.Left)}
	}
	return report, nil
}

func (r nodesReport) table(s *term.Screen) error {
	table := term.NewTable(term.Column{Title: "NODE", Min: 12}, term.Column{Title: "ADDRESS", Min: 12}, term.Column{Title: "STATE"},
		term.Column{Title: "LEASE", Right: true}, term.Column{Title: "UP", Right: true, Rank: 1}, term.Column{Title: "TURNS", Right: true},
		term.Column{Title: "VIEWING", Right: true, Rank: 2}, term.Column{Title: "VERSION", Min: 8, Rank: 3})
	for _, n := range r.Nodes {
		up := "-"
		if n.StartedAt != nil && n.DeadSince == nil {
			up = span(r.Now.Sub(*n.StartedAt))
		}
		table.Row(n.Node, dash(n.Address), stateCell(n.State), r.lease(n), up, n.Turns, n.Viewing, dash(n.Version))
	}
	if err := table.Write(s); err != nil {
		return err
	}
	line := s.Paint(term.Warn, "reaper: nobody leads")
	if r.Reaper != nil {
		line = fmt.Sprintf("reaper: %s leads, term %d, lease %s left", r.Reaper.Node, r.Reaper.Term, span(r.Reaper.LeaseUntil.Sub(r.Now)))
	}
	_, err := fmt.Fprintln(s, line)
	return err
}

// lease is what there is to say of a node's lease.
func (r nodesReport) lease(n listedNode) string {
	switch {
	case n.DeadSince != nil:
		return age(r.Now.Sub(*n.DeadSince))
	case n.State == "late":
		return span(r.Now.Sub(*n.LeaseUntil)) + " past"
	}
	return span(n.LeaseUntil.Sub(r.Now)) + " left"
}

func stateCell(state string) term.Cell {
	style := map[string]term.Style{"alive": term.Good, "late": term.Warn, "dead": term.Bad, "buried": term.Dim}[state]
	return term.Cell{Text: state, Style: style}
}
