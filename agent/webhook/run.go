package webhook

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"

	"turnlog/agent"
	"turnlog/agent/relay"
	"turnlog/frame"
)

// errOver ends what still runs for a turn that its server has ended.
var errOver = errors.New("the server has ended the turn")

// exchange is a turn under way: its deliveries and what came back.
type exchange struct {
	agent   *Agent
	turn    agent.Turn
	relay   *relay.Relay
	cancel  context.CancelCauseFunc
	posts   atomic.Int64
	running sync.WaitGroup // deliveries of inputs
}

// Run implements agent.Agent.
func (a *Agent) Run(ctx context.Context, turn agent.Turn) error {
	start, err := relay.Start(ctx, turn, a.options.HistoryLimit)
	if err != nil {
		return err
	}
	running, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	x := &exchange{agent: a, turn: turn, cancel: cancel}
	x.relay = relay.New(turn, "the agent's server sent", x.answer)
	inputs, stopInputs := context.WithCancel(running)
	defer stopInputs()
	begun := make(chan struct{})
	if a.options.Inputs {
		x.running.Go(func() { x.inputs(inputs, running, begun) })
	}
	x.send(running, start, func() { close(begun) })
	// Answers may bring new requests, whose answers may bring more: all of them
	// are waited for here.
	x.relay.Wait()
	stopInputs()
	x.running.Wait()
	x.relay.Wait() // requests that came with the response to an input
	cause := context.Cause(running)
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case cause != nil && !errors.Is(cause, errOver):
		return cause
	}
	return x.relay.Finish(ctx)
}

// send POSTs a line and passes on what the response streams. begun, when not nil,
// is called as the response begins.
func (x *exchange) send(ctx context.Context, line []byte, begun func()) {
	info := x.turn.Info()
	id := fmt.Sprintf("%s.%d.%d", info.TurnID, info.Attempt, x.posts.Add(1))
	res, err := x.agent.deliver(ctx, id, bytes.TrimSpace(line))
	if err == nil {
		if begun != nil {
			begun()
		}
		err = x.agent.read(ctx, res, info.FrameLimit, func(b []byte) (bool, error) { return x.object(ctx, b) })
	}
	if err != nil {
		x.cancel(faulty(err))
	}
}

// object takes one object of a response.
func (x *exchange) object(ctx context.Context, b []byte) (over bool, err error) {
	if typ, ok := frame.String(b, "type"); ok && typ == "end" {
		if usage, ok := frame.Raw(b, "usage"); ok {
			agent.ReportUsage(x.turn, bytes.Clone(usage))
		}
		if message, ok := frame.String(b, "error"); ok && message != "" {
			typ, _ := frame.String(b, "error_type")
			return true, &agent.Error{Message: message, Type: typ}
		}
		return true, errOver
	}
	taken, err := x.relay.Object(ctx, b)
	if err == nil && !taken {
		err = notAnObject(b)
	}
	return false, err
}

// faulty is the failure that errors about what a server sent are; others are
// passed on.
func faulty(err error) error {
	if errors.As(err, new(*agent.Error)) {
		return err
	}
	if errors.As(err, new(relay.Refusal)) || errors.Is(err, agent.ErrInvalidFrame) || errors.Is(err, agent.ErrFrameTooLarge) {
		return &agent.Error{Message: err.Error(), Type: "webhook_invalid", Err: err}
	}
	return err
}

// notAnObject says what came where a line or an event must be an object. Servers
// send no plain text, as programs may: a page or a stack trace is not an answer.
func notAnObject(b []byte) error {
	const most = 40
	shown := strings.ToValidUTF8(string(b[:min(len(b), most)]), "\ufffd")
	if len(b) > most {
		shown += "..."
	}
	return &agent.Error{
		Message: fmt.Sprintf("The agent's server sent %q; each line, or the data of each event, must be a JSON object with a \"type\".", shown),
		Type:    "webhook_invalid", Err: agent.ErrInvalidFrame,
	}
}

// about adds to a line what a server needs to know which turn it belongs to, and
// the newest checkpoint, so that it need not keep anything itself.
func (x *exchange) about(line []byte) []byte {
	info := x.turn.Info()
	state := x.relay.State()
	if state == nil && json.Valid(info.Checkpoint) {
		state = info.Checkpoint
	}
	more, err := json.Marshal(struct {
		Protocol   int             `json:"protocol"`
		ThreadID   string          `json:"thread_id"`
		TurnID     string          `json:"turn_id"`
		Attempt    int             `json:"attempt"`
		User       string          `json:"user"`
		Checkpoint json.RawMessage `json:"checkpoint,omitempty"`
	}{relay.Protocol, info.ThreadID, info.TurnID, info.Attempt, info.User, state})
	if err != nil {
		return line
	}
	line = bytes.TrimSpace(line)
	return append(append(line[:len(line)-1:len(line)-1], ','), more[1:]...)
}

// answer is called by the relay, in the goroutine of the request.
func (x *exchange) answer(ctx context.Context, line []byte) {
	if ctx.Err() == nil {
		x.send(ctx, x.about(line), nil)
	}
}

// inputs POSTs what clients send into the turn, one after the other, from the
// beginning of the first response until waiting ends. A delivery goes on until ctx ends.
func (x *exchange) inputs(waiting, ctx context.Context, begun <-chan struct{}) {
	select {
	case <-begun:
	case <-waiting.Done():
		return
	}
	for {
		select {
		case in, open := <-x.turn.Inputs():
			if !open {
				return
			}
			if line, err := x.relay.Input(ctx, in); err == nil {
				x.send(ctx, x.about(line), nil)
			}
		case <-waiting.Done():
			return
		}
	}
}
