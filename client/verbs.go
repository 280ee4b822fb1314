package client

import (
	"crypto/rand"
	"encoding/json"
	"fmt"
	"maps"
)

// Message is what a user says.
type Message struct {
	// ID is the idempotency key, kept by the server for 24 h. Empty = minted.
	ID string
	// Content is a string or a non-empty list of content blocks.
	Content any
	// Role defaults to "user" on the server.
	Role string
	// Agent names the agent; empty = the server's default.
	Agent string
	// OnBusy is supersede, reject or enqueue; empty = the server's default.
	OnBusy string
	// OnDisconnect is cancel, grace or preserve; empty = the thread's.
	OnDisconnect string
	// Extra are further keys for the agent.
	Extra map[string]any
}

// Send submits a message and follows its thread. It returns at once; offline it is queued.
// The Pending's Ack says which turn it became. Send fails with ErrQueueFull,
// ErrTooLarge, ErrClosed, or when the message cannot be encoded.
func (c *Client) Send(threadID string, m Message) (*Pending, error) {
	if m.ID == "" {
		m.ID = newID()
	}
	data := map[string]any{}
	maps.Copy(data, m.Extra)
	data["thread_id"], data["id"], data["content"] = threadID, m.ID, m.Content
	put(data, "role", m.Role)
	put(data, "agent", m.Agent)
	put(data, "on_busy", m.OnBusy)
	put(data, "on_disconnect", m.OnDisconnect)
	return c.submit(&Pending{ID: m.ID, command: "chat_message", threadID: threadID}, data)
}

// Steer adds input to the running turn; it becomes the next turn if that one
// ends first.
func (c *Client) Steer(threadID, content string) (*Pending, error) {
	id := newID()
	return c.submit(&Pending{ID: id, command: "steer", threadID: threadID},
		map[string]any{"thread_id": threadID, "content": content, "id": id})
}

// Stop ends whatever runs on the thread and drops what is queued behind it.
// Sent again after a lost connection it touches only the turn it was meant for.
func (c *Client) Stop(threadID string) (*Pending, error) {
	p := &Pending{command: "stop", threadID: threadID}
	if turn := c.Thread(threadID).TurnID; turn != "" {
		return c.submitAgain(p, map[string]any{"thread_id": threadID},
			map[string]any{"thread_id": threadID, "turn_id": turn})
	}
	return c.submit(p, map[string]any{"thread_id": threadID})
}

// StopTurn ends one running or queued turn and no other.
func (c *Client) StopTurn(threadID, turnID string) (*Pending, error) {
	return c.submit(&Pending{command: "stop", threadID: threadID},
		map[string]any{"thread_id": threadID, "turn_id": turnID})
}

// SetPolicy raises the running turn's policy (scope "turn") or sets the thread's
// default (scope "thread"). The Ack's OnDisconnect is the effective one.
func (c *Client) SetPolicy(threadID, policy, scope string) (*Pending, error) {
	data := map[string]any{"thread_id": threadID, "on_disconnect": policy}
	put(data, "scope", scope)
	return c.submit(&Pending{command: "set_policy", threadID: threadID}, data)
}

// SetPermissionMode tells the running turn's agent how to treat approvals;
// "auto" also allows the open ones.
func (c *Client) SetPermissionMode(threadID, mode string) (*Pending, error) {
	return c.submit(&Pending{command: "set_permission_mode", threadID: threadID},
		map[string]any{"thread_id": threadID, "permission_mode": mode})
}

// ListTurns asks for the user's running turns. Those on threads this Client does
// not follow are followed unless Options.Adopt says no.
func (c *Client) ListTurns() (*Pending, error) {
	return c.submit(&Pending{command: "list_chat_turns"}, nil)
}

// OpenOptions say where to go on with a thread.
type OpenOptions struct {
	LastSeq      int64  // cursor of an earlier life; 0 = fresh
	Epoch        string // epoch LastSeq belongs to
	Full         bool   // everything the server still holds
	OnDisconnect string // raises the running turn's policy
}

// Open resumes a thread and keeps it open: it is resumed at every reconnect, also
// while idle. OnHeader and OnResumed report. It replaces the cursor of a
// thread that is already known only when it gives one.
func (c *Client) Open(threadID string, o OpenOptions) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return ErrClosed
	}
	c.stepLocked(c.threadLocked(threadID), opened{o, c.socket != nil})
	return nil
}

// Follow delivers the thread's frames from now on, without a replay; after a lost
// connection it goes on without a hole. Its Ack holds position and status.
func (c *Client) Follow(threadID string) (*Pending, error) {
	c.mu.Lock()
	c.threadLocked(threadID)
	c.mu.Unlock()
	return c.submit(&Pending{command: "follow", threadID: threadID}, map[string]any{"thread_id": threadID})
}

// Unfollow stops following; for the server that is a viewer leaving.
func (c *Client) Unfollow(threadID string) (*Pending, error) {
	c.mu.Lock()
	delete(c.threads, threadID)
	c.mu.Unlock()
	return c.submit(&Pending{command: "unfollow", threadID: threadID}, map[string]any{"thread_id": threadID})
}

func (c *Client) submit(p *Pending, data any) (*Pending, error) {
	return c.submitAgain(p, data, nil)
}

// submitAgain queues a command; again is its data for a second try.
func (c *Client) submitAgain(p *Pending, data, again any) (*Pending, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return nil, ErrClosed
	}
	p.ackID, p.done = c.requestIDLocked(), make(chan struct{})
	var err error
	if p.wire, err = marshalCommand(p.command, data, p.ackID); err != nil {
		return nil, fmt.Errorf("%s: %w", p.command, err)
	}
	if again != nil {
		if p.again, err = marshalCommand(p.command, again, p.ackID); err != nil {
			return nil, fmt.Errorf("%s: %w", p.command, err)
		}
	}
	if len(p.wire) > c.o.MaxMessage {
		return nil, fmt.Errorf("%s: %w: %d bytes, limit %d", p.command, ErrTooLarge, len(p.wire), c.o.MaxMessage)
	}
	if err := c.out.add(p, c.socket != nil); err != nil {
		return nil, err
	}
	if p.command == "chat_message" {
		c.stepLocked(c.threadLocked(p.threadID), sent{})
	}
	return p, nil
}

func put(m map[string]any, key, v string) {
	if v != "" {
		m[key] = v
	}
}

// newID mints an idempotency key.
func newID() string { return "m-" + rand.Text() }

// control queues a control frame; it is settled once it is written.
func (c *Client) control(requestID string, frame map[string]any) error {
	wire, err := json.Marshal(frame)
	if err != nil {
		return fmt.Errorf("answer: %w", err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return ErrClosed
	}
	if len(wire) > c.o.MaxMessage {
		return fmt.Errorf("answer: %w: %d bytes, limit %d", ErrTooLarge, len(wire), c.o.MaxMessage)
	}
	online := c.socket != nil
	conn := uint64(0)
	if online {
		conn = c.conn
	}
	c.requests.answered(requestID, wire, conn)
	return c.out.add(&Pending{wire: wire, answers: requestID, done: make(chan struct{})}, online)
}
