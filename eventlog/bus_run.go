package eventlog

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
)

const (
	subscribeBatch = 500 // channels per SUBSCRIBE
	redialAfter    = 50 * time.Millisecond
	redialAtMost   = time.Second
)

// Run keeps the bus connected until ctx ends, then returns nil.
func (b *Bus) Run(ctx context.Context) error {
	wait := redialAfter
	for first := true; ; first = false {
		began := time.Now()
		err := b.session(ctx, first)
		b.setConnected(false)
		if ctx.Err() != nil {
			return nil
		}
		if time.Since(began) > 10*redialAtMost {
			wait = redialAfter
		}
		b.opts.Logger.WarnContext(ctx, "the subscription connection was lost", "error", err)
		pause := time.NewTimer(wait)
		select {
		case <-ctx.Done():
			pause.Stop()
			return nil
		case <-pause.C:
		}
		wait = min(2*wait, redialAtMost)
	}
}

// session lives as long as one connection. Its writer is the only one that
// sends; the caller's goroutine receives.
func (b *Bus) session(ctx context.Context, first bool) error {
	ctx, cancel := context.WithCancelCause(ctx)
	conn := b.dial(ctx)
	b.requeue()

	var tasks sync.WaitGroup
	tasks.Go(func() { cancel(b.write(ctx, conn)) })
	// Only closing ends a blocked read.
	tasks.Go(func() {
		<-ctx.Done()
		conn.close()
	})
	err := b.read(ctx, conn, first)
	cancel(err)
	tasks.Wait()
	return context.Cause(ctx)
}

// requeue forgets confirmations and wants everything subscribed anew.
func (b *Bus) requeue() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.queued = b.queued[:0]
	for name, t := range b.topics {
		if len(t.receive) == 0 {
			delete(b.topics, name)
			continue
		}
		if t.live {
			t.live, t.ready = false, make(chan struct{})
		}
		b.queued = append(b.queued, name)
	}
	b.waiting = len(b.topics)
	b.nudge()
}

// write subscribes what is queued, unsubscribes what nobody wants, and pings.
func (b *Bus) write(ctx context.Context, conn pubsub) error {
	probe := time.NewTicker(b.opts.ProbeEvery)
	defer probe.Stop()
	sweep := time.NewTicker(b.opts.Linger)
	defer sweep.Stop()
	for {
		var err error
		select {
		case <-ctx.Done():
			return nil
		case <-b.kick:
			for channels := b.nextBatch(); len(channels) > 0 && err == nil; channels = b.nextBatch() {
				err = conn.subscribe(ctx, channels...)
			}
		case <-sweep.C:
			for channels := b.unwanted(); len(channels) > 0 && err == nil; channels = b.unwanted() {
				err = conn.unsubscribe(ctx, channels...)
			}
		case <-probe.C:
			err = conn.ping(ctx)
		}
		if err != nil {
			return fmt.Errorf("write: %w", err)
		}
	}
}

func (b *Bus) nextBatch() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	n := min(len(b.queued), subscribeBatch)
	batch := append([]string(nil), b.queued[:n]...)
	if b.queued = b.queued[n:]; len(b.queued) == 0 {
		b.queued = nil
	}
	return batch
}

// unwanted forgets a batch of channels that nobody has wanted for a while.
func (b *Bus) unwanted() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	var batch []string
	for name, t := range b.topics {
		if len(batch) == subscribeBatch {
			break
		}
		if t.live && len(t.receive) == 0 && time.Since(t.idle) >= b.opts.Linger {
			delete(b.topics, name)
			batch = append(batch, name)
		}
	}
	return batch
}

// read dispatches what arrives until the connection fails or falls silent.
func (b *Bus) read(ctx context.Context, conn pubsub, first bool) error {
	silence := 2*b.opts.ProbeEvery + b.opts.ProbeEvery/2
	whole := false // everything queued at the start has been confirmed
	for {
		e, err := conn.receive(ctx, silence)
		if err != nil {
			return fmt.Errorf("receive: %w", err)
		}
		switch {
		case e.message:
			b.dispatch(e.channel, e.payload)
		case e.confirmed:
			again := b.confirm(e.channel)
			if !whole && b.complete() {
				whole = true
				b.setConnected(true)
				again = again || !first
			}
			if again {
				b.reconnected()
			}
		}
	}
}

// confirm marks a channel as subscribed. It reports whether it already was:
// then the driver has changed the connection behind our back.
func (b *Bus) confirm(channel string) (again bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	t := b.topics[channel]
	if t == nil {
		return false
	}
	if t.live {
		return true
	}
	t.live = true
	b.waiting--
	close(t.ready)
	return false
}

// complete reports whether every channel is confirmed.
func (b *Bus) complete() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.waiting == 0
}

func (b *Bus) dispatch(channel, payload string) {
	b.mu.Lock()
	t := b.topics[channel]
	var one func(string)
	var more []func(string)
	if t != nil {
		for _, fn := range t.receive {
			if one == nil {
				one = fn
			} else {
				more = append(more, fn)
			}
		}
	}
	b.mu.Unlock()
	if one != nil {
		one(payload)
	}
	for _, fn := range more {
		fn(payload)
	}
}

func (b *Bus) reconnected() {
	b.mu.Lock()
	hooks := b.hooks
	b.mu.Unlock()
	for _, fn := range hooks {
		fn()
	}
}

func (b *Bus) setConnected(yes bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.connected = yes
}

// redisPubSub is the plain verb, for everything but a cluster's shards.
type redisPubSub struct{ ps *redis.PubSub }

var _ pubsub = redisPubSub{}

func (r redisPubSub) subscribe(ctx context.Context, channels ...string) error {
	return r.ps.Subscribe(ctx, channels...)
}

func (r redisPubSub) unsubscribe(ctx context.Context, channels ...string) error {
	return r.ps.Unsubscribe(ctx, channels...)
}

func (r redisPubSub) ping(ctx context.Context) error { return r.ps.Ping(ctx) }

func (r redisPubSub) close() { _ = r.ps.Close() }

func (r redisPubSub) receive(ctx context.Context, timeout time.Duration) (event, error) {
	got, err := r.ps.ReceiveTimeout(ctx, timeout)
	if err != nil {
		return event{}, err
	}
	switch m := got.(type) {
	case *redis.Message:
		return event{message: true, channel: m.Channel, payload: m.Payload}, nil
	case *redis.Subscription:
		return event{confirmed: m.Kind == "subscribe", channel: m.Channel}, nil
	case *redis.Pong:
		return event{}, nil
	}
	return event{}, errors.New("unknown kind of message")
}
