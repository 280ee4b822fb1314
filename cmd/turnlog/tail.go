package main

import (
	"context"
	"errors"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"
)

const tailHelp = `Follows a thread's log: prints the newest frames, then every new one, across turns,
until Ctrl-C. Each frame once and in order, with its number (chat_seq), its type and
what it says.

It reads Redis, or with --url asks a node (the way into a node's embedded Redis). It
is no viewer: following a turn that nobody watches does not keep it alive. New frames
show within a quarter of a second. While Redis or the node is away it waits, and goes
on behind the last frame; what happens to the log is told on stderr.

  turnlog tail thread-42                         the last ten frames, then what comes
  turnlog tail thread-42 --since 0               everything that is still held, then what comes
  turnlog tail thread-42 --since 41 --no-follow  frames 42 and up, as they are now
  turnlog tail thread-42 --until-end             until no turn runs
  turnlog tail --user ann --json work | jq -r 'select(.type == "chunk").frame.content'
  turnlog tail --url http://127.0.0.1:8080 terminal

On a terminal lines are cut to its width, in a pipe they are whole. --json prints one
object per line: epoch, chat_seq, turn_id, ordinal, type, bytes and frame.

Exit codes: 0 all was said (with --until-end: and the last turn completed), 1 the
thread does not exist, was deleted, or cannot be read, 2 with --until-end: the last
turn ended any other way, 130 Ctrl-C.`

// tailFlags are the flags of turnlog tail.
type tailFlags struct {
	sourceFlags
	since    int64
	noFollow bool
	untilEnd bool
}

// newTailCommand follows a thread's log.
func newTailCommand() *cobra.Command {
	var flags tailFlags
	cmd := &cobra.Command{
		Use:               "tail THREAD",
		Short:             "Follow a thread's log: every frame, as it comes",
		Long:              tailHelp,
		Args:              oneThread,
		ValidArgsFunction: completeThreads(&flags.sourceFlags),
		RunE: func(cmd *cobra.Command, args []string) error {
			if flags.noFollow && flags.untilEnd {
				return errors.New("--no-follow and --until-end: give one of them")
			}
			if flags.since < 0 && cmd.Flags().Changed("since") {
				return errors.New("--since wants the number of a frame, 0 for everything that is held")
			}
			ctx, stop := signal.NotifyContext(cmd.Context(), os.Interrupt, syscall.SIGTERM)
			defer stop()
			cmd.SetContext(ctx)
			err := flags.open(cmd, func(ctx context.Context, from source) error {
				t := &tail{
					source: from, thread: flags.thread(args), flags: flags,
					view: tailView{out: screen(cmd, flags.colour), status: cmd.ErrOrStderr(), asJSON: flags.asJSON},
				}
				return t.run(ctx)
			})
			if ctx.Err() != nil {
				return exitError{code: exitInterrupted}
			}
			return err
		},
	}
	f := cmd.Flags()
	f.Int64Var(&flags.since, "since", -1, "begin behind the frame of this number; 0: everything that is held (default: the last ten frames)")
	f.BoolVar(&flags.noFollow, "no-follow", false, "print what is there and leave")
	f.BoolVar(&flags.untilEnd, "until-end", false, "leave when no turn runs")
	flags.add(cmd)
	return cmd
}

// exitInterrupted is what a shell makes of a program that Ctrl-C ended.
const exitInterrupted = 130
