package coalesce

import (
	"context"
	"encoding/json"
	"errors"
	"sync"
	"time"

	"turnlog/agent"
	"turnlog/frame"
)

// Options say how long text is held back. At least one of the two is needed.
type Options struct {
	// For is the longest time that text waits for more; 0 = until Bytes are there
	// or something else is emitted.
	For time.Duration
	// Bytes is how much text makes a chunk; 0 = 4096. Chunks may be larger by one delta.
	Bytes int
}

// defaultBytes bounds what is held back when only a time is given.
const defaultBytes = 4096

// Agent is an agent whose deltas are gathered.
type Agent struct {
	inner   agent.Agent
	options Options
}

var (
	_ agent.Agent         = (*Agent)(nil)
	_ agent.Restartable   = (*Agent)(nil)
	_ agent.Turn          = (*turn)(nil)
	_ agent.UsageReporter = (*turn)(nil)
)

// New decorates an agent. An impossible option is an error.
func New(inner agent.Agent, options Options) (*Agent, error) {
	if options.For < 0 || options.Bytes < 0 || (options.For == 0 && options.Bytes == 0) {
		return nil, errors.New("coalescing needs a positive time or size")
	}
	if options.Bytes == 0 {
		options.Bytes = defaultBytes
	}
	return &Agent{inner: inner, options: options}, nil
}

// Restartable implements agent.Restartable.
func (a *Agent) Restartable() bool {
	inner, ok := a.inner.(agent.Restartable)
	return ok && inner.Restartable()
}

// Run implements agent.Agent.
func (a *Agent) Run(ctx context.Context, inner agent.Turn) (err error) {
	t := &turn{Turn: inner, ctx: ctx, options: a.options}
	t.options.Bytes = min(t.options.Bytes, max(inner.Info().FrameLimit/8, 1))
	defer func() { // also when the agent panics: what it said was said
		if last := t.close(); err == nil {
			err = last
		}
	}()
	return a.inner.Run(ctx, t)
}

// turn holds text back for a while.
type turn struct {
	agent.Turn
	ctx     context.Context // of the attempt, for text that is sent on when its time is over
	options Options

	mu       sync.Mutex // held while the inner turn is called, so that frames keep their order
	held     []byte
	thinking bool
	timer    *time.Timer
	failure  error // of text that was sent on by the timer
	closed   bool
}

// Unwrap returns the turn behind this one.
func (t *turn) Unwrap() agent.Turn { return t.Turn }

// ReportUsage implements agent.UsageReporter.
func (t *turn) ReportUsage(usage json.RawMessage) { agent.ReportUsage(t.Turn, usage) }

// Emit implements agent.Turn.
func (t *turn) Emit(ctx context.Context, b []byte) error {
	text, thinking, plain := delta(b)
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.failure != nil {
		return t.failure
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if !plain || t.closed || len(text) >= t.options.Bytes {
		if err := t.flushLocked(ctx); err != nil {
			return err
		}
		return t.Turn.Emit(ctx, b)
	}
	if len(t.held) > 0 && thinking != t.thinking {
		if err := t.flushLocked(ctx); err != nil {
			return err
		}
	}
	if len(t.held) == 0 && t.options.For > 0 {
		t.startLocked()
	}
	t.held, t.thinking = append(t.held, text...), thinking
	if len(t.held) >= t.options.Bytes {
		return t.flushLocked(ctx)
	}
	return nil
}

// Ask implements agent.Turn.
func (t *turn) Ask(ctx context.Context, ask agent.Ask) (agent.Answer, error) {
	if err := t.flush(ctx); err != nil {
		return agent.Answer{}, err
	}
	return t.Turn.Ask(ctx, ask)
}

// Checkpoint implements agent.Turn.
func (t *turn) Checkpoint(ctx context.Context, state []byte) error {
	if err := t.flush(ctx); err != nil {
		return err
	}
	return t.Turn.Checkpoint(ctx, state)
}

func (t *turn) flush(ctx context.Context) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.failure != nil {
		return t.failure
	}
	return t.flushLocked(ctx)
}

// flushLocked sends on what is held back.
func (t *turn) flushLocked(ctx context.Context) error {
	if t.timer != nil {
		t.timer.Stop()
		t.timer = nil
	}
	if len(t.held) == 0 {
		return nil
	}
	text := string(t.held)
	t.held = t.held[:0]
	if t.thinking {
		return t.Turn.Emit(ctx, frame.AppendThinking(nil, text))
	}
	return t.Turn.Emit(ctx, frame.Chunk(text))
}

// startLocked sends text on when its time is over.
func (t *turn) startLocked() {
	var timer *time.Timer
	timer = time.AfterFunc(t.options.For, func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		if t.timer == timer && t.failure == nil {
			t.failure = t.flushLocked(t.ctx)
		}
	})
	t.timer = timer
}

// close sends on the rest; afterwards nothing is held back any more.
func (t *turn) close() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.closed = true
	if t.failure != nil {
		return t.failure
	}
	return t.flushLocked(t.ctx)
}

// delta reads a chunk that has no other keys than content and thinking.
func delta(b []byte) (text string, thinking, plain bool) {
	if typ, err := frame.Type(b); err != nil || typ != "chunk" {
		return "", false, false
	}
	text, plain = frame.String(b, "content")
	if !plain {
		return "", false, false
	}
	raw, has := frame.Raw(b, "thinking")
	thinking = has && string(raw) == "true"
	want := 2
	if thinking {
		want = 3
	}
	return text, thinking, frame.Keys(b) == want
}
