package client

import (
	"encoding/json"
	"errors"
	"fmt"
)

var errResumeRefused = errors.New("resume refused for now")

// handle takes one object from the server. An error ends the connection.
func (c *Client) handle(in incoming) error {
	switch in.Type {
	case "":
		return c.handleAck(in)
	case "welcome", "pong":
	case "ping":
		c.mu.Lock()
		c.out.push([]byte(`{"type":"pong"}`), nil)
		c.mu.Unlock()
	case "chat_resumed":
		return c.handleHeader(in)
	case "chat_turn_active":
		c.handleActive(in)
	default:
		c.handleFrame(in.Frame)
	}
	return nil
}

func (c *Client) handleHeader(in incoming) error {
	var h Header
	if err := json.Unmarshal(in.Raw, &h); err != nil {
		return fmt.Errorf("%w: chat_resumed: %v", ErrProtocol, err)
	}
	c.mu.Lock()
	t := c.threadLocked(h.ThreadID)
	reconcile := c.stepLocked(t, header{h}).reconcile
	for _, r := range c.resumes {
		if r.thread == t && r.header == nil {
			r.header = &h
		}
	}
	busy := c.busyLocked(t)
	c.mu.Unlock()

	if f := c.o.Handler.OnHeader; f != nil {
		f(h)
	}
	if f := c.o.Handler.OnReconcile; reconcile && f != nil {
		f(Reconcile{ThreadID: h.ThreadID, Status: h.Status, Header: h})
	}
	busy()
	return nil
}

// handleActive follows a running turn that was listed, unless it is followed.
func (c *Client) handleActive(in incoming) {
	var turn RunningTurn
	if json.Unmarshal(in.Raw, &turn) != nil || turn.ThreadID == "" {
		return
	}
	c.mu.Lock()
	c.listed = append(c.listed, turn)
	_, known := c.threads[turn.ThreadID]
	c.mu.Unlock()
	if !known && !c.o.Adopt(turn.ThreadID) {
		return
	}
	c.mu.Lock()
	t := c.threadLocked(turn.ThreadID)
	c.stepLocked(t, listed{turn.TurnID})
	busy := c.busyLocked(t)
	c.mu.Unlock()
	busy()
}

// handleFrame takes a frame of a thread, or an unnumbered one.
func (c *Client) handleFrame(f Frame) {
	if f.ThreadID == "" {
		c.deliver(f)
		return
	}
	c.mu.Lock()
	t := c.threads[f.ThreadID]
	if t == nil { // not followed (any more): only what is about a command of ours
		c.mu.Unlock()
		if f.Seq == 0 {
			c.deliver(f)
		}
		return
	}
	if !c.stepLocked(t, arrived{f}).deliver {
		c.mu.Unlock()
		return
	}
	if f.Type == "turn_finished" {
		c.requests.endTurn(f.ThreadID)
	}
	busy := c.busyLocked(t)
	c.mu.Unlock()
	c.deliver(f)
	busy()
}

// deliver calls the handler for a new frame.
func (c *Client) deliver(f Frame) {
	h := &c.o.Handler
	if h.OnFrame != nil {
		h.OnFrame(f)
	}
	switch f.Type {
	case "chunk":
		if h.OnText != nil {
			if s := chunkText(f); s != "" {
				h.OnText(f.ThreadID, s)
			}
		}
	case "turn_started":
		if h.OnTurn != nil {
			h.OnTurn(readTurn(f))
		}
	case "message":
		if h.OnMessage != nil {
			h.OnMessage(f.ThreadID, f.Raw)
		}
	case "turn_finished":
		if h.OnFinish != nil {
			h.OnFinish(readFinish(f))
		}
	case "error":
		if h.OnError != nil {
			var v struct {
				Message string `json:"message"`
				Code    string `json:"code"`
			}
			_ = f.Decode(&v)
			h.OnError(f.ThreadID, v.Message, v.Code)
		}
	case "request_closed":
		c.requestClosed(f)
	default:
		if req, ok := requestFrame(f); ok {
			c.requested(req)
		}
	}
}

func readTurn(f Frame) Turn {
	var v struct {
		Attempt int             `json:"attempt"`
		Message json.RawMessage `json:"message"`
	}
	_ = f.Decode(&v)
	return Turn{ThreadID: f.ThreadID, TurnID: f.TurnID, Attempt: max(v.Attempt, 1), Message: v.Message}
}

func readFinish(f Frame) Finish {
	var v struct {
		Outcome string          `json:"outcome"`
		Error   string          `json:"error"`
		Usage   json.RawMessage `json:"usage"`
	}
	_ = f.Decode(&v)
	return Finish{ThreadID: f.ThreadID, TurnID: f.TurnID, Outcome: v.Outcome, Error: v.Error, Usage: v.Usage}
}

// chunkText is the visible text of a chunk.
func chunkText(f Frame) string {
	var v struct {
		Content     any    `json:"content"`
		ContentType string `json:"content_type"`
		Thinking    bool   `json:"thinking"`
	}
	if f.Decode(&v) != nil || v.Thinking || (v.ContentType != "" && v.ContentType != "text") {
		return ""
	}
	s, _ := v.Content.(string)
	return s
}
