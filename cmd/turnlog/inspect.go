package main

import (
	"context"

	"github.com/spf13/cobra"
)

const inspectHelp = `Shows what is known of one thread, without what was said in it: what its newest turn
does and who runs it, deadlines, who watches, requests that wait for an answer, how
much is held and for how long, and the Redis keys with the redis-cli commands that
read them.

It reads Redis, or with --url asks a node. It is no viewer and changes nothing.

  turnlog inspect thread-42
  turnlog inspect --user ann work --json | jq '.turn.grace_left_ms'
  turnlog inspect --url http://127.0.0.1:8080 terminal

TTL is how long a key stays; "-" means that it stays until its turn has ended. BYTES is
the memory that Redis estimates it to take, ENTRIES what it holds: frames, messages,
submissions, fields. turnlog keys prints commands for keys that are not there, too.

The exit code is 1 when there is no such thread. A deleted one is shown for a day.`

// newInspectCommand shows one thread.
func newInspectCommand() *cobra.Command {
	var flags sourceFlags
	cmd := &cobra.Command{
		Use:               "inspect THREAD",
		Short:             "Show one thread: turn, viewers, requests, bytes, lifetimes, keys",
		Long:              inspectHelp,
		Args:              oneThread,
		ValidArgsFunction: completeThreads(&flags),
		RunE: func(cmd *cobra.Command, args []string) error {
			return flags.open(cmd, func(ctx context.Context, from source) error {
				facts, err := from.Thread(ctx, flags.thread(args))
				if err != nil {
					return explain(err, flags.thread(args))
				}
				if flags.asJSON {
					return writeJSON(cmd.OutOrStdout(), facts)
				}
				cli, secret, err := flags.redisCLI(cmd)
				if err != nil {
					return err
				}
				return inspection{facts, cli, secret}.write(screen(cmd, flags.colour))
			})
		},
	}
	flags.add(cmd)
	return cmd
}

// redisCLI is how redis-cli is called for the Redis that the flags name, and whether it
// needs a password; a Redis that only a node knows is left to the reader.
func (f *sourceFlags) redisCLI(cmd *cobra.Command) (cli string, secret bool, err error) {
	if f.url != "" {
		return "redis-cli", false, nil
	}
	config, err := loadCommand(cmd.Flags())
	if err != nil {
		return "", false, err
	}
	cli, secret = redisCLI(config.Redis.URL)
	return cli, secret, nil
}
