package command

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"time"

	"turnlog/agent"
)

// Stdin says what a program reads.
type Stdin string

// What a program can read.
const (
	StdinJSON Stdin = "json" // JSON lines: start, input, answer, stop
	StdinText Stdin = "text" // the text of the user's message and a newline, then the end
)

// Options configure the agent.
type Options struct {
	// Command is the program and its arguments. Required. The program is looked
	// up in PATH once, by New.
	Command []string
	// Stdin is what the program reads; default StdinJSON.
	Stdin Stdin
	// Dir is the working directory; default that of the node.
	Dir string
	// Env is added to the node's own environment (from which everything that
	// starts with TURNLOG_ is removed, because it may hold secrets).
	Env []string
	// StopTimeout is how long a turn may take to wind down after its end; it
	// should be the runtime's own stop timeout. Default 10 s.
	StopTimeout time.Duration
	// HistoryLimit is how many messages of the thread the start line carries at
	// most (and at most 1 MiB of them); default 100, negative for none.
	HistoryLimit int
	// Restartable says that a lost turn may be run again; the start line then
	// has the attempt, the newest checkpoint and what was emitted.
	Restartable bool
	// Logger gets what the program writes to stderr (level debug) and how much it
	// was (info); default none.
	Logger *slog.Logger
}

func (o Options) withDefaults() Options {
	if o.Stdin == "" {
		o.Stdin = StdinJSON
	}
	if o.StopTimeout == 0 {
		o.StopTimeout = 10 * time.Second
	}
	if o.HistoryLimit == 0 {
		o.HistoryLimit = 100
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	return o
}

func (o Options) validate() error {
	switch {
	case len(o.Command) == 0 || o.Command[0] == "":
		return errors.New("the command agent needs a program to run, for example: --agent command -- python3 agent.py")
	case o.Stdin != StdinJSON && o.Stdin != StdinText:
		return fmt.Errorf("stdin of the command agent must be %q or %q, not %q", StdinJSON, StdinText, o.Stdin)
	case o.StopTimeout < 0:
		return errors.New("the command agent's stop timeout must not be negative")
	}
	return nil
}

// Agent runs one process per turn. It is safe for concurrent use.
type Agent struct {
	options Options
	path    string
}

var (
	_ agent.Agent       = (*Agent)(nil)
	_ agent.Restartable = (*Agent)(nil)
)

// New returns the agent, or an error that says what is wrong: no program, one
// that cannot be found, no such directory, or an impossible option. It starts nothing.
func New(options Options) (*Agent, error) {
	options = options.withDefaults()
	if err := options.validate(); err != nil {
		return nil, err
	}
	path, err := exec.LookPath(options.Command[0])
	if err != nil {
		return nil, fmt.Errorf("the agent's program cannot be run: %w", err)
	}
	if options.Dir != "" {
		if info, err := os.Stat(options.Dir); err != nil {
			return nil, fmt.Errorf("the agent's working directory cannot be used: %w", err)
		} else if !info.IsDir() {
			return nil, fmt.Errorf("the agent's working directory cannot be used: %s is no directory", options.Dir)
		}
	}
	return &Agent{options: options, path: path}, nil
}

// Restartable implements agent.Restartable.
func (a *Agent) Restartable() bool { return a.options.Restartable }
