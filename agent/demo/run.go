package demo

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"time"

	"turnlog/agent"
	"turnlog/frame"
)

// hangTime is how long a turn that hangs and ignores its end keeps hanging.
const hangTime = time.Minute

// Agent is the demo agent. The zero value is ready.
type Agent struct{}

var (
	_ agent.Agent       = Agent{}
	_ agent.Restartable = Agent{}
)

// Restartable implements agent.Restartable.
func (Agent) Restartable() bool { return true }

// Run implements agent.Agent.
func (Agent) Run(ctx context.Context, turn agent.Turn) error {
	info := turn.Info()
	s, err := newScript(info)
	if err != nil {
		return err
	}
	p := s.recall(info)
	r := &run{turn: turn, script: s, progress: p, text: frame.Text{Limit: info.FrameLimit / 2}}
	r.repeat()
	return r.play(ctx)
}

// run is one attempt.
type run struct {
	turn     agent.Turn
	script   *script
	progress progress
	text     frame.Text
	content  []byte
	slab     []byte
	next     time.Time
	timer    *time.Timer
}

// repeat fills the text with what earlier attempts said.
func (r *run) repeat() {
	asides := r.progress.Asides
	for n := range r.progress.Said + 1 {
		if n > 0 && !r.text.Cut() {
			r.content = r.script.say(r.content[:0], n)
			r.text.Add(string(r.content))
		}
		for len(asides) > 0 && asides[0].After == n {
			r.text.Add(asides[0].Text)
			asides = asides[1:]
		}
	}
}

func (r *run) play(ctx context.Context) error {
	s := r.script
	for n := r.progress.Said + 1; n <= s.count; n++ {
		if err := r.ask(ctx, n); err != nil {
			return err
		}
		if err := r.pause(ctx); err != nil {
			return err
		}
		switch n {
		case s.FailAt:
			return fmt.Errorf("demo: failed at frame %d as asked", n)
		case s.PanicAt:
			panic(fmt.Sprintf("demo: panic at frame %d as asked", n))
		case s.HangAt:
			return r.hang(ctx)
		}
		if err := r.chunk(ctx, n); err != nil {
			return err
		}
	}
	if err := r.ask(ctx, s.count+1); err != nil {
		return err
	}
	if err := r.steers(ctx); err != nil {
		return err
	}
	if r.progress.hasText {
		return nil
	}
	return r.emit(ctx, r.text.Message(false))
}

func (r *run) chunk(ctx context.Context, n int) error {
	r.content = r.script.say(r.content[:0], n)
	content := string(r.content)
	if err := r.emit(ctx, r.build(content)); err != nil {
		return err
	}
	r.text.Add(content)
	r.progress.Said = n
	if every := r.script.Checkpoint; every > 0 && n%every == 0 {
		state, err := json.Marshal(&r.progress)
		if err != nil {
			return err
		}
		return r.turn.Checkpoint(ctx, state)
	}
	return nil
}

// build makes a chunk. Frames must never be modified after Emit, so fast turns
// cut them from slabs instead of allocating each.
func (r *run) build(content string) []byte {
	size := len(content) + len(content)/8 + 96
	if r.script.interval > 0 || size > 1024 {
		return r.stamp(frame.AppendChunk(make([]byte, 0, size), content))
	}
	if cap(r.slab)-len(r.slab) < size {
		r.slab = make([]byte, 0, 16<<10)
	}
	from := len(r.slab)
	b := r.stamp(frame.AppendChunk(r.slab[from:from:cap(r.slab)], content))
	if from+len(b) <= cap(r.slab) {
		r.slab = r.slab[:from+len(b)]
	}
	return b[:len(b):len(b)]
}

func (r *run) stamp(chunk []byte) []byte {
	if !r.script.Stamp {
		return chunk
	}
	chunk = append(chunk[:len(chunk)-1], `,"content_metadata":{"t":`...)
	chunk = strconv.AppendInt(chunk, time.Now().UnixMicro(), 10)
	return append(chunk, "}}"...)
}

// emit hands a frame over; with ignore_stop it minds nothing.
func (r *run) emit(ctx context.Context, b []byte) error {
	if err := r.turn.Emit(ctx, b); err != nil && !r.script.IgnoreStop {
		return err
	}
	return nil
}

func (r *run) aside(ctx context.Context, text string) error {
	if err := r.emit(ctx, frame.Chunk(text)); err != nil {
		return err
	}
	r.text.Add(text)
	r.progress.add(text)
	return nil
}

// ask makes the requests that are due before chunk n.
func (r *run) ask(ctx context.Context, n int) error {
	for r.progress.Asked < len(r.script.asks) {
		a := r.script.asks[r.progress.Asked]
		if a.at > n {
			return nil
		}
		answer, err := r.turn.Ask(ctx, a.Ask)
		payload := string(answer.Payload)
		switch {
		case errors.Is(err, agent.ErrExpired):
			payload = `{"expired":true}`
		case err != nil && r.script.IgnoreStop:
			payload = "null"
		case err != nil:
			return err
		}
		if err := r.aside(ctx, answerMark+payload+" "); err != nil {
			return err
		}
	}
	return nil
}
