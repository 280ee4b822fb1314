package client

import "time"

// Wake says that the network may be back, or that somebody wants to know: a wait for the
// next attempt ends now, and a connection that looks open has 5 s to prove it.
func (c *Client) Wake() {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.pulse != nil && c.pulse.probe():
		c.out.push([]byte(`{"type":"ping"}`), nil)
	case c.waiting != nil && !time.Now().Before(c.hold):
		close(c.waiting)
		c.waiting = nil
	}
}

// wakeable returns what the next Wake closes.
func (c *Client) wakeable() <-chan struct{} {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.waiting = make(chan struct{})
	return c.waiting
}

// Drop cuts the connection without a goodbye, as a lost network would, and
// comes back after at least wait. For tests and demonstrations.
func (c *Client) Drop(wait time.Duration) {
	c.mu.Lock()
	s := c.socket
	c.hold = time.Now().Add(wait)
	c.mu.Unlock()
	if s != nil {
		_ = s.CloseNow()
	}
}

func (c *Client) held() time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	return time.Until(c.hold)
}
