package client

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
)

const (
	writeTimeout  = 10 * time.Second
	resumeTimeout = 30 * time.Second // from resume_chat to its header
	goodbyeTime   = time.Second
)

// connect makes one connection and serves it until it is lost. lived is how
// long it was open. The caller's goroutine reads; one more writes, and one looks after
// the token.
func (c *Client) connect(ctx context.Context) (lived time.Duration, why lost) {
	s, token, err := c.open(ctx)
	if err != nil {
		return 0, classify(err)
	}
	opened := time.Now()
	p := &pulse{silence: c.o.Silence, cut: func() { _ = s.CloseNow() }}
	c.attach(s, p)
	defer c.detach()

	connCtx, cancel := context.WithCancelCause(ctx)
	var rest sync.WaitGroup
	var werr error
	rest.Go(func() {
		werr = c.write(connCtx, s)
		if ctx.Err() != nil {
			goodbye(s)
		}
		_ = s.CloseNow() // ends the reader
	})
	err = c.read(context.WithoutCancel(ctx), s, p, func(w welcome) {
		c.report(State{Phase: Online, Node: w.Node})
		if c.o.ReauthBefore > 0 && token != "" {
			rest.Go(func() { c.renew(connCtx, token, w.skew(time.Now())) })
		}
	})
	cancel(err)
	rest.Wait()
	if werr != nil && !errors.Is(werr, context.Canceled) && !errors.As(err, new(closeError)) {
		err = werr
	}
	return time.Since(opened), classify(err)
}

// goodbye closes cleanly, in bounded time.
func goodbye(s socket) {
	cut := time.AfterFunc(goodbyeTime, func() { _ = s.CloseNow() })
	defer cut.Stop()
	_ = s.Close(1000, "")
}

func (c *Client) open(ctx context.Context) (s socket, token string, err error) {
	ctx, cancel := context.WithTimeout(ctx, c.o.DialTimeout)
	defer cancel()
	if token, err = c.token(ctx); err != nil {
		return nil, "", err
	}
	if s, err = c.o.dial(ctx, c.url, c.o, token); err != nil {
		return nil, "", fmt.Errorf("connect: %w", err)
	}
	return s, token, nil
}

// token asks for a token; "" without a source.
func (c *Client) token(ctx context.Context) (string, error) {
	if c.o.Token == nil {
		return "", nil
	}
	token, err := c.o.Token(ctx)
	if err != nil {
		return "", fmt.Errorf("token: %w", err)
	}
	return token, nil
}

// attach makes s the present connection and queues what it needs first: tools,
// then the resumes, then the list, then what waited.
func (c *Client) attach(s socket, p *pulse) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.socket, c.pulse, c.lastRead = s, p, time.Now()
	c.listed = nil
	c.conn++
	c.out.queue = nil
	if m := manifest(c.o.Tools); m != nil {
		c.out.push(m, nil)
	}
	for _, p := range c.out.waiting {
		if p.answers != "" {
			c.requests.carries(p.answers, c.conn)
		}
		if t := c.threads[p.threadID]; t != nil && p.command == "chat_message" && p.tried {
			c.stepLocked(t, retried{})
		}
	}
	for _, t := range c.threads {
		c.stepLocked(t, connected{})
	}
	if c.o.Discover {
		wire, _ := marshalCommand("list_chat_turns", nil, "")
		c.out.push(wire, nil)
	}
	c.out.again()
}

func (c *Client) detach() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.socket, c.pulse, c.reauth = nil, nil, reauth{}
	c.out.queue = nil
	clear(c.resumes)
	for _, t := range c.threads {
		c.stepLocked(t, disconnected{})
	}
}
