package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/spf13/cobra"

	"turnlog/cmd/turnlog/term"
	"turnlog/eventlog"
	"turnlog/httpapi/admin"
)

// source is where threads, inspect and tail look: Redis itself, or a node's API for
// operators. Both read only, and neither counts as a viewer: looking at a turn that
// nobody watches does not keep it alive. All calls are bounded in time.
type source interface {
	// Threads returns a user's threads, newest activity first, at most so many (0: all),
	// and whether there are more.
	Threads(ctx context.Context, user string, most int) (listing threadListing, err error)
	// Thread returns what is known of a thread, or errNoThread.
	Thread(ctx context.Context, t eventlog.Thread) (admin.Thread, error)
	// Frames returns what is held behind a number, oldest first, in bites. State and frames
	// are read one after the other: there may be newer frames than LastSeq tells, and frames
	// up to LastSeq that did not come yet. errNoThread: nothing is held of the thread any more.
	Frames(ctx context.Context, t eventlog.Thread, after int64) (framePage, error)
}

// errNoThread: nothing is known of a thread.
var errNoThread = errors.New("no such thread")

// errAway: the source did not answer; the same call may succeed later.
var errAway = errors.New("no answer")

// threadListing is a user's threads as they were at a moment.
type threadListing struct {
	Now     time.Time            `json:"now"`
	User    string               `json:"user"`
	Threads []admin.ListedThread `json:"threads"`
	More    bool                 `json:"more"`
}

// framePage is some frames of a log, and what it was like behind them.
type framePage struct {
	Epoch   string          `json:"epoch"`
	Status  eventlog.Status `json:"status"`
	LastSeq int64           `json:"last_seq"`
	Frames  []admin.Frame   `json:"frames"`
}

// sourceFlags say whose thread it is and where to look.
type sourceFlags struct {
	user, url, token, tokenFile string
	asJSON                      bool
	colour                      term.When
}

// add registers the flags, and those that reach Redis.
func (f *sourceFlags) add(cmd *cobra.Command) {
	flags := cmd.Flags()
	addRedisFlags(flags)
	flags.StringVar(&f.user, "user", "1", "whose thread; without authentication it is 1 unless the client said otherwise")
	flags.StringVar(&f.url, "url", "", "ask this node instead of Redis, like http://127.0.0.1:8080")
	flags.StringVar(&f.token, "token", "", "bearer token with the admin scope, for --url (default: environment TURNLOG_TOKEN)")
	flags.StringVar(&f.tokenFile, "token-file", "", "file that holds the bearer token; read again for every call")
	flags.BoolVar(&f.asJSON, "json", false, "print JSON")
	addColourFlag(cmd, &f.colour)
}

// addColourFlag registers --color.
func addColourFlag(cmd *cobra.Command, when *term.When) {
	*when = term.Auto
	cmd.Flags().Var(when, "color", "colour: auto, always or never (auto: on a terminal, unless NO_COLOR is set)")
	_ = cmd.RegisterFlagCompletionFunc("color", cobra.FixedCompletions(term.Choices, cobra.ShellCompDirectiveNoFileComp))
}

// screen is where the command writes for people.
func screen(cmd *cobra.Command, when term.When) *term.Screen {
	return term.New(cmd.OutOrStdout(), when, os.Getenv)
}

// open hands the source that the flags name to use.
func (f *sourceFlags) open(cmd *cobra.Command, use func(context.Context, source) error) error {
	if f.url != "" {
		if cmd.Flags().Changed("redis") || cmd.Flags().Changed("redis.url") {
			return errors.New("--url and --redis: give one of them")
		}
		node, err := newNodeSource(f)
		if err != nil {
			return err
		}
		defer node.close()
		return use(cmd.Context(), node)
	}
	err := look(cmd, func(ctx context.Context, log *eventlog.Log) error {
		return use(ctx, &redisSource{log: log})
	})
	if errors.Is(err, errNoRedis) {
		return fmt.Errorf("%w; or name a node: --url http://127.0.0.1:8080", err)
	}
	return err
}

// thread is the thread that the command line names.
func (f *sourceFlags) thread(args []string) eventlog.Thread {
	return eventlog.Thread{User: f.user, ID: args[0]}
}

// explain makes a sentence of errNoThread.
func explain(err error, t eventlog.Thread) error {
	if errors.Is(err, errNoThread) {
		return fmt.Errorf("user %s has no thread %s; turnlog threads lists those there are, --user NAME names another user", term.Word(t.User), term.Word(t.ID))
	}
	return err
}

// oneThread wants exactly one word.
func oneThread(cmd *cobra.Command, args []string) error {
	if len(args) != 1 {
		return fmt.Errorf("%s wants one thread, not %d words; like: turnlog %s thread-42", cmd.Name(), len(args), cmd.Name())
	}
	return nil
}
