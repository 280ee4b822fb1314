package command

import (
	"context"
	"errors"
	"io"
	"sync"

	"turnlog/agent"
	"turnlog/agent/relay"
)

// errOver ends what serves the program once the program itself has ended.
var errOver = errors.New("the program has ended")

// Run implements agent.Agent.
func (a *Agent) Run(ctx context.Context, turn agent.Turn) error {
	start, err := a.start(ctx, turn)
	if err != nil {
		return err
	}
	p, err := a.launch(turn.Info())
	if err != nil {
		return err
	}
	defer p.stdout.Close()
	defer p.stderr.Close()

	// running ends with the turn, or when the program's output is refused.
	running, fail := context.WithCancelCause(ctx)
	defer fail(errOver)
	feeding, stopFeeding := context.WithCancelCause(running)
	var answers chan []byte
	if a.options.Stdin == StdinJSON {
		answers = make(chan []byte)
	}
	out := relay.New(turn, "the program printed", func(ctx context.Context, line []byte) {
		select {
		case answers <- line:
		case <-ctx.Done():
		}
	})
	info := turn.Info()
	log := newStderrLog(a.options.Logger.With("thread_id", info.ThreadID, "turn_id", info.TurnID))
	stdout, stderr := &pipeReader{p: p, file: p.stdout}, &pipeReader{p: p, file: p.stderr}
	var readers, feeder sync.WaitGroup
	readers.Go(func() { readOutput(feeding, turn, out, stdout, fail) })
	readers.Go(func() { copyOutput(log, stderr) })
	feeder.Go(func() { a.feed(feeding, turn, out, p.stdin, start, answers) })

	exit := p.wait(running, a.options)
	if running.Err() != nil {
		p.hurry.Store(true)
		killGroup(p.cmd)
	}
	p.ended.Store(true)
	stdout.wake()
	stderr.wake()
	readers.Wait()
	killGroup(p.cmd)
	stopFeeding(errOver)
	out.Wait()
	feeder.Wait()
	reapGroup(p.cmd)

	switch tail := log.end(); {
	case running.Err() != nil:
		return context.Cause(running)
	case exit != nil:
		return describe(exit, tail)
	}
	return out.Finish(ctx)
}

func copyOutput(to io.Writer, r *pipeReader) {
	buf := make([]byte, 4<<10)
	for {
		n, err := r.read(buf, 0)
		if err != nil {
			return
		}
		_, _ = to.Write(buf[:n])
	}
}
