package main

import (
	"errors"
	"fmt"
	"regexp"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// newRootCommand builds the whole command line.
func newRootCommand() *cobra.Command {
	root := &cobra.Command{
		Use:           "turnlog",
		Short:         "Chat turns that survive their connection",
		Long:          "Turnlog keeps an agent's chat turn running when its WebSocket goes away and lets\nany client, on any node, pick it up exactly where it stopped.",
		SilenceUsage:  true,
		SilenceErrors: true,
		Args:          knownCommand,
		RunE:          func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	root.SetFlagErrorFunc(explainFlag)
	for _, group := range []struct {
		title    string
		commands []*cobra.Command
	}{
		{"Run and talk", []*cobra.Command{newServeCommand(), newChatCommand(), newTokenCommand(), newConfigCommand()}},
		{"Look", []*cobra.Command{newTurnsCommand(), newNodesCommand(), newThreadsCommand(), newInspectCommand(), newTailCommand(), newKeysCommand()}},
		{"Check and measure", []*cobra.Command{newDoctorCommand(), newBenchCommand()}},
	} {
		root.AddGroup(&cobra.Group{ID: group.title, Title: group.title + ":"})
		for _, command := range group.commands {
			command.GroupID = group.title
			root.AddCommand(command)
		}
	}
	root.AddCommand(newCompletionCommand(), newVersionCommand())
	return root
}

// knownCommand refuses words that are no command, naming the nearest one.
func knownCommand(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	var known []string
	for _, command := range cmd.Commands() {
		known = append(known, command.Name())
	}
	return fmt.Errorf("unknown command %q%s (see %s --help)", args[0], suggestion(args[0], known), cmd.CommandPath())
}

// unknownFlag finds the mistyped name in pflag's error.
var unknownFlag = regexp.MustCompile(`^unknown flag: --([^\s=]+)`)

// explainFlag adds the nearest known flag to an unknown one.
func explainFlag(cmd *cobra.Command, err error) error {
	if errors.Is(err, pflag.ErrHelp) {
		return err
	}
	text := err.Error()
	if found := unknownFlag.FindStringSubmatch(text); found != nil {
		var known []string
		cmd.Flags().VisitAll(func(flag *pflag.Flag) { known = append(known, "--"+flag.Name) })
		text = "unknown flag --" + found[1] + suggestion("--"+found[1], known)
	}
	return fmt.Errorf("%s (see %s --help)", text, cmd.CommandPath())
}
