package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"turnlog/cmd/turnlog/doctor"
	"turnlog/cmd/turnlog/term"
)

const doctorHelp = `Looks at the Redis of a deployment and says, for each thing that Turnlog needs of it,
whether it is so (ok), could be better or will go wrong as things grow (warn), or is wrong
(fail); what that means, and what to do. It only reads. Run it on a machine of a node, as
the user of redis.url that the nodes have.

  connection, version, topology   is there a Redis that Turnlog knows: Cluster, Sentinel, replicas
  persistence, memory, eviction   what a restart or full memory would lose
  latency                         median and worst round trip of --pings pings
  clock                           of this machine, and with --url of a node, against Redis
  scripts, rights                 is Lua allowed, and every command that nodes call
  pubsub, streams, clients        limits that Redis sets
  partitions, nodes               what is stored, and who uses it

  turnlog doctor --redis redis://10.0.0.9
  turnlog doctor --config /etc/turnlog.yaml --url http://10.0.0.1:8080
  turnlog doctor --explain                         what each check is about, also where all is well
  turnlog doctor --json | jq -r '.checks[] | select(.status != "ok") | .do'

Exit codes: 0 all is well, 1 something warns (or wrong use), 2 something failed.`

// doctorFlags are the flags of turnlog doctor.
type doctorFlags struct {
	url             string
	pings           int
	explain, asJSON bool
	colour          term.When
}

// newDoctorCommand examines a Redis.
func newDoctorCommand() *cobra.Command {
	var flags doctorFlags
	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "Examine the Redis of a deployment: what is wrong, and what to do",
		Long:  doctorHelp,
		Args:  cobra.NoArgs,
		RunE:  func(cmd *cobra.Command, _ []string) error { return flags.run(cmd) },
	}
	f := cmd.Flags()
	addFlagsOf(f, slices.DeleteFunc(slices.Clone(settings), func(s setting) bool {
		return s.key != "redis.url" && s.key != "redis.command_timeout" && s.key != "partitions"
	}))
	f.StringVar(&flags.url, "url", "", "also compare the clock of this node, like http://10.0.0.1:8080")
	f.IntVar(&flags.pings, "pings", 50, "round trips to measure, 1 to 10000")
	f.BoolVar(&flags.explain, "explain", false, "say of every check what it is about")
	f.BoolVar(&flags.asJSON, "json", false, "print JSON")
	addColourFlag(cmd, &flags.colour)
	return cmd
}

func (f *doctorFlags) run(cmd *cobra.Command) error {
	if f.pings < 1 || f.pings > 10_000 {
		return errors.New("--pings wants a number from 1 to 10000")
	}
	config, err := loadCommand(cmd.Flags())
	if err != nil {
		return err
	}
	if config.Redis.URL == "" {
		return errNoRedis
	}
	if err := checkRedisURL(config.Redis.URL); err != nil {
		return err
	}
	routeRedisLog(slog.New(slog.DiscardHandler)) // checks tell
	rdb, err := newRedisClient(config.Redis)
	if err != nil {
		return err
	}
	defer rdb.Close()
	facts, err := doctor.Collect(cmd.Context(), rdb, doctor.Options{
		Pings: f.pings, Timeout: config.Redis.CommandTimeout,
		Partitions: config.Partitions, Explicit: config.source["partitions"] != "default",
	})
	if err != nil {
		return err
	}
	if facts.Unreachable != "" {
		if sentence := hopeless(errors.New(facts.Unreachable)); sentence != "" {
			facts.Unreachable = "redis " + sentence
		}
	}
	if f.url != "" && facts.Unreachable == "" {
		if facts.Node, err = f.nodeClock(cmd.Context(), facts.Clock); err != nil {
			return err
		}
	}
	return f.report(cmd, diagnosis{Redis: maskURL(config.Redis.URL), Checks: doctor.Judge(facts)})
}

// nodeClock asks a node for its time, which HTTP tells in whole seconds.
func (f *doctorFlags) nodeClock(ctx context.Context, here doctor.Clock) (*doctor.Clock, error) {
	base, err := nodeAddress(f.url)
	if err != nil {
		return nil, err
	}
	k := &doctor.Clock{Name: "node " + strings.SplitN(base, "://", 2)[1]}
	ctx, cancel := context.WithTimeout(ctx, nodeTimeout)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, base+"/healthz", nil)
	if err != nil {
		return nil, fmt.Errorf("--url: %w", err)
	}
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.DisableKeepAlives = true
	begin := time.Now()
	response, err := (&http.Client{Transport: transport}).Do(request)
	took := time.Since(begin)
	if err != nil {
		k.Error = withoutURL(err).Error()
		return k, nil
	}
	defer response.Body.Close()
	date, err := http.ParseTime(response.Header.Get("Date"))
	if err != nil {
		k.Error = "it does not tell its time"
		return k, nil
	}
	const half = 500 * time.Millisecond // of the second that is told
	k.Ahead = date.Add(half).Sub(begin.Add(took/2)) + here.Ahead
	k.Give = half + took/2 + here.Give
	return k, nil
}

// diagnosis is what turnlog doctor says.
type diagnosis struct {
	Redis  string         `json:"redis"`
	Status doctor.Status  `json:"status"`
	Checks []doctor.Check `json:"checks"`
}

func (f *doctorFlags) report(cmd *cobra.Command, d diagnosis) error {
	d.Status = doctor.Worst(d.Checks)
	var err error
	if f.asJSON {
		err = writeJSON(cmd.OutOrStdout(), d)
	} else {
		err = d.write(screen(cmd, f.colour), f.explain)
	}
	if code := d.Status.ExitCode(); err == nil && code > 0 {
		return exitError{code: code} // said already
	}
	return err
}
