package openai

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"

	"turnlog/agent"
	"turnlog/frame"
)

// conversation is a turn under way.
type conversation struct {
	agent    *Agent
	turn     agent.Turn
	model    string
	messages []wireMessage
	tools    []json.RawMessage // as the model is offered them
	known    map[string]bool   // their names
	allowed  map[string]bool   // tools that need no approval any more
	auto     bool              // permission mode auto: nothing needs one
	usage    usage
}

// Run implements agent.Agent.
func (a *Agent) Run(ctx context.Context, turn agent.Turn) error {
	c, err := a.begin(ctx, turn)
	if err != nil {
		return err
	}
	for rounds := 1; ; rounds++ {
		steered, err := c.takeInputs(ctx)
		if err != nil {
			return err
		}
		if steered {
			rounds = 1
		}
		got, err := c.round(ctx)
		if err != nil {
			return err
		}
		if len(got.calls) > 0 && rounds >= a.options.MaxRounds {
			return &agent.Error{Message: fmt.Sprintf("The model called tools in %d rounds without coming to an end.", rounds), Type: "too_many_rounds"}
		}
		if err := c.keep(ctx, got); err != nil {
			return err
		}
		if len(got.calls) > 0 {
			if err := c.serve(ctx, got.calls); err != nil {
				return err
			}
			continue
		}
		if steered, err = c.takeInputs(ctx); err != nil || !steered {
			return err
		}
		rounds = 0
	}
}

// begin gathers what the first request needs.
func (a *Agent) begin(ctx context.Context, turn agent.Turn) (*conversation, error) {
	info := turn.Info()
	var data struct {
		Model string `json:"model"`
		Mode  string `json:"permission_mode"`
	}
	_ = json.Unmarshal(info.Data, &data) // keys of other shapes ask for nothing
	model, err := a.options.model(data.Model)
	if err != nil {
		return nil, err
	}
	c := &conversation{agent: a, turn: turn, model: model, auto: data.Mode == modeAuto}
	c.offer(info.Tools)
	var rows []json.RawMessage
	if a.options.HistoryMessages > 0 {
		if rows, err = turn.History(ctx, a.options.HistoryMessages); err != nil {
			return nil, err
		}
	}
	c.allowed = allowed(rows)
	if a.options.System != "" {
		c.messages = append(c.messages, wireMessage{Role: "system", Content: a.options.System})
	}
	c.messages = append(c.messages, remember(rows, a.options.HistoryTokens*bytesPerToken)...)
	c.messages = append(c.messages, wireMessage{Role: "user", Content: userContent(info.Message)})
	return c, nil
}

// round sends everything said so far and streams the answer.
func (c *conversation) round(ctx context.Context) (*answer, error) {
	body := make(map[string]any, len(c.agent.options.Params)+6)
	for key, value := range c.agent.options.Params {
		body[key] = value
	}
	body["model"], body["messages"] = c.model, c.messages
	body["stream"], body["stream_options"] = true, map[string]bool{"include_usage": true}
	if len(c.tools) > 0 {
		body["tools"] = c.tools
	}
	encoded, err := json.Marshal(body)
	if err != nil {
		return nil, fmt.Errorf("encode the request: %w", err)
	}
	got, err := (&request{agent: c.agent, turn: c.turn, body: encoded}).ask(ctx)
	if err != nil {
		return nil, err
	}
	if got.usage.Model == "" {
		got.usage.Model = c.model
	}
	c.usage.add(got.usage)
	agent.ReportUsage(c.turn, c.usage.json())
	if got.finish == "content_filter" && got.text.Empty() && len(got.calls) == 0 {
		return nil, &agent.Error{Message: "The model provider withheld the answer (content filter).", Type: "content_filter"}
	}
	return got, nil
}

// keep persists the answer and remembers it for the next round.
func (c *conversation) keep(ctx context.Context, got *answer) error {
	m := wireMessage{Role: "assistant"}
	if !got.text.Empty() {
		m.Content = got.text.String()
	}
	for _, k := range got.calls {
		m.ToolCalls = append(m.ToolCalls, wireCall{k.id, "function", wireFunction{k.name, k.args}})
	}
	if m.Content == nil && len(m.ToolCalls) == 0 {
		return nil
	}
	c.messages = append(c.messages, m)
	row := struct {
		Type      string     `json:"type"`
		Role      string     `json:"role"`
		Content   text       `json:"content"`
		ToolCalls []wireCall `json:"tool_calls,omitempty"`
		Model     string     `json:"model,omitempty"`
		Finish    string     `json:"finish_reason,omitempty"`
		Truncated bool       `json:"truncated,omitempty"`
	}{Type: "message", Role: "assistant", Content: text(got.text.String()), ToolCalls: m.ToolCalls, Model: c.model, Truncated: got.text.Cut()}
	if got.finish != "stop" && got.finish != "tool_calls" {
		row.Finish = clip(got.finish)
	}
	return c.emit(ctx, row)
}

// takeInputs takes what the user said meanwhile; true when there was a message.
func (c *conversation) takeInputs(ctx context.Context) (bool, error) {
	steered := false
	for {
		select {
		case in, open := <-c.turn.Inputs():
			switch {
			case !open:
				return steered, nil
			case in.Kind == agent.InputPermissionMode:
				c.auto = in.Mode == modeAuto
			case in.Kind == agent.InputSteer:
				if err := c.steer(ctx, in.Message); err != nil {
					return steered, err
				}
				steered = true
			}
		default:
			return steered, nil
		}
	}
}

// steer adds a message of the user to the conversation and to the history.
func (c *conversation) steer(ctx context.Context, message json.RawMessage) error {
	content := userContent(message)
	c.messages = append(c.messages, wireMessage{Role: "user", Content: content})
	return c.emit(ctx, struct {
		Type    string `json:"type"`
		Role    string `json:"role"`
		Content any    `json:"content"`
		Steer   bool   `json:"steer"`
	}{"message", "user", content, true})
}

func (c *conversation) emit(ctx context.Context, v any) error {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return err
	}
	return c.turn.Emit(ctx, frame.Repair(b.Bytes()))
}

// text is a string that takes no more room in JSON than frame.Text has counted.
type text string

// MarshalJSON implements json.Marshaler.
func (t text) MarshalJSON() ([]byte, error) { return frame.AppendString(nil, string(t)), nil }
