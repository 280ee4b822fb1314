package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"sync/atomic"
	"time"
)

const (
	writeTimeout  = 10 * time.Second
	resumeTimeout = 30 * time.Second // from resume_chat to its header
	goodbyeTime   = time.Second
)

// connect makes one connection and serves it until it is lost. lived is how
// long it was open. The caller's goroutine reads; one more writes.
func (c *Client) connect(ctx context.Context) (lived time.Duration, why lost) {
	s, err := c.open(ctx)
	if err != nil {
		return 0, classify(err)
	}
	opened := time.Now()
	c.attach(s)
	defer c.detach()

	connCtx, cancel := context.WithCancelCause(ctx)
	writer := make(chan error, 1)
	go func() {
		err := c.write(connCtx, s)
		if ctx.Err() != nil {
			goodbye(s)
		}
		_ = s.CloseNow() // ends the reader
		writer <- err
	}()
	err = c.read(context.WithoutCancel(ctx), s)
	cancel(err)
	if werr := <-writer; werr != nil && !errors.Is(werr, context.Canceled) && !errors.As(err, new(closeError)) {
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

func (c *Client) open(ctx context.Context) (socket, error) {
	ctx, cancel := context.WithTimeout(ctx, c.o.DialTimeout)
	defer cancel()
	token := ""
	if c.o.Token != nil {
		var err error
		if token, err = c.o.Token(ctx); err != nil {
			return nil, fmt.Errorf("token: %w", err)
		}
	}
	s, err := c.o.dial(ctx, c.url, c.o, token)
	if err != nil {
		return nil, fmt.Errorf("connect: %w", err)
	}
	return s, nil
}

// attach makes s the present connection and queues what it needs first: tools,
// then the resumes, then the list, then what waited.
func (c *Client) attach(s socket) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.socket, c.lastRead = s, time.Now()
	c.listed = nil
	c.conn++
	for _, p := range c.out.waiting {
		if p.answers != "" {
			c.requests.carries(p.answers, c.conn)
		}
		if t := c.threads[p.threadID]; t != nil && p.command == "chat_message" && p.tried {
			t.tried = true
		}
	}
	var first [][]byte
	if m := manifest(c.o.Tools); m != nil {
		first = append(first, m)
	}
	for _, t := range c.threads {
		if t.wanted() {
			first = append(first, c.resumeLocked(t))
		}
	}
	if c.o.Discover {
		wire, _ := marshalCommand("list_chat_turns", nil, "")
		first = append(first, wire)
	}
	c.out.restart(first)
}

func (c *Client) detach() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.socket = nil
	c.out.queue = nil
	clear(c.resumes)
	for _, t := range c.threads {
		t.disconnected()
	}
}

// resumeLocked marks the thread as syncing and returns its resume_chat.
func (c *Client) resumeLocked(t *thread) []byte {
	t.syncing = true
	id := c.requestIDLocked()
	c.resumes[id] = &resume{thread: t, since: time.Now()}
	wire, err := marshalCommand("resume_chat", resumeData{
		ThreadID: t.id, LastSeq: t.cursor, Epoch: t.epoch, Full: t.full, OnDisconnect: t.policy,
	}, id)
	if err != nil {
		panic(err) // strings and numbers only
	}
	return wire
}

type resumeData struct {
	ThreadID     string `json:"thread_id"`
	LastSeq      int64  `json:"last_seq"`
	Epoch        string `json:"epoch,omitempty"`
	Full         bool   `json:"full,omitempty"`
	OnDisconnect string `json:"on_disconnect,omitempty"`
}

func (c *Client) requestIDLocked() string {
	c.nextID++
	return "q" + strconv.FormatUint(c.nextID, 10)
}

// read takes messages until the connection is lost.
func (c *Client) read(ctx context.Context, s socket) error {
	var silent atomic.Bool
	timer := time.AfterFunc(c.o.Silence, func() {
		silent.Store(true)
		_ = s.CloseNow()
	})
	defer timer.Stop()
	online := false
	for {
		timer.Reset(c.o.Silence)
		b, err := s.Read(ctx)
		if silent.Load() {
			return errSilent
		}
		timer.Stop() // a slow callback is not a silent server
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
			if !online {
				online = true
				c.report(State{Phase: Online, Node: node(in)})
			}
			if err := c.handle(in); err != nil {
				return err
			}
		}
	}
}

func node(in incoming) string {
	var v struct {
		Node string `json:"node"`
	}
	if in.Type == "welcome" {
		_ = json.Unmarshal(in.Raw, &v)
	}
	return v.Node
}

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
