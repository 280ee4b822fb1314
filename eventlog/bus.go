package eventlog

import (
	"context"
	"log/slog"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
)

// BusOptions tune a Bus. The zero value is good for production.
type BusOptions struct {
	// ProbeEvery is how often the subscription connection is pinged; one that
	// has said nothing for twice as long is replaced (default 3 s).
	ProbeEvery time.Duration
	// Linger is how long a channel that nobody wants any more stays
	// subscribed, in case of somebody coming right back (default 2 s).
	Linger time.Duration
	// Logger gets connection losses (default: nothing).
	Logger *slog.Logger
}

func (o BusOptions) withDefaults() BusOptions {
	if o.ProbeEvery <= 0 {
		o.ProbeEvery = 3 * time.Second
	}
	if o.Linger <= 0 {
		o.Linger = 2 * time.Second
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	return o
}

// Bus is a node's one subscription connection to Redis, shared by all
// followed threads. Run drives it; it replaces a connection that fails or
// falls silent, subscribes everything again, and says so (OnReconnect),
// because what was published in between is lost.
//
// All methods are safe for concurrent use.
type Bus struct {
	dial func(context.Context) pubsub
	opts BusOptions
	kick chan struct{} // there are channels to subscribe

	mu        sync.Mutex
	topics    map[string]*topic
	queued    []string // to be subscribed on the present connection
	waiting   int      // topics that are not confirmed
	hooks     []func()
	wakeHooks []func(partition int)
	self      string // the channel of the node's own wake-ups
	selfID    *int
	connected bool
}

// topic is one channel. It is forgotten only when it is confirmed and nobody
// has wanted it for a while, so a late confirmation cannot be mistaken.
type topic struct {
	receive map[*int]func(payload string)
	live    bool
	ready   chan struct{} // closed when live; replaced on a new connection
	idle    time.Time     // since when nobody wants it
}

// pubsub is the part of a subscription connection that differs between
// servers: SUBSCRIBE here, SSUBSCRIBE per slot on a cluster.
type pubsub interface {
	subscribe(ctx context.Context, channels ...string) error
	unsubscribe(ctx context.Context, channels ...string) error
	ping(ctx context.Context) error
	// receive waits for one event; an error, also a timeout, ends the connection.
	receive(ctx context.Context, timeout time.Duration) (event, error)
	close()
}

// event is what a subscription connection reports.
type event struct {
	confirmed bool   // channel is subscribed
	message   bool   // payload was published on channel
	channel   string // neither: a sign of life
	payload   string
}

// NewBus makes the bus of a node, which is also subscribed to the node's own
// wake-ups. Nothing is dialled before Run.
func NewBus(rdb redis.UniversalClient, node string, opts BusOptions) *Bus {
	b := &Bus{
		dial:   func(ctx context.Context) pubsub { return redisPubSub{rdb.Subscribe(ctx)} },
		opts:   opts.withDefaults(),
		kick:   make(chan struct{}, 1),
		topics: make(map[string]*topic),
	}
	b.ListenAs(node)
	return b
}

// OnReconnect names what to call, from the bus's goroutine, after messages may
// have been lost. It must not block.
func (b *Bus) OnReconnect(fn func()) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.hooks = append(b.hooks, fn)
}

// OnWake names what to call, from the bus's goroutine, when the node is woken
// to look at a partition. It must not block. Wake-ups can get lost.
func (b *Bus) OnWake(fn func(partition int)) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.wakeHooks = append(b.wakeHooks, fn)
}

// ListenAs moves the wake-ups to another node id, under which the node goes on.
func (b *Bus) ListenAs(node string) {
	channel := nodeChannel(node)
	id := b.add(channel, b.receiveWake)
	b.mu.Lock()
	old, oldID := b.self, b.selfID
	b.self, b.selfID = channel, id
	b.mu.Unlock()
	b.remove(old, oldID)
}

// Connected reports whether everything wanted has been subscribed on a
// connection that was alive lately.
func (b *Bus) Connected() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.connected
}

// Subscribe implements Subscriber. It blocks until the subscription is
// confirmed or ctx ends. release does not block and may be called twice.
func (b *Bus) Subscribe(ctx context.Context, channel string, receive func(payload string)) (release func(), err error) {
	id := b.add(channel, receive)
	release = func() { b.remove(channel, id) }
	for {
		b.mu.Lock()
		t := b.topics[channel]
		live, ready := t.live, t.ready
		b.mu.Unlock()
		if live {
			return release, nil
		}
		select {
		case <-ready:
		case <-ctx.Done():
			release()
			return nil, context.Cause(ctx)
		}
	}
}

func (b *Bus) add(channel string, receive func(string)) *int {
	b.mu.Lock()
	defer b.mu.Unlock()
	t := b.topics[channel]
	if t == nil {
		t = &topic{receive: make(map[*int]func(string)), ready: make(chan struct{})}
		b.topics[channel] = t
		b.waiting++
		b.queued = append(b.queued, channel)
		b.nudge()
	}
	id := new(int)
	t.receive[id] = receive
	return id
}

func (b *Bus) remove(channel string, id *int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	t := b.topics[channel]
	if t == nil || t.receive[id] == nil {
		return
	}
	delete(t.receive, id)
	if len(t.receive) == 0 {
		t.idle = time.Now()
	}
}

func (b *Bus) nudge() {
	select {
	case b.kick <- struct{}{}:
	default:
	}
}

// receiveWake takes a wake-up: "w <partition>".
func (b *Bus) receiveWake(message string) {
	partition, err := strconv.Atoi(strings.TrimPrefix(strings.TrimSpace(message), "w "))
	if err != nil || partition < 0 {
		b.opts.Logger.Warn("wake-up not understood")
		return
	}
	b.mu.Lock()
	hooks := b.wakeHooks
	b.mu.Unlock()
	for _, fn := range hooks {
		fn(partition)
	}
}
