package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
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
	c.socket, c.pulse, c.reauth = nil, nil, reauth{}
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
