package main

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"turnlog/cmd/turnlog/term"
	"turnlog/eventlog"
)

const turnsHelp = `Lists the running turns of all nodes, longest without a frame first.

DETACHED is since when nobody watches a turn, LEFT the time until that ends it
("-": nothing does), FRAME the age of its last frame: a turn that hangs stands
out here. An owner of "-" means that the node was lost and another one is about
to go on.

  turnlog turns --redis redis://10.0.0.9
  turnlog turns --redis redis://10.0.0.9 --detached --json`

// newTurnsCommand lists running turns.
func newTurnsCommand() *cobra.Command {
	var filter eventlog.TurnFilter
	var detached, asJSON bool
	var colour term.When
	cmd := &cobra.Command{
		Use:   "turns",
		Short: "List running turns: policy, owner, detached since, age of the last frame",
		Long:  turnsHelp,
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if detached {
				filter.State = eventlog.TurnDetached
			}
			return look(cmd, func(ctx context.Context, log *eventlog.Log) error {
				report, err := listTurns(ctx, log, filter)
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
	cmd.Flags().StringVar(&filter.User, "user", "", "only the turns of this user")
	cmd.Flags().StringVar(&filter.Node, "node", "", "only the turns of this node; - for those whose node was lost")
	cmd.Flags().StringVar(&filter.Search, "search", "", "only turns with this in their user, thread or turn id")
	cmd.Flags().BoolVar(&detached, "detached", false, "only turns that nobody watches")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	addRedisFlags(cmd.Flags())
	addColourFlag(cmd, &colour)
	_ = cmd.RegisterFlagCompletionFunc("node", completeNodes)
	return cmd
}

// turnsReport is what turnlog turns prints. Times are by the Redis clock.
type turnsReport struct {
	Now   time.Time    `json:"now"`
	Turns []listedTurn `json:"turns"`
}

type listedTurn struct {
	User          string          `json:"user"`
	ThreadID      string          `json:"thread_id"`
	TurnID        string          `json:"turn_id"`
	Owner         string          `json:"owner"` // "" = lost, about to be restarted
	Attempt       int             `json:"attempt"`
	Policy        eventlog.Policy `json:"on_disconnect"`
	LastSeq       int64           `json:"last_seq"`
	LastFrameAt   time.Time       `json:"last_frame_at"`
	DetachedAt    *time.Time      `json:"detached_at,omitempty"`
	GraceDeadline *time.Time      `json:"grace_deadline,omitempty"`
}

// listTurns collects the turns page by page; a row is a few hundred bytes.
func listTurns(ctx context.Context, log *eventlog.Log, filter eventlog.TurnFilter) (turnsReport, error) {
	report := turnsReport{Turns: []listedTurn{}}
	err := log.EachTurn(ctx, filter, func(page []eventlog.ListedTurn) error {
		for _, t := range page {
			report.Turns = append(report.Turns, listedTurn{
				User: t.Thread.User, ThreadID: t.Thread.ID, TurnID: t.TurnID, Owner: t.Owner, Attempt: t.Attempt, Policy: t.Policy, LastSeq: t.LastSeq,
				LastFrameAt: time.UnixMilli(t.LastFrame).UTC(), DetachedAt: stamp(t.DetachedAt), GraceDeadline: stamp(t.GraceDeadline),
			})
		}
		return nil
	})
	if err != nil {
		return turnsReport{}, err
	}
	slices.SortFunc(report.Turns, func(a, b listedTurn) int {
		return cmp.Or(a.LastFrameAt.Compare(b.LastFrameAt), cmp.Compare(a.User, b.User), cmp.Compare(a.ThreadID, b.ThreadID))
	})
	report.Now, err = log.Now(ctx)
	report.Now = report.Now.UTC()
	return report, err
}

func (r turnsReport) table(s *term.Screen) error {
	if len(r.Turns) == 0 {
		_, err := fmt.Fprintln(s, "no turn is running")
		return err
	}
	table := term.NewTable(term.Column{Title: "USER", Min: 8}, term.Column{Title: "THREAD", Min: 12}, term.Column{Title: "TURN", Min: 10, Rank: 1},
		term.Column{Title: "OWNER", Min: 10, Rank: 2}, term.Column{Title: "ATTEMPT", Right: true, Rank: 4}, term.Column{Title: "POLICY", Rank: 3},
		term.Column{Title: "DETACHED", Right: true}, term.Column{Title: "LEFT", Right: true}, term.Column{Title: "FRAME", Right: true})
	for _, t := range r.Turns {
		detached, left := "-", term.Cell{Text: "-"}
		if t.DetachedAt != nil {
			detached = span(r.Now.Sub(*t.DetachedAt))
		}
		if t.GraceDeadline != nil {
			left = term.Cell{Text: span(t.GraceDeadline.Sub(r.Now)), Style: term.Warn}
		}
		owner := term.Cell{Text: t.Owner}
		if t.Owner == "" {
			owner = term.Cell{Text: "-", Style: term.Bad}
		}
		table.Row(term.Word(t.User), term.Word(t.ThreadID), term.Word(t.TurnID), owner, t.Attempt, string(t.Policy), detached, left, span(r.Now.Sub(t.LastFrameAt)))
	}
	return table.Write(s)
}
