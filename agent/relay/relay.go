package relay

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"sync"

	"turnlog/agent"
	"turnlog/frame"
)

const (
	// maxText is the longest piece of text in one chunk, in bytes.
	maxText = 16 << 10
	// maxAsks is how many requests of a turn may be open at once.
	maxAsks = 64
)

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

// Refusal is a line that cannot be what it seems: the sentence says why.
type Refusal string

// Error implements error.
func (r Refusal) Error() string { return string(r) }

// refuse builds the Refusal of what the agent said.
func (o *Relay) refuse(format string, args ...any) error {
	return Refusal(o.who + fmt.Sprintf(format, args...))
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
			return true, o.refuse(" a checkpoint without \"state\"")
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
		return true, o.refuse(" a line of type %q, which is one that it reads: does it repeat its input? Filters want stdin \"text\"", typ)
	case frame.Reserved(typ):
		return true, o.refuse(" a frame of type %q, which only the runtime may emit", typ)
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
