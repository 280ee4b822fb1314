package agenttest

import (
	"context"
	"encoding/json"
	"errors"
	"strconv"
	"sync"
	"testing"
	"time"

	"turnlog/agent"
	"turnlog/frame"
)

// Turn is an agent.Turn in memory. Its exported fields are set before the agent
// starts. It is safe for concurrent use.
type Turn struct {
	// Emitting is called before each frame (the n-th, 1-based) is recorded; an
	// error refuses it. It must not call the turn's methods, except StateLocked.
	Emitting func(n int, frame []byte) error
	// Asking answers requests; nil lets every Ask wait until its context ends.
	Asking func(ctx context.Context, ask agent.Ask) (json.RawMessage, error)
	// Rows is the history.
	Rows []json.RawMessage
	// Discard counts frames instead of keeping them.
	Discard bool

	info    agent.Info
	inputs  chan agent.Input
	mu      sync.Mutex
	changed chan struct{}
	frames  []json.RawMessage
	count   int
	asks    []agent.Ask
	state   []byte
	usage   json.RawMessage
}

var (
	_ agent.Turn          = (*Turn)(nil)
	_ agent.UsageReporter = (*Turn)(nil)
)

// New returns a turn; missing parts of info get useful values.
func New(info agent.Info) *Turn {
	if info.User == "" {
		info.User = "alice"
	}
	if info.ThreadID == "" {
		info.ThreadID = "thread"
	}
	if info.TurnID == "" {
		info.TurnID = "turn"
	}
	if info.Attempt == 0 {
		info.Attempt = 1
	}
	if info.FrameLimit == 0 {
		info.FrameLimit = 1 << 20
	}
	return &Turn{info: info, inputs: make(chan agent.Input), changed: make(chan struct{})}
}

// Info implements agent.Turn.
func (t *Turn) Info() agent.Info { return t.info }

// Inputs implements agent.Turn.
func (t *Turn) Inputs() <-chan agent.Input { return t.inputs }

// Emit implements agent.Turn.
func (t *Turn) Emit(ctx context.Context, b []byte) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	_, clean, err := frame.Check(b, t.info.FrameLimit)
	switch {
	case errors.Is(err, frame.ErrTooLarge):
		return agent.ErrFrameTooLarge
	case err != nil:
		return agent.ErrInvalidFrame
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.Emitting != nil {
		if err := t.Emitting(t.count+1, clean); err != nil {
			return err
		}
	}
	t.count++
	if !t.Discard {
		t.frames = append(t.frames, clean)
		t.notifyLocked()
	}
	return nil
}

// Ask implements agent.Turn.
func (t *Turn) Ask(ctx context.Context, ask agent.Ask) (agent.Answer, error) {
	t.mu.Lock()
	queued := ask.Queued
	ask.Queued = nil
	t.asks = append(t.asks, ask)
	id := "request-" + strconv.Itoa(len(t.asks))
	t.notifyLocked()
	t.mu.Unlock()
	if queued != nil {
		queued()
	}
	if t.Asking == nil {
		<-ctx.Done()
		return agent.Answer{}, context.Cause(ctx)
	}
	payload, err := t.Asking(ctx, ask)
	return agent.Answer{RequestID: id, Payload: payload}, err
}

// History implements agent.Turn.
func (t *Turn) History(_ context.Context, limit int) ([]json.RawMessage, error) {
	if limit <= 0 {
		limit = 100
	}
	return t.Rows[max(0, len(t.Rows)-limit):], nil
}

// Checkpoint implements agent.Turn.
func (t *Turn) Checkpoint(_ context.Context, state []byte) error {
	if len(state) > agent.MaxCheckpoint {
		return errors.New("checkpoint too large")
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.state = append([]byte(nil), state...)
	t.notifyLocked()
	return nil
}

// ReportUsage implements agent.UsageReporter.
func (t *Turn) ReportUsage(usage json.RawMessage) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.usage = append(json.RawMessage(nil), usage...)
}

// Usage returns what was last reported.
func (t *Turn) Usage() json.RawMessage {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.usage
}

// StateLocked is State for use inside Emitting: what would travel with the frame.
func (t *Turn) StateLocked() []byte { return t.state }

func (t *Turn) notifyLocked() {
	close(t.changed)
	t.changed = make(chan struct{})
}

// Send gives the agent an input; false when it did not take it before ctx ended.
func (t *Turn) Send(ctx context.Context, in agent.Input) bool {
	select {
	case t.inputs <- in:
		return true
	case <-ctx.Done():
		return false
	}
}

// Frames returns what was emitted.
func (t *Turn) Frames() []json.RawMessage {
	t.mu.Lock()
	defer t.mu.Unlock()
	return append([]json.RawMessage(nil), t.frames...)
}

// Count is the number of frames emitted.
func (t *Turn) Count() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.count
}

// Asks returns the requests made so far.
func (t *Turn) Asks() []agent.Ask {
	t.mu.Lock()
	defer t.mu.Unlock()
	return append([]agent.Ask(nil), t.asks...)
}

// State returns the newest checkpoint.
func (t *Turn) State() []byte {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.state
}

// Text is the concatenation of the chunks so far.
func (t *Turn) Text() string {
	var text string
	for _, f := range t.Frames() {
		if typ, _ := frame.Type(f); typ == "chunk" {
			content, _ := frame.String(f, "content")
			text += content
		}
	}
	return text
}

// Message returns the content of the last message frame, "" without one.
func (t *Turn) Message() string {
	var content string
	for _, f := range t.Frames() {
		if typ, _ := frame.Type(f); typ == "message" {
			content, _ = frame.String(f, "content")
		}
	}
	return content
}

// Await returns once done says so; it is asked again after every change. It
// fails the test after ten seconds.
func (t *Turn) Await(tb testing.TB, what string, done func() bool) {
	tb.Helper()
	deadline := time.NewTimer(10 * time.Second)
	defer deadline.Stop()
	for {
		t.mu.Lock()
		changed := t.changed
		t.mu.Unlock()
		if done() {
			return
		}
		select {
		case <-changed:
		case <-deadline.C:
			tb.Fatalf("still waiting for %s; frames so far: %s", what, t.Frames())
		}
	}
}
