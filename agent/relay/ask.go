package relay

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"turnlog/agent"
	"turnlog/frame"
)

// askOrder bounds how long output waits for a request to get its place.
const askOrder = 100 * time.Millisecond

// requests are the frame types that ask the viewers something.
var requests = map[string]string{
	"tool_call":             agent.KindToolCall,
	"tool_approval_request": agent.KindToolApproval,
	"plan_approval_request": agent.KindPlanApproval,
	"secret_request":        agent.KindSecret,
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
		return o.refuse(" more than %d requests that are open at once", maxAsks)
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
	switch {
	case kind == agent.KindToolCall && ask.Name == "":
		return ask, ref, o.refuse(" a tool_call without \"name\"")
	case kind == agent.KindToolApproval && ask.Name == "":
		return ask, ref, o.refuse(" a tool_approval_request without \"tool_name\"")
	}
	return ask, ref, nil
}
