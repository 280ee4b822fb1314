package openai

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"sync"

	"turnlog/agent"
)

// Decisions and modes of the wire.
const (
	allowOnce    = "allow"
	allowForChat = "allow_for_chat"
	modeAuto     = "auto"
)

// offer makes the model's tools of the clients' manifest.
func (c *conversation) offer(manifest json.RawMessage) {
	var tools []struct {
		Name        string          `json:"name"`
		Description string          `json:"description"`
		Parameters  json.RawMessage `json:"parameters"`
	}
	if json.Unmarshal(manifest, &tools) != nil {
		return
	}
	c.known = make(map[string]bool, len(tools))
	for _, t := range tools {
		if t.Name == "" || c.known[t.Name] {
			continue
		}
		c.known[t.Name] = true
		parameters := t.Parameters
		if len(parameters) == 0 || parameters[0] != '{' {
			parameters = json.RawMessage(`{"type":"object","properties":{}}`)
		}
		function := map[string]any{"name": t.Name, "parameters": parameters}
		if t.Description != "" {
			function["description"] = t.Description
		}
		b, err := json.Marshal(map[string]any{"type": "function", "function": function})
		if err == nil {
			c.tools = append(c.tools, b)
		}
	}
}

// result is what a call came to.
type result struct {
	content  string
	approval string // allow_for_chat when the user said so
}

// serve runs the calls side by side. Their requests appear in the order of the
// calls, their results as they come; the model gets them in order.
func (c *conversation) serve(ctx context.Context, list []call) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	results := make([]result, len(list))
	var running sync.WaitGroup
	for i, k := range list {
		placed := make(chan struct{})
		queued := sync.OnceFunc(func() { close(placed) })
		needs := c.needsApproval(k.name)
		running.Go(func() {
			defer queued()
			var err error
			if results[i], err = c.run(ctx, k, needs, queued); err == nil {
				err = c.emitResult(ctx, k, results[i])
			}
			if err != nil {
				cancel(err)
			}
		})
		select {
		case <-placed:
		case <-ctx.Done():
		}
	}
	running.Wait()
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	for i, k := range list {
		c.messages = append(c.messages, wireMessage{Role: "tool", Content: results[i].content, ToolCallID: k.id})
		if results[i].approval == allowForChat {
			c.allowed[k.name] = true
		}
	}
	return nil
}

func (c *conversation) needsApproval(tool string) bool {
	names := c.agent.options.Approve
	return !c.auto && !c.allowed[tool] && (slices.Contains(names, tool) || slices.Contains(names, "*"))
}

// run carries out one call. What goes wrong with it is told to the model; an
// error means that the turn cannot go on.
func (c *conversation) run(ctx context.Context, k call, needsApproval bool, queued func()) (result, error) {
	args, err := k.object()
	switch {
	case !c.known[k.name]:
		return result{content: "Error: there is no tool of this name."}, nil
	case err != nil:
		return result{content: "Error: " + err.Error() + "."}, nil
	}
	var out result
	fields := map[string]any{"args": args, "call_id": k.id}
	if needsApproval {
		answer, err := c.turn.Ask(ctx, agent.Ask{Kind: agent.KindToolApproval, Name: k.name, Fields: fields, Queued: queued})
		if err != nil {
			return out, err
		}
		var said struct {
			Decision string `json:"decision"`
			Feedback string `json:"feedback"`
		}
		_ = json.Unmarshal(answer.Payload, &said) // anything unreadable is no permission
		if said.Decision != allowOnce && said.Decision != allowForChat {
			out.content = "The user denied this call; it was not carried out."
			if said.Feedback != "" {
				out.content += " The user says: " + said.Feedback
			}
			return out, nil
		}
		if said.Decision == allowForChat {
			out.approval = allowForChat
		}
	}
	answer, err := c.turn.Ask(ctx, agent.Ask{Kind: agent.KindToolCall, Name: k.name, Fields: fields, Queued: queued})
	switch {
	case errors.Is(err, agent.ErrExpired):
		out.content = agent.NoResult
	case err != nil:
		return out, err
	default:
		out.content = agent.ResultText(answer.Payload, c.turn.Info().FrameLimit/4)
	}
	return out, nil
}

func (c *conversation) emitResult(ctx context.Context, k call, r result) error {
	return c.emit(ctx, struct {
		Type     string `json:"type"`
		Role     string `json:"role"`
		CallID   string `json:"tool_call_id"`
		Name     string `json:"name"`
		Content  text   `json:"content"`
		Approval string `json:"approval,omitempty"`
	}{"message", "tool", k.id, k.name, text(r.content), r.approval})
}
