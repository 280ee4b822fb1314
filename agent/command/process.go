package command

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"turnlog/agent"
	"turnlog/agent/relay"
)

// process is a running program and our ends of its pipes.
type process struct {
	cmd                   *exec.Cmd
	stdin, stdout, stderr *os.File
	ended                 atomic.Bool // the program itself has ended
	hurry                 atomic.Bool // and nothing it left behind is wanted; set before ended
}

func (a *Agent) launch(info agent.Info) (*process, error) {
	p := &process{cmd: exec.Command(a.path, a.options.Command[1:]...)}
	p.cmd.Args[0] = a.options.Command[0]
	p.cmd.Dir = a.options.Dir
	p.cmd.Env = environment(os.Environ(), a.options.Env, info)
	ownGroup(p.cmd)
	// Plain pipes instead of cmd.StdoutPipe: Wait then returns when the program
	// ends, not when the last process that inherited a pipe does.
	var theirs [3]*os.File
	var err error
	closeAll := func(files ...*os.File) {
		for _, f := range files {
			if f != nil {
				_ = f.Close()
			}
		}
	}
	if theirs[0], p.stdin, err = os.Pipe(); err == nil {
		if p.stdout, theirs[1], err = os.Pipe(); err == nil {
			p.stderr, theirs[2], err = os.Pipe()
		}
	}
	if err == nil {
		p.cmd.Stdin, p.cmd.Stdout, p.cmd.Stderr = theirs[0], theirs[1], theirs[2]
		err = p.cmd.Start()
	}
	closeAll(theirs[:]...)
	if err != nil {
		closeAll(p.stdin, p.stdout, p.stderr)
		return nil, fmt.Errorf("start the agent's program: %w", err)
	}
	return p, nil
}

// environment is what the program sees: nothing of the node's own settings.
func environment(inherited, extra []string, info agent.Info) []string {
	var env []string
	for _, kv := range inherited {
		if !strings.HasPrefix(strings.ToUpper(kv), "TURNLOG_") {
			env = append(env, kv)
		}
	}
	env = append(env, extra...)
	for key, value := range map[string]string{
		"TURNLOG_THREAD_ID": info.ThreadID, "TURNLOG_TURN_ID": info.TurnID,
		"TURNLOG_ATTEMPT": strconv.Itoa(info.Attempt), "TURNLOG_USER": info.User, "TURNLOG_PROTOCOL": strconv.Itoa(relay.Protocol),
	} {
		env = append(env, key+"="+strings.ReplaceAll(value, "\x00", ""))
	}
	return env
}

// wait returns once the program has ended, which it is made to when ctx ends.
func (p *process) wait(ctx context.Context, options Options) error {
	done := make(chan error, 1)
	go func() { done <- p.cmd.Wait() }()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
	}
	term, kill := patience(options)
	terminate, killing := time.NewTimer(term), time.NewTimer(kill)
	defer terminate.Stop()
	defer killing.Stop()
	for {
		select {
		case err := <-done:
			return err
		case <-terminate.C:
			terminateGroup(p.cmd)
		case <-killing.C:
			killGroup(p.cmd)
		}
	}
}

// patience is how long after its end a turn's program gets SIGTERM and SIGKILL.
// One that reads JSON may wind down on its stop line first.
func patience(options Options) (term, kill time.Duration) {
	kill = options.StopTimeout - min(options.StopTimeout/5, time.Second)
	if options.Stdin == StdinJSON {
		term = min(kill/4, time.Second)
	}
	return term, kill
}

// describe turns the error of a program that ended badly into what users are told.
func describe(err error, tail string) error {
	var exit *exec.ExitError
	if !errors.As(err, &exit) {
		return fmt.Errorf("wait for the agent's program: %w", err)
	}
	if tail == "" {
		return errors.New(exit.Error())
	}
	return errors.New(exit.Error() + ": " + tail)
}
