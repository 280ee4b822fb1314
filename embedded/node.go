package embedded

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"
	"golang.org/x/sync/errgroup"

	"turnlog/agent"
	"turnlog/eventlog"
	"turnlog/httpapi"
	"turnlog/reaper"
	"turnlog/session"
	"turnlog/wsapi"
)

// Options tune a Node; the zero value of each field means its default.
type Options struct {
	Log     eventlog.Options // Logger and NodeLease are taken from here too
	Session session.Options  // Kind, AgentOf, DefaultAgent, limits; OnRejoin is the node's own
	Sockets wsapi.Options
	Auth    wsapi.Authenticator // nil = wsapi.NoAuth: for loopback only
	Drain   time.Duration       // how long running turns may go on after Run's context has ended; default 30 s
	Logger  *slog.Logger        // for all parts; nil = no logs
}

const (
	defaultLease     = 10 * time.Second
	defaultHeartbeat = 3 * time.Second
	closeSpread      = time.Second
)

func (o Options) withDefaults() Options {
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	o.Log.Logger, o.Session.Logger, o.Sockets.Logger = o.Logger, o.Logger, o.Logger
	for _, d := range []struct {
		field *time.Duration
		value time.Duration
	}{{&o.Log.NodeLease, defaultLease}, {&o.Session.Heartbeat, defaultHeartbeat}, {&o.Drain, 30 * time.Second}} {
		if *d.field == 0 {
			*d.field = d.value
		}
	}
	if o.Auth == nil {
		o.Auth = wsapi.NoAuth{}
	}
	return o
}

// Node is a node of this process.
type Node struct {
	options  Options
	log      *eventlog.Log
	service  *session.Service
	bus      *eventlog.Bus
	hub      *eventlog.Hub
	reaper   *reaper.Reaper
	sockets  *wsapi.Server
	handler  http.Handler
	draining atomic.Bool
}

// New wires a node. It looks at Redis (version and format) and starts nothing
// that has to be stopped, apart from the log, which Run closes.
func New(ctx context.Context, rdb redis.UniversalClient, agents map[string]agent.Agent, options Options) (*Node, error) {
	n := &Node{options: options.withDefaults()}
	o := n.options
	var err error
	if n.log, err = eventlog.Open(ctx, rdb, o.Log); err != nil {
		return nil, err
	}
	if err := n.wire(rdb, agents); err != nil {
		return nil, errors.Join(err, n.log.Close())
	}
	return n, nil
}

func (n *Node) wire(rdb redis.UniversalClient, agents map[string]agent.Agent) (err error) {
	o := n.options
	trust := reaper.NewTrust(o.Log.NodeLease, o.Session.Heartbeat)
	o.Session.OnRejoin = func(ctx context.Context, id string) {
		n.bus.ListenAs(id)
		n.hub.Reattach(ctx, id)
	}
	if n.service, err = session.New(trustedLog{session.On(n.log), trust}, (*feed)(n), agents, o.Session); err != nil {
		return err
	}
	n.bus = eventlog.NewBus(rdb, n.service.Node(), eventlog.BusOptions{Logger: o.Logger})
	n.bus.OnWake(n.service.Wake)
	n.hub = eventlog.NewHub(n.log, n.bus, n.service.Node(), eventlog.HubOptions{OnDetach: n.service.Detached, Logger: o.Logger})
	if n.reaper, err = reaper.New(n.log, reaper.Options{Node: n.service.Node, Trust: trust, Logger: o.Logger}); err != nil {
		return err
	}
	if n.sockets, err = wsapi.New(n.service, wsapi.NewHub(n.hub), n.log, o.Auth, o.Sockets); err != nil {
		return err
	}
	n.handler, err = httpapi.New(httpapi.Options{WebSocket: n.sockets, Ready: n.ready})
	return err
}

// Handler serves /ws and the health checks.
func (n *Node) Handler() http.Handler { return n.handler }

// Ready is closed once the node can run turns.
func (n *Node) Ready() <-chan struct{} { return n.service.Ready() }

func (n *Node) ready() error {
	select {
	case <-n.service.Ready():
	default:
		return errors.New("starting")
	}
	if n.draining.Load() {
		return errors.New("draining")
	}
	return nil
}

// Run runs the node until ctx has ended and the node has drained.
func (n *Node) Run(ctx context.Context) error {
	ground, endGround := context.WithCancel(context.WithoutCancel(ctx))
	defer endGround()
	group, failed := errgroup.WithContext(ground)
	work, endWork := context.WithCancel(failed)
	defer endWork()
	worked := make(chan struct{})
	for _, part := range []func(context.Context) error{n.bus.Run, n.hub.Run, n.sockets.Run} {
		group.Go(func() error { return ended(part(failed)) })
	}
	group.Go(func() error { return ended(n.reaper.Run(work)) })
	group.Go(func() error {
		defer close(worked)
		return ended(n.service.Run(work))
	})
	group.Go(func() error {
		defer endGround() // what the turns stand on goes last
		select {
		case <-ctx.Done():
		case <-failed.Done():
		}
		n.drain(failed)
		endWork()
		<-worked
		return nil
	})
	return errors.Join(group.Wait(), n.log.Close())
}

// drain waits for running turns, and closes the sockets meanwhile.
func (n *Node) drain(ctx context.Context) {
	n.draining.Store(true)
	ctx, cancel := context.WithTimeout(ctx, n.options.Drain)
	defer cancel()
	var both errgroup.Group
	both.Go(func() error { return n.service.Drain(ctx) })
	both.Go(func() error { return n.sockets.Shutdown(ctx, min(closeSpread, n.options.Drain)) })
	if err := both.Wait(); err != nil {
		n.options.Logger.Warn("not drained in time", "error", err)
	}
}

func ended(err error) error {
	if errors.Is(err, context.Canceled) {
		return nil
	}
	return err
}

// feed passes committed frames to the hub, which is made after the session.
// Nothing is committed before the node runs.
type feed Node

// Committed implements session.Feed.
func (f *feed) Committed(c eventlog.Commit) { f.hub.Committed(c) }

var errDeclaredDead = errors.New("declared dead")

// trustedLog tells the reaper's trust how the node's own heartbeats fare.
type trustedLog struct {
	session.Log
	trust *reaper.Trust
}

// Heartbeat implements session.Nodes.
func (l trustedLog) Heartbeat(ctx context.Context, node string) (bool, error) {
	alive, err := l.Log.Heartbeat(ctx, node)
	judged := err
	if err == nil && !alive {
		judged = errDeclaredDead
	}
	l.trust.Beat(time.Now(), judged)
	return alive, err
}
