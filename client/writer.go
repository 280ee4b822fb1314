package client

import (
	"context"
	"fmt"
	"time"
)

// write sends what is queued until ctx ends or a write fails.
func (c *Client) write(ctx context.Context, s socket) error {
	beat := time.NewTicker(max(c.o.Silence/4, time.Millisecond))
	defer beat.Stop()
	for {
		if err := c.drain(ctx, s); err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return context.Canceled
		case <-c.out.wake:
		case now := <-beat.C:
			if err := c.beat(now); err != nil {
				return err
			}
		}
	}
}

// drain writes everything that is queued.
func (c *Client) drain(ctx context.Context, s socket) error {
	for ctx.Err() == nil {
		c.mu.Lock()
		m, ok := c.out.take()
		c.mu.Unlock()
		if !ok {
			return nil
		}
		wctx, cancel := context.WithTimeout(ctx, writeTimeout)
		err := s.Write(wctx, m.wire)
		cancel()
		if err != nil {
			return fmt.Errorf("write: %w", err)
		}
		c.written(m.pending)
	}
	return nil
}

// written settles a control frame, which is never acknowledged.
func (c *Client) written(p *Pending) {
	if p == nil {
		return
	}
	c.mu.Lock()
	p.tried = true
	if p.again != nil {
		p.wire, p.again = p.again, nil
	}
	settled := p.ackID == "" && c.out.remove(p)
	c.mu.Unlock()
	if settled {
		p.resolve(Ack{}, nil)
	}
}

// beat pings a quiet server and gives up on a resume that is never answered.
func (c *Client) beat(now time.Time) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if now.Sub(c.lastRead) >= c.o.Silence/2 {
		c.out.push([]byte(`{"type":"ping"}`), nil)
	}
	for _, r := range c.resumes {
		if r.header == nil && now.Sub(r.since) > resumeTimeout {
			return fmt.Errorf("%w: resume of a thread was not answered", ErrProtocol)
		}
	}
	return nil
}
