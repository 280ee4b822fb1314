package command

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"strings"
	"time"

	"turnlog/agent"
	"turnlog/agent/relay"
)

// stopLine is how long the program's input may take to accept the stop line.
const stopLine = 100 * time.Millisecond

// start builds what the program reads first, newline included.
func (a *Agent) start(ctx context.Context, turn agent.Turn) ([]byte, error) {
	info := turn.Info()
	if a.options.Stdin == StdinText {
		return []byte(strings.TrimSuffix(agent.Text(info.Message), "\n") + "\n"), nil
	}
	return relay.Start(ctx, turn, a.options.HistoryLimit)
}

// feed writes the program's input until ctx ends, then the stop line (with the
// outcome) and the end of input. A program that does not read holds up nobody:
// what it has not read yet is limited by its pipe, and inputs stay untaken.
func (a *Agent) feed(ctx context.Context, turn agent.Turn, out *relay.Relay, stdin *os.File, start []byte, answers <-chan []byte) {
	defer stdin.Close()
	defer context.AfterFunc(ctx, func() { _ = stdin.SetWriteDeadline(time.Now().Add(stopLine)) })()
	if _, err := stdin.Write(start); err != nil || a.options.Stdin == StdinText {
		return
	}
	inputs := turn.Inputs()
	for {
		var line []byte
		select {
		case <-ctx.Done():
			writeStop(ctx, stdin)
			return
		case line = <-answers:
		case in, open := <-inputs:
			if !open {
				inputs = nil
				continue
			}
			var err error
			if line, err = out.Input(ctx, in); err != nil {
				continue
			}
		}
		if _, err := stdin.Write(line); err != nil {
			return
		}
	}
}

func writeStop(ctx context.Context, stdin io.Writer) {
	outcome := "failed"
	var ended *agent.Ended
	if errors.As(context.Cause(ctx), &ended) {
		outcome = ended.Outcome
	}
	line, _ := json.Marshal(map[string]string{"type": "stop", "outcome": outcome})
	_, _ = stdin.Write(append(line, '\n'))
}
