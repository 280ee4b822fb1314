package main

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"turnlog/cmd/turnlog/term"
	"turnlog/eventlog"
)

const completionHelp = `Prints a script that teaches your shell turnlog's commands, flags and values. It also
completes the names of threads (tail, inspect), nodes and users, by asking Redis (or the
node of --url) for the newest ones, for at most a second.

  bash  source <(turnlog completion bash)            # in ~/.bashrc; needs bash-completion
  zsh   source <(turnlog completion zsh)             # in ~/.zshrc, behind compinit
  fish  turnlog completion fish > ~/.config/fish/completions/turnlog.fish

Names are found when TURNLOG_REDIS_URL is set, or --redis or --url is already typed.`

// newCompletionCommand prints shell completions.
func newCompletionCommand() *cobra.Command {
	return &cobra.Command{
		Use:                   "completion bash|zsh|fish",
		Short:                 "Print a completion script for your shell",
		Long:                  completionHelp,
		ValidArgs:             []string{"bash", "zsh", "fish"},
		Args:                  cobra.MatchAll(cobra.ExactArgs(1), cobra.OnlyValidArgs),
		DisableFlagsInUseLine: true,
		RunE: func(cmd *cobra.Command, args []string) error {
			out := cmd.OutOrStdout()
			switch args[0] {
			case "bash":
				return cmd.Root().GenBashCompletionV2(out, true)
			case "zsh":
				return cmd.Root().GenZshCompletion(out)
			case "fish":
				return cmd.Root().GenFishCompletion(out, true)
			}
			return fmt.Errorf("no completion for %s", args[0])
		},
	}
}

// Bounds of a completion: nobody waits long for a tab, or reads many answers.
const (
	completionTime = time.Second
	completionRows = 50
)

// completeThreads offers the user's newest threads. When they cannot be had it offers
// nothing, and says nothing: a shell has no place for errors.
func completeThreads(f *sourceFlags) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, _ string) (found []string, _ cobra.ShellCompDirective) {
		if len(args) > 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		defer hurry(cmd)()
		_ = f.open(cmd, func(ctx context.Context, from source) error {
			listed, err := from.Threads(ctx, f.user, completionRows)
			for _, t := range listed.Threads {
				found = append(found, cobra.CompletionWithDesc(t.ThreadID, threadStatus(t.Status, t.Outcome)+" "+term.Text(t.Title)))
			}
			return err
		})
		return found, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveKeepOrder
	}
}

// completeNodes offers the nodes that there are.
func completeNodes(cmd *cobra.Command, _ []string, _ string) (found []string, _ cobra.ShellCompDirective) {
	defer hurry(cmd)()
	_ = look(cmd, func(ctx context.Context, log *eventlog.Log) error {
		report, err := listNodes(ctx, log)
		for _, n := range report.Nodes {
			found = append(found, cobra.CompletionWithDesc(n.Node, n.State+" "+term.Text(n.Address)))
		}
		return err
	})
	return found, cobra.ShellCompDirectiveNoFileComp
}

// hurry bounds what a completion may take.
func hurry(cmd *cobra.Command) (release func()) {
	parent := cmd.Context()
	if parent == nil {
		parent = context.Background()
	}
	ctx, cancel := context.WithTimeout(parent, completionTime)
	cmd.SetContext(ctx)
	return cancel
}
