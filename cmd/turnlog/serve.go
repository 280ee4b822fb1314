package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"
)

const serveHelp = `Runs a node: the WebSocket endpoint, the agent, and the log.

Without --redis it carries a Redis of its own, which ends with the process. With
--agent command the program behind two dashes is run once per turn:

  turnlog serve --agent command --agent.stdin text -- tr a-z A-Z

SIGTERM or Ctrl-C drains the node: no new turns, running ones go on for at most
drain.timeout. A second signal ends them now.`

// newServeCommand runs a node.
func newServeCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "serve [flags] [-- program args...]",
		Short: "Run a node",
		Long:  serveHelp,
		RunE: func(cmd *cobra.Command, args []string) error {
			config, err := loadCommand(cmd.Flags())
			if err != nil {
				return err
			}
			config.Agent.Command = args
			if err := config.validate(); err != nil {
				return err
			}
			logger := newLogger(cmd.ErrOrStderr(), config.Log)
			for _, warning := range config.warnings {
				logger.Warn(warning)
			}
			routeRedisLog(logger)
			forgetSecrets()

			// Two: the second signal must not be lost while the first one is handled.
			signals := make(chan os.Signal, 2)
			signal.Notify(signals, syscall.SIGTERM, syscall.SIGINT)
			defer signal.Stop(signals)
			return serve(cmd.Context(), config.Config, logger, signals)
		},
	}
	addSettingFlags(cmd.Flags())
	return cmd
}

// untilSignal returns a context that ends with the first signal, for the time
// before there is anything to drain. release gives the signals back.
func untilSignal(ctx context.Context, signals <-chan os.Signal) (_ context.Context, release func() (signalled bool)) {
	ctx, cancel := context.WithCancel(ctx)
	stop, done := make(chan struct{}), make(chan bool, 1)
	go func() {
		select {
		case <-signals:
			cancel()
			done <- true
		case <-stop:
			done <- false
		}
	}()
	return ctx, func() bool {
		close(stop)
		signalled := <-done
		cancel()
		return signalled
	}
}
