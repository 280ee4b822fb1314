package client

import "encoding/json"

// handleAck settles a command.
func (c *Client) handleAck(in incoming) error {
	var ack Ack
	_ = json.Unmarshal(in.Raw, &ack)
	ack.Raw = in.Raw
	c.mu.Lock()
	if c.reauth.id != "" && in.requestID == c.reauth.id {
		c.reauth.answer <- in
		c.reauth.id = ""
		c.mu.Unlock()
		return nil
	}
	if r := c.resumes[in.requestID]; r != nil {
		delete(c.resumes, in.requestID)
		return c.resumedUnlock(r, ack, in)
	}
	p := c.out.find(in.requestID)
	if p == nil {
		if ack.Message == "Chat turns listed" { // Options.Discover
			c.listed = nil
		}
		c.mu.Unlock()
		if in.failed != "" && c.o.Handler.OnError != nil {
			c.o.Handler.OnError(ack.ThreadID, in.message, firstOf(in.code, in.failed))
		}
		return nil
	}
	if in.code == "draining" && p.command == "chat_message" {
		c.mu.Unlock() // stays queued: the next connection is another node
		return nil
	}
	c.out.remove(p)
	busy := func() {}
	if t := c.threads[p.threadID]; t != nil {
		c.settleLocked(t, p, ack, in.failed != "")
		busy = c.busyLocked(t)
	}
	if p.command == "list_chat_turns" {
		ack.Turns, c.listed = c.listed, nil
	}
	c.mu.Unlock()
	if in.failed != "" {
		p.resolve(ack, &Refused{
			Command: p.command, Code: firstOf(in.code, in.failed), Message: in.message, Retryable: in.retryable,
		})
	} else {
		p.resolve(ack, nil)
	}
	busy()
	return nil
}

// resumedUnlock settles a resume and unlocks.
func (c *Client) resumedUnlock(r *resume, ack Ack, in incoming) error {
	t := r.thread
	if in.failed == "" {
		c.mu.Unlock()
		if f := c.o.Handler.OnResumed; f != nil && r.header != nil {
			f(Resumed{
				ThreadID: t.id, Status: r.header.Status,
				Replayed: ack.ReplayCount, Incomplete: r.header.ReplayIncomplete,
			})
		}
		return nil
	}
	if in.retryable {
		c.mu.Unlock()
		return errResumeRefused // a new connection tries again, with backoff
	}
	c.stepLocked(t, resumeRefused{})
	busy := c.busyLocked(t)
	c.mu.Unlock()
	if f := c.o.Handler.OnError; f != nil {
		f(t.id, in.message, firstOf(in.code, in.failed))
	}
	busy()
	return nil
}

// settleLocked applies a command's answer to its thread.
func (c *Client) settleLocked(t *tracked, p *Pending, ack Ack, failed bool) {
	switch {
	case p.command == "chat_message" && failed:
		c.stepLocked(t, refused{})
	case p.command == "chat_message":
		c.stepLocked(t, accepted{ack})
	case p.command == "follow" && !failed:
		c.stepLocked(t, followed{ack})
	}
}

func firstOf(a, b string) string {
	if a != "" {
		return a
	}
	return b
}
