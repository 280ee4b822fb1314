package command

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

// output turns what the program prints into frames. Its methods are called by
// one goroutine.
type output struct {
	turn    agent.Turn
	answers chan<- []byte // lines for the program's input, nil when it reads none
	text    frame.Text
	asks    sync.WaitGroup
	open    chan struct{} // one token per open request
	hasText bool          // the program emitted its own assistant message
	limit   int           // of pieces of text
}

func newOutput(turn agent.Turn, answers chan<- []byte) *output {
	limit := turn.Info().FrameLimit
	return &output{
		turn: turn, answers: answers,
		text:  frame.Text{Limit: limit / 2},
		open:  make(chan struct{}, maxAsks),
		limit: min(maxText, max(limit/8, 16)), // a byte takes at most six in JSON
	}
}

// say passes a piece of plain text on.
func (o *output) say(ctx context.Context, piece []byte) error {
	text := string(bytes.ToValidUTF8(piece, []byte("\ufffd")))
	o.text.Add(text)
	return o.turn.Emit(ctx, frame.Chunk(text))
}

// object passes an object line on; false when it is no frame but text that
// looks like one.
func (o *output) object(ctx context.Context, line []byte) (bool, error) {
	if !hasType(line) {
		return false, nil
	}
	line = frame.Repair(bytes.Clone(line))
	typ, err := frame.Type(line)
	if err != nil {
		return true, whyInvalid(line)
	}
	switch kind, isRequest := requests[typ]; {
	case isRequest:
		return true, o.ask(ctx, kind, line)
	case typ == "checkpoint":
		state, ok := frame.Raw(line, "state")
		if !ok {
			return true, errors.New("the program printed a checkpoint without \"state\"")
		}
		return true, o.turn.Checkpoint(ctx, bytes.Clone(state))
	case typ == "start" || typ == "input" || typ == "answer" || typ == "stop":
		return true, fmt.Errorf("the program printed a line of type %q, which is one that it reads: for programs that repeat their input use stdin %q", typ, StdinText)
	case frame.Reserved(typ):
		return true, fmt.Errorf("the program printed a frame of type %q, which only the runtime may emit", typ)
	}
	o.note(typ, line)
	return true, o.turn.Emit(ctx, line)
}

// note remembers what the final message has to hold, if there has to be one.
func (o *output) note(typ string, line []byte) {
	switch typ {
	case "message":
		if role, ok := frame.String(line, "role"); !ok || role == "assistant" {
			o.hasText = true
		}
	case "chunk":
		thinking, _ := frame.Raw(line, "thinking")
		kind, hasKind := frame.String(line, "content_type")
		if string(thinking) != "true" && (!hasKind || kind == "" || kind == "text") {
			content, _ := frame.String(line, "content")
			o.text.Add(content)
		}
	}
}

// finish emits the assistant message if the program said something without one.
func (o *output) finish(ctx context.Context) error {
	if o.hasText || o.text.Empty() {
		return nil
	}
	return o.turn.Emit(ctx, o.text.Message(false))
}

// ask makes a request and lets the output go on; its answer goes to the program.
func (o *output) ask(ctx context.Context, kind string, line []byte) error {
	ask, ref, err := parseAsk(kind, line)
	if err != nil {
		return err
	}
	select {
	case o.open <- struct{}{}:
	default:
		return fmt.Errorf("the program has more than %d open requests", maxAsks)
	}
	placed := make(chan struct{})
	ask.Queued = sync.OnceFunc(func() { close(placed) })
	failed := make(chan error, 1)
	o.asks.Go(func() {
		defer func() { <-o.open }()
		answer, err := o.turn.Ask(ctx, ask)
		switch {
		case err == nil:
			o.reply(ctx, answerLine(kind, ref, answer, ""))
		case errors.Is(err, agent.ErrExpired):
			o.reply(ctx, answerLine(kind, ref, answer, "expired"))
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

func (o *output) reply(ctx context.Context, line []byte) {
	select {
	case o.answers <- line:
	case <-ctx.Done():
	}
}

func parseAsk(kind string, line []byte) (agent.Ask, json.RawMessage, error) {
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
		return ask, ref, errors.New("the program printed a tool_call without \"name\"")
	}
	return ask, ref, nil
}
