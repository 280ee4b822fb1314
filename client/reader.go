package client

import (
	"context"
	"encoding/json"
	"time"
)

// read takes messages until the connection is lost; online is called with the first.
func (c *Client) read(ctx context.Context, s socket, p *pulse, online func(welcome)) error {
	for first := true; ; {
		p.listen()
		b, err := s.Read(ctx)
		if p.heard() {
			return errSilent
		}
		if err != nil {
			return err
		}
		c.mu.Lock()
		c.lastRead = time.Now()
		c.mu.Unlock()
		if f := c.o.Handler.OnRaw; f != nil {
			f(b)
		}
		all, err := decode(b)
		if err != nil {
			return err
		}
		for _, in := range all {
			if first {
				first = false
				online(readWelcome(in))
			}
			if err := c.handle(in); err != nil {
				return err
			}
		}
	}
}

// welcome is what a server says first.
type welcome struct {
	Node       string    `json:"node"`
	ServerTime time.Time `json:"server_time"`
}

// skew is the server's clock minus ours, 0 when it does not say.
func (w welcome) skew(now time.Time) time.Duration {
	if w.ServerTime.IsZero() {
		return 0
	}
	return w.ServerTime.Sub(now)
}

func readWelcome(in incoming) (w welcome) {
	if in.Type == "welcome" {
		_ = json.Unmarshal(in.Raw, &w)
	}
	return w
}
