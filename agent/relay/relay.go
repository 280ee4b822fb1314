package relay

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"turnlog/agent"
	"turnlog/frame"
)

const (
	// maxText is the longest piece of text in one chunk, in bytes.
	maxText = 16 << 10
	// maxAsks is how many requests of a turn may be open at once.
	maxAsks = 64
	// askOrder bounds how long output waits for a request to get its place.
	askOrder = 100 * time.Millisecond
)

// requests are the frame types that ask the viewers something.
var requests = map[string]string{
	"tool_call":             agent.KindToolCall,
	"tool_approval_request": agent.KindToolApproval,
	"plan_approval_request": agent.KindPlanApproval,
	"secret_request":        agent.KindSecret,
}

// Relay turns what a program says in one turn into frames, and tells it the
// answers to its requests. Its methods may be called from several goroutines.
type Relay struct {
	turn   agent.Turn
	who    string
	answer func(ctx context.Context, line []byte)
	asks   *tracker
	open   chan struct{} // one token per open request
	limit  int           // of pieces of text

	mu    sync.Mutex // held while a frame is emitted, so that the record has the frames' order
	said  record
	state json.RawMessage
}

// New returns the relay of a turn. who begins the sentences of errors, for
// example "the program printed". answer is called, by a goroutine for each
// request, with the line that answers it.
func New(turn agent.Turn, who string, answer func(ctx context.Context, line []byte)) *Relay {
	limit := turn.Info().FrameLimit
	return &Relay{
		turn: turn, who: who, answer: answer,
		said:  recordOf(turn.Info()),
		asks:  newTracker(),
		open:  make(chan struct{}, maxAsks),
		limit: min(maxText, max(limit/8, 16)), // a byte takes at most six in JSON
	}
}

// MaxText is the longest piece of text that Say takes, in bytes.
func (o *Relay) MaxText() int { return o.limit }

// Wait waits until every request is answered, or given up because ctx has ended.
func (o *Relay) Wait() { o.asks.wait() }

// State is the newest checkpoint, nil without one.
func (o *Relay) State() json.RawMessage {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.state
}

// Say passes a piece of plain text on, of at most MaxText bytes.
func (o *Relay) Say(ctx context.Context, piece []byte) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	text := string(bytes.ToValidUTF8(piece, []byte("\ufffd")))
	o.said.text.Add(text)
	return o.turn.Emit(ctx, frame.Chunk(text))
}

// Object passes an object line on; false when it is no frame but something that
// looks like one.
func (o *Relay) Object(ctx context.Context, line []byte) (bool, error) {
	if !hasType(line) {
		return false, nil
	}
	line = frame.Repair(bytes.Clone(line))
	typ, err := frame.Type(line)
	if err != nil {
		return true, o.whyInvalid(line)
	}
	switch kind, isRequest := requests[typ]; {
	case isRequest:
		return true, o.ask(ctx, kind, line)
	case typ == protocolLine:
		return true, o.protocol(line)
	case typ == "checkpoint":
		state, ok := frame.Raw(line, "state")
		if !ok {
			return true, errors.New(o.who + " a checkpoint without \"state\"")
		}
		o.mu.Lock()
		defer o.mu.Unlock()
		o.state = bytes.Clone(state)
		return true, o.turn.Checkpoint(ctx, o.state)
	case typ == "usage":
		if usage, ok := frame.Raw(line, "usage"); ok {
			agent.ReportUsage(o.turn, bytes.Clone(usage))
		}
		return true, nil
	case typ == "start" || typ == "input" || typ == "answer" || typ == "stop":
		return true, fmt.Errorf("%s a line of type %q, which is one that it reads: does it repeat its input? Filters want stdin \"text\"", o.who, typ)
	case frame.Reserved(typ):
		return true, fmt.Errorf("%s a frame of type %q, which only the runtime may emit", o.who, typ)
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.said.add(typ, line)
	return true, o.turn.Emit(ctx, line)
}

// Finish emits the assistant message of what was said and is in none yet.
func (o *Relay) Finish(ctx context.Context) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.said.text.Empty() {
		return nil
	}
	return o.turn.Emit(ctx, o.said.message())
}

