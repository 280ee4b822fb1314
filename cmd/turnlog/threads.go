package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"turnlog/cmd/turnlog/term"
	"turnlog/eventlog"
)

const threadsHelp = `Lists a user's threads, the most lately active first: a turn began or ended, or the
title or policy was changed.

STATUS is running, or how the newest turn ended; "-" when its log has run out or none
ever began (the messages are then still held). FRAME is the newest frame's number.

It reads Redis, or with --url asks a node.

  turnlog threads                              the newest 20 of user 1 (no authentication)
  turnlog threads --user ann --all             all of ann's
  turnlog threads --user ann --json | jq -r '.threads[] | select(.status == "running").thread_id'
  turnlog threads --url http://127.0.0.1:8080`

// newestThreads is how many threads are listed without --all.
const newestThreads = 20

// newThreadsCommand lists a user's threads.
func newThreadsCommand() *cobra.Command {
	var flags sourceFlags
	var all bool
	var limit int
	cmd := &cobra.Command{
		Use:   "threads",
		Short: "List a user's threads by last activity",
		Long:  threadsHelp,
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if limit < 1 {
				return errors.New("--limit wants a number of at least 1")
			}
			if all {
				limit = 0
			}
			return flags.open(cmd, func(ctx context.Context, from source) error {
				listing, err := from.Threads(ctx, flags.user, limit)
				if err != nil {
					return err
				}
				if flags.asJSON {
					return writeJSON(cmd.OutOrStdout(), listing)
				}
				return listing.write(screen(cmd, flags.colour))
			})
		},
	}
	cmd.Flags().BoolVar(&all, "all", false, "all threads, not only the newest")
	cmd.Flags().IntVar(&limit, "limit", newestThreads, "at most so many threads")
	cmd.MarkFlagsMutuallyExclusive("all", "limit")
	flags.add(cmd)
	return cmd
}

// threadStatus is one word for a thread: running, how its turn ended, or "-".
func threadStatus(status eventlog.Status, outcome eventlog.Outcome) string {
	switch {
	case status == eventlog.StatusRunning:
		return "running"
	case outcome != "":
		return string(outcome)
	}
	return "-"
}

// statusCell is threadStatus with its colour.
func statusCell(status eventlog.Status, outcome eventlog.Outcome) term.Cell {
	word := threadStatus(status, outcome)
	switch word {
	case "running":
		return term.Cell{Text: word, Style: term.Mark}
	case "-":
		return term.Cell{Text: word, Style: term.Dim}
	}
	return term.Cell{Text: word, Style: outcomeStyle(word)}
}

// write shows the threads as a table.
func (l threadListing) write(s *term.Screen) error {
	if len(l.Threads) == 0 {
		_, err := fmt.Fprintf(s, "user %s has no threads; --user NAME names another user\n", term.Word(l.User))
		return err
	}
	table := term.NewTable(term.Column{Title: "THREAD", Min: 16}, term.Column{Title: "STATUS"}, term.Column{Title: "ACTIVE", Right: true},
		term.Column{Title: "FRAME", Right: true}, term.Column{Title: "TURN", Min: 12, Rank: 2}, term.Column{Title: "KIND", Min: 6, Rank: 1}, term.Column{Title: "TITLE", Min: 12, Rank: 3})
	for _, t := range l.Threads {
		table.Row(term.Word(t.ThreadID), statusCell(t.Status, t.Outcome), age(l.Now.Sub(t.LastActivity)), t.LastSeq,
			t.TurnID, t.Kind, t.Title)
	}
	if err := table.Write(s); err != nil {
		return err
	}
	if !l.More {
		return nil
	}
	_, err := fmt.Fprintln(s, s.Paint(term.Dim, "there are more; --all lists them"))
	return err
}
