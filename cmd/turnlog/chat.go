package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"turnlog/client"
)

const chatHelp = `Talk to an agent in the terminal. The text comes on stdout, everything about the
connection on stderr. A lost connection is no concern: chat reconnects by itself and
goes on at the very frame where it stopped, on whatever node answers.

Try it, in two terminals:

  turnlog serve
  turnlog chat --data '{"demo":{"frames":100,"interval_ms":200}}' "count for me"

and type /drop 5s while it counts: the connection is cut for five seconds, the agent
goes on, and no number is missing or said twice. Ctrl-C leaves the turn running;
turnlog chat with the same --thread brings it back.

While chatting:

  any text         a message
  /drop [5s]       cut the connection (for that long), then come back
  /stop            stop the turn
  /steer TEXT      tell the running agent something
  /allow, /deny    answer the newest approval the agent waits for
  /result JSON     answer the newest tool call the agent waits for
  /policy POLICY   what happens when nobody watches: cancel, grace or preserve
  /threads         your running turns
  /quit            leave; a running turn goes on
  /help            this list

When stdin is no terminal each line is one message, sent when the turn before it is
over; chat leaves after the last one. Colour is used on terminals unless NO_COLOR is set.

Without a terminal chat gives up when the first connection cannot be made in five
tries. A wrong /command in a pipe is told and skipped, and chat exits with 1 at the end.

Exit codes: 0 the last turn completed, 1 no connection or wrong use, 2 the last turn
ended any other way.`

// chatFlags are the flags of turnlog chat.
type chatFlags struct {
	url, user, thread, token, tokenFile, agent, data, policy string
}

// newChatCommand builds "turnlog chat".
func newChatCommand() *cobra.Command {
	var flags chatFlags
	cmd := &cobra.Command{
		Use:   "chat [message...]",
		Short: "Talk to an agent in the terminal",
		Long:  chatHelp,
		Example: "  turnlog chat\n  turnlog chat --thread groceries \"what is left to buy?\"\n" +
			"  echo hello | turnlog chat --url wss://chat.example.com/ws --token \"$TOKEN\"",
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx, stop := signal.NotifyContext(cmd.Context(), os.Interrupt, syscall.SIGTERM)
			defer stop()
			return runChat(ctx, cmd, flags, args)
		},
	}
	f := cmd.Flags()
	f.StringVar(&flags.url, "url", "ws://127.0.0.1:8080/ws", "address of the server's WebSocket")
	f.StringVar(&flags.user, "user", "", "user name, for servers without authentication")
	f.StringVar(&flags.thread, "thread", "terminal", "conversation to talk in; resumed when it already runs")
	f.StringVar(&flags.token, "token", "", "bearer token (default: environment TURNLOG_TOKEN)")
	f.StringVar(&flags.tokenFile, "token-file", "", "file that holds the bearer token; read again for every connection")
	f.StringVar(&flags.agent, "agent", "", "agent to talk to (default: the server's)")
	f.StringVar(&flags.data, "data", "", "further keys for the agent, a JSON object sent with every message")
	f.StringVar(&flags.policy, "on-disconnect", "", "what happens when nobody watches: cancel, grace or preserve")
	return cmd
}

// exitError ends the program with its own exit code.
type exitError struct {
	code int
	text string
}

// Error implements error.
func (e exitError) Error() string { return e.text }

// ExitCode is the exit code main uses instead of 1.
func (e exitError) ExitCode() int { return e.code }

// chatAddress completes an address: host:port alone means ws://host:port/ws.
func chatAddress(given string) string {
	if given != "" && !strings.Contains(given, "://") {
		return "ws://" + given
	}
	return given
}

func runChat(ctx context.Context, cmd *cobra.Command, flags chatFlags, args []string) error {
	extra := map[string]any{}
	if flags.data != "" {
		if err := json.Unmarshal([]byte(flags.data), &extra); err != nil {
			return fmt.Errorf("--data wants a JSON object such as '{\"demo\":{\"frames\":50}}': %w", err)
		}
	}
	token, err := tokenSource(flags.token, flags.tokenFile, os.Getenv("TURNLOG_TOKEN"))
	if err != nil {
		return err
	}
	c := newChat(flags, extra, cmd.OutOrStdout(), cmd.ErrOrStderr())
	o := client.Options{User: flags.user, Token: token, Handler: c.handler(), Adopt: func(string) bool { return false }}
	address := chatAddress(flags.url)
	conn, err := client.New(address, o)
	if err != nil {
		return fmt.Errorf("--url: %w", err)
	}
	c.client = conn
	if err := conn.Open(flags.thread, client.OpenOptions{OnDisconnect: flags.policy}); err != nil {
		return err
	}
	c.typed = isTerminal(cmd.InOrStdin()) && len(args) == 0
	ended := make(chan error, 1)
	go func() { ended <- conn.Run(ctx) }()
	err = c.talk(ctx, cmd.InOrStdin(), args, ended)
	c.leave()
	_ = conn.Close()
	if errors.Is(err, client.ErrUnauthorized) && !c.connected {
		return fmt.Errorf("cannot connect to %s: %s", flags.url, c.reason(err))
	}
	if errors.Is(err, client.ErrUnauthorized) {
		return fmt.Errorf("%w (is --token right and still valid?)", err)
	}
	return err
}
