package client

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
)

// Client is one user's connection to Turnlog, kept alive across sockets. See
// the package documentation for what it guarantees.
type Client struct {
	url string // of the WebSocket
	api string // what /v1 comes behind
	o   Options

	mu       sync.Mutex
	started  bool
	closed   bool
	cancel   context.CancelCauseFunc // of Run
	runCtx   context.Context         // of Run; tools live under it
	socket   socket                  // nil while offline
	pulse    *pulse                  // of socket
	reauth   reauth                  // of socket
	waiting  chan struct{}           // closed by Wake, nil unless Run waits for its next attempt
	hold     time.Time               // no attempt before this (Drop)
	threads  map[string]*tracked
	requests *requests
	out      *outbox
	resumes  map[string]*resume // by request id, of the present connection
	listed   []RunningTurn      // chat_turn_active frames before the next list's ack
	nextID   uint64
	conn     uint64 // counts connections
	lastRead time.Time

	ready chan struct{} // closed at the first welcome
	once  sync.Once
	done  chan struct{} // closed when Run has ended, or at Close without one
	tools sync.WaitGroup
}

// State is a change of the connection.
type State struct {
	Phase   Phase
	Node    string        // Online: the node that answers
	Err     error         // Waiting, Closed: why
	Delay   time.Duration // Waiting: until the next attempt
	Attempt int           // Connecting: 1-based since the last healthy connection
}

// New makes a Client for the server at url (ws://host:port/ws). It does nothing
// until Run.
func New(url string, o Options) (*Client, error) {
	if err := o.validate(); err != nil {
		return nil, err
	}
	o = o.withDefaults()
	socket, api, err := addresses(url, o)
	if err != nil {
		return nil, err
	}
	return &Client{
		url: socket, api: api, o: o,
		threads:  map[string]*tracked{},
		requests: newRequests(),
		out:      newOutbox(o.QueueLimit),
		resumes:  map[string]*resume{},
		ready:    make(chan struct{}),
		done:     make(chan struct{}),
	}, nil
}

// Dial makes a Client, runs it in the background until Close, and returns once
// it is connected. ctx bounds only the wait for the first connection.
func Dial(ctx context.Context, url string, o Options) (*Client, error) {
	c, err := New(url, o)
	if err != nil {
		return nil, err
	}
	ended := make(chan error, 1)
	go func() { ended <- c.Run(context.WithoutCancel(ctx)) }()
	select {
	case <-c.ready:
		return c, nil
	case err := <-ended:
		return nil, err
	case <-ctx.Done():
		_ = c.Close()
		return nil, fmt.Errorf("connect to %s: %w", url, context.Cause(ctx))
	}
}

// Run connects and stays connected until ctx ends or Close is called (then it
// returns nil), or until the server refuses for good. It can be called once.
func (c *Client) Run(ctx context.Context) (err error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(ErrClosed)
	c.mu.Lock()
	if c.started || c.closed {
		c.mu.Unlock()
		return ErrClosed
	}
	c.started, c.cancel, c.runCtx = true, cancel, ctx
	c.mu.Unlock()
	defer func() {
		cancel(ErrClosed)
		c.shutdown()
		c.tools.Wait()
		c.report(State{Phase: Closed, Err: err})
		close(c.done)
	}()

	b := newBackoff(c.o.MaxDelay)
	refusedTokens := 0
	for {
		c.report(State{Phase: Connecting, Attempt: b.failures + 1})
		lived, why := c.connect(ctx)
		if ctx.Err() != nil {
			return nil
		}
		if lived >= stableAfter {
			b.healthy()
		}
		if lived > 0 && !errors.Is(why.err, errSilent) && !errors.As(why.err, new(closeError)) {
			why.restart = true // gone without a word: its node may have died, with a crowd on it
		}
		switch {
		case why.token && c.o.Token == nil:
			why.fatal = true
		case lived > 0: // an expired token was good once
			refusedTokens = 0
		case why.token:
			refusedTokens++
			why.fatal = refusedTokens >= maxRefusedTokens
		}
		if why.fatal {
			return why.final()
		}
		wait := max(b.next(why), c.held())
		c.o.Logger.Debug("connection lost", "error", why.err, "retry_in", wait)
		woken := c.wakeable()
		c.report(State{Phase: Waiting, Err: why.err, Delay: wait})
		if !sleepUnless(ctx, wait, woken) {
			return nil
		}
	}
}

// maxRefusedTokens is how many fresh tokens in a row may be refused.
const maxRefusedTokens = 3

// Close ends the connection and waits for every goroutine, tools included. It is
// safe to call twice, and must not be called in a callback or a tool.
func (c *Client) Close() error {
	c.mu.Lock()
	closed, started := c.closed, c.started
	c.closed = true
	if started {
		c.cancel(ErrClosed)
	}
	c.mu.Unlock()
	if !started && !closed {
		c.shutdown()
		close(c.done)
	}
	<-c.done
	return nil
}

// shutdown fails what still waits.
func (c *Client) shutdown() {
	c.mu.Lock()
	c.closed = true
	waiting := c.out.waiting
	c.out.waiting, c.out.queue = nil, nil
	c.mu.Unlock()
	for _, p := range waiting {
		p.resolve(Ack{}, ErrClosed)
	}
}

// ThreadState is what the Client knows of a thread. LastSeq and Epoch are a
// cursor for Open.
type ThreadState struct {
	LastSeq int64
	Epoch   string
	TurnID  string
	Busy    bool
}

// Thread returns the state of a thread; the zero value for an unknown one.
func (c *Client) Thread(threadID string) ThreadState {
	c.mu.Lock()
	defer c.mu.Unlock()
	t := c.threads[threadID]
	if t == nil {
		return ThreadState{}
	}
	return ThreadState{LastSeq: t.cursor, Epoch: t.epoch, TurnID: t.turnID, Busy: t.busy()}
}

func (c *Client) report(s State) {
	if s.Phase == Online {
		c.once.Do(func() { close(c.ready) })
	}
	if f := c.o.Handler.OnState; f != nil {
		f(s)
	}
}

// sleep waits; false when ctx ended first.
func sleep(ctx context.Context, d time.Duration) bool { return sleepUnless(ctx, d, nil) }

// sleepUnless waits for d at most; false when ctx ended first.
func sleepUnless(ctx context.Context, d time.Duration, woken <-chan struct{}) bool {
	if d <= 0 {
		return ctx.Err() == nil
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-woken:
		return ctx.Err() == nil
	case <-timer.C:
		return true
	}
}

var errSilent = errors.New("connection silent for too long")
