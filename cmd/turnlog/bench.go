package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"turnlog/bench"
)

const benchHelp = `Measures one workload:

  append    fenced appends of this process against plain pipelined XADD
  live      one viewer per thread, agents at a fixed rate: latency, CPU per frame
  saturate  the same with agents as fast as they can
  resume    one viewer far behind, on a node that has never seen the thread
  detached  turns that wait while nobody watches, against the node without any

Without --redis a redis-server is started for the run, without --node nodes are
started from this program; both end with it. Against running nodes give the
Redis they use as well, so that its share can be told. The nodes have to run the
demo agent.

  turnlog bench append
  turnlog bench live --threads 1000 --rate 10 --viewers other
  turnlog bench saturate --node http://10.0.0.1:8080 --node http://10.0.0.2:8080 --redis redis://10.0.0.9`

// newBenchCommand measures a deployment or this machine.
func newBenchCommand() *cobra.Command {
	var options bench.Options
	var asJSON bool
	var file string
	cmd := &cobra.Command{
		Use:       "bench " + strings.Join(bench.Workloads, "|"),
		Short:     "Measure speed and cost",
		Long:      benchHelp,
		Args:      cobra.MatchAll(cobra.ExactArgs(1), cobra.OnlyValidArgs),
		ValidArgs: bench.Workloads,
		RunE: func(cmd *cobra.Command, args []string) error {
			options.Workload = args[0]
			if len(options.Nodes) > 0 && options.Redis == "" && options.Workload != bench.Append {
				return fmt.Errorf("--node needs --redis: the Redis that the nodes use")
			}
			program, err := os.Executable()
			if err != nil {
				return fmt.Errorf("find this program to start nodes from: %w", err)
			}
			options.Program = program
			routeRedisLog(slog.New(slog.DiscardHandler)) // the result says what went wrong
			options.Progress = func(line string) { fmt.Fprintln(cmd.ErrOrStderr(), line) }
			ctx, stop := signal.NotifyContext(cmd.Context(), syscall.SIGINT, syscall.SIGTERM)
			defer stop()
			return runBench(ctx, cmd.OutOrStdout(), options, asJSON, file)
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&options.Redis, "redis", "", "URL of the Redis to measure with (default: a redis-server of its own)")
	flags.StringArrayVar(&options.Nodes, "node", nil, "URL of a running node; the first one runs the agents, the second one has the viewers (default: nodes of its own)")
	flags.IntVar(&options.Threads, "threads", 0, "threads at once (default 1000, detached: 10000)")
	flags.Float64Var(&options.Rate, "rate", 10, "live: frames per second and thread")
	flags.IntVar(&options.Bytes, "bytes", 100, "bytes of text per frame")
	flags.DurationVar(&options.Duration, "duration", 0, "live, saturate, detached: length of the measurement (default 10s, detached: 1m)")
	flags.IntVar(&options.Frames, "frames", 500_000, "append: frames per round")
	flags.IntVar(&options.Rounds, "rounds", 3, "append: rounds of both sides")
	flags.StringVar(&options.Viewers, "viewers", bench.OtherNode, "live, saturate: where viewers are, on the same or on the other node")
	flags.IntSliceVar(&options.Missed, "missed", nil, "resume: how many frames behind (default 100,2000,100000)")
	flags.BoolVar(&options.Unbatched, "unbatched", false, "viewers take one frame per message")
	flags.BoolVar(&asJSON, "json", false, "print the result as JSON")
	flags.StringVar(&file, "out", "", "also write the result as JSON to this file")
	return cmd
}

func runBench(ctx context.Context, out io.Writer, options bench.Options, asJSON bool, file string) error {
	result, err := bench.Run(ctx, options)
	if err != nil {
		return err
	}
	text, err := json.MarshalIndent(result, "", "  ")
	if err != nil {
		return err
	}
	text = append(text, '\n')
	if file != "" {
		if err := os.WriteFile(file, text, 0o644); err != nil {
			return fmt.Errorf("write the result: %w", err)
		}
	}
	if asJSON {
		_, err = out.Write(text)
		return err
	}
	result.Table(out)
	return nil
}