// Input returns the line of an input. A message of the user's is kept for the
// history first.
func (o *Relay) Input(ctx context.Context, in agent.Input) ([]byte, error) {
	line, err := inputLine(in)
	if err != nil || in.Kind != agent.InputSteer {
		return line, err
	}
	return line, o.turn.Emit(ctx, steered(in.Message))
}

// ask makes a request and lets the output go on; its answer goes to the program.
func (o *Relay) ask(ctx context.Context, kind string, line []byte) error {
	ask, ref, err := o.parseAsk(kind, line)
	if err != nil {
		return err
	}
	select {
	case o.open <- struct{}{}:
	default:
		return fmt.Errorf("%s more than %d requests that are open at once", o.who, maxAsks)
	}
	placed := make(chan struct{})
	ask.Queued = sync.OnceFunc(func() { close(placed) })
	failed := make(chan error, 1)
	o.asks.run(func() {
		defer func() { <-o.open }()
		asking, done := untilOver(ctx)
		defer done()
		answer, err := o.turn.Ask(asking, ask)
		switch {
		case err == nil:
			o.keep(ctx, ask, answer.RequestID, agent.ResultText(answer.Payload, o.turn.Info().FrameLimit/4))
			o.answer(ctx, answerLine(kind, ref, answer, ""))
		case errors.Is(err, agent.ErrExpired):
			o.keep(ctx, ask, answer.RequestID, agent.NoResult)
			o.answer(ctx, answerLine(kind, ref, answer, "expired"))
		default:
			failed <- err
		}
		ask.Queued()
	})
	timer := time.NewTimer(askOrder)
	defer timer.Stop()
	select {
	case <-placed:
	case <-timer.C:
	}
	select {
	case err := <-failed:
		return err
	default:
		return nil
	}
}

// untilOver is ctx for a request: whatever ends ctx, the agent's turn is over then.
func untilOver(ctx context.Context) (context.Context, func()) {
	asking, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, func() { cancel(fmt.Errorf("%w: %w", agent.ErrOver, context.Cause(ctx))) })
	return asking, func() {
		stop()
		cancel(nil)
	}
}

// keep makes messages of a tool call that is over: one with the text before it
// and the call, and behind it one with the result. Approvals and secrets are no
// matter of the history. What cannot be kept any more, because the turn has ended,
// is what the runtime makes of it.
func (o *Relay) keep(ctx context.Context, ask agent.Ask, id, result string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if _, own := ask.Fields["call_id"]; own || o.said.ownCalls || ask.Kind != agent.KindToolCall || id == "" {
		return
	}
	args, _ := ask.Fields["args"].(json.RawMessage)
	if o.turn.Emit(ctx, o.said.announcement(id, ask.Name, args)) != nil {
		return
	}
	o.said.covered()
	_ = o.turn.Emit(ctx, resultMessage(id, ask.Name, result))
}

func (o *Relay) parseAsk(kind string, line []byte) (agent.Ask, json.RawMessage, error) {
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(line, &fields); err != nil {
		return agent.Ask{}, nil, agent.ErrInvalidFrame
	}
	ref := fields["ref"]
	for _, key := range []string{"tool_call_id", "approval_id"} {
		if ref == nil {
			ref = fields[key]
		}
	}
	ask := agent.Ask{Kind: kind, Fields: make(map[string]any)}
	for key, value := range fields {
		switch key {
		case "type", "ref", "tool_call_id", "approval_id", "chat_seq", "thread_id", "turn_id":
		default:
			ask.Fields[key] = value
		}
	}
	for _, key := range []string{"name", "tool_name"} {
		if name, ok := frame.String(line, key); ok && ask.Name == "" {
			ask.Name = name
		}
	}
	if kind == agent.KindToolCall && ask.Name == "" {
		return ask, ref, errors.New(o.who + " a tool_call without \"name\"")
	}
	return ask, ref, nil
}
