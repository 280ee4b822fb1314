package client

import (
	"context"
	"encoding/json"
	"fmt"
)

// Tool is a function of this process that agents may call.
type Tool struct {
	Name        string
	Description string
	Parameters  json.RawMessage // JSON schema; nil = an object without properties

	// Run executes one call on a goroutine of its own. ctx ends when the call
	// needs no answer any more, or at Close, which waits for it. The result
	// must be encodable as JSON.
	Run func(ctx context.Context, call Call) (result any, err error)
}

// Call is one call of a Tool.
type Call struct {
	ThreadID string
	ID       string
	Args     json.RawMessage
}

// manifest announces the tools; nil without any.
func manifest(tools []Tool) []byte {
	if len(tools) == 0 {
		return nil
	}
	type entry struct {
		Name        string          `json:"name"`
		Description string          `json:"description"`
		Parameters  json.RawMessage `json:"parameters"`
	}
	list := make([]entry, 0, len(tools))
	for _, t := range tools {
		if t.Parameters == nil {
			t.Parameters = json.RawMessage(`{"type":"object","properties":{}}`)
		}
		list = append(list, entry{t.Name, t.Description, t.Parameters})
	}
	b, err := json.Marshal(map[string]any{"type": "client_tools_manifest", "tools": list})
	if err != nil {
		return nil // Parameters is no JSON: the tools are not announced
	}
	return b
}

// requested takes a request frame: runs its tool, repeats a known answer, or
// hands it to the handler.
func (c *Client) requested(req Request) {
	var tool *Tool
	if req.Type == "tool_call" {
		for i := range c.o.Tools {
			if c.o.Tools[i].Name == req.Name {
				tool = &c.o.Tools[i]
			}
		}
	}
	c.mu.Lock()
	known, fresh, repeat := c.requests.see(req.ID, req.ThreadID, req.Type, c.conn)
	if repeat != nil {
		c.out.push(repeat, nil)
	}
	if !fresh || c.closed {
		c.mu.Unlock()
		return
	}
	if tool == nil {
		c.mu.Unlock()
		if f := c.o.Handler.OnRequest; f != nil {
			f(req)
		}
		return
	}
	ctx, cancel := context.WithCancelCause(c.runCtx)
	known.cancel = cancel
	c.tools.Add(1)
	c.mu.Unlock()
	go func() {
		defer c.tools.Done()
		defer cancel(nil)
		result, err := runTool(ctx, tool, Call{ThreadID: req.ThreadID, ID: req.ID, Args: req.Args})
		if ctx.Err() != nil {
			return // nobody waits
		}
		if c.AnswerTool(req.ThreadID, req.ID, result, err) != nil {
			// Full queue or a result that is no JSON. With the first the
			// answer is remembered and repeated when the server asks again.
			c.o.Logger.Debug("tool answer not queued", "request_id", req.ID)
		}
	}()
}

// runTool turns a panic into an error: a tool must not take its process down.
func runTool(ctx context.Context, t *Tool, call Call) (result any, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("tool %s panicked: %v", t.Name, p)
		}
	}()
	result, err = t.Run(ctx, call)
	if err == nil {
		if _, jsonErr := json.Marshal(result); jsonErr != nil {
			return nil, fmt.Errorf("tool %s: result: %w", t.Name, jsonErr)
		}
	}
	return result, err
}

func (c *Client) requestClosed(f Frame) {
	var v struct {
		RequestID string `json:"request_id"`
		Reason    string `json:"reason"`
	}
	if f.Decode(&v) != nil || v.RequestID == "" {
		return
	}
	c.mu.Lock()
	c.requests.end(v.RequestID, v.Reason)
	c.mu.Unlock()
	if h := c.o.Handler.OnRequestClosed; h != nil {
		h(f.ThreadID, v.RequestID, v.Reason)
	}
}
