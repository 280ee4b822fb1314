package embedded

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"sync/atomic"

	"github.com/redis/go-redis/v9"

	"turnlog/agent"
	"turnlog/eventlog"
	"turnlog/httpapi"
	"turnlog/reaper"
	"turnlog/session"
	"turnlog/wsapi"
)

// Node is a node of this process.
type Node struct {
	options Options

	log     *eventlog.Log
	service *session.Service
	bus     *eventlog.Bus
	hub     *eventlog.Hub
	reaper  *reaper.Reaper
	sockets *wsapi.Server
	api     *httpapi.API
	handler http.Handler

	draining atomic.Bool
	hurried  chan struct{} // closed by Hurry
	hurry    sync.Once
}

// OpenError says that the log could not be opened: Redis does not answer, is too
// old, or holds a log of another format or other partitions.
type OpenError struct{ Err error }

// Error implements error.
func (e *OpenError) Error() string { return e.Err.Error() }

// Unwrap returns what was wrong.
func (e *OpenError) Unwrap() error { return e.Err }

// New wires a node. It looks at Redis and fails with an *OpenError when it cannot
// be used. It starts nothing that has to be stopped, apart from the log, which Run
// or Close ends.
func New(ctx context.Context, rdb redis.UniversalClient, agents map[string]agent.Agent, options Options) (*Node, error) {
	n := &Node{options: options.withDefaults(), hurried: make(chan struct{})}
	var err error
	if n.log, err = eventlog.Open(ctx, rdb, n.options.Log); err != nil {
		return nil, &OpenError{err}
	}
	if err := n.wire(rdb, agents); err != nil {
		return nil, errors.Join(err, n.log.Close())
	}
	return n, nil
}

// wire makes the parts. Whatever a package needs of another one it asks for as an
// interface of its own; here they meet.
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
	o.Hub.OnDetach = n.service.Detached
	n.hub = eventlog.NewHub(n.log, n.bus, n.service.Node(), o.Hub)
	o.Reaper.Node, o.Reaper.Trust = n.service.Node, trust
	if n.reaper, err = reaper.New(n.log, o.Reaper); err != nil {
		return err
	}
	if n.sockets, err = wsapi.New(n.service, wsapi.NewHub(n.hub), n.log, o.Auth, o.Sockets); err != nil {
		return err
	}
	if n.api, err = httpapi.NewAPI(n.service, n.log, httpapi.NewHub(n.hub), o.Auth, o.API); err != nil {
		return err
	}
	n.handler, err = n.mount()
	return err
}

// Log is what the node's threads are stored in.
func (n *Node) Log() *eventlog.Log { return n.log }

// Sessions runs the node's turns.
func (n *Node) Sessions() *session.Service { return n.service }

// Hub lets viewers of this node follow threads.
func (n *Node) Hub() *eventlog.Hub { return n.hub }

// Reaper ends what nobody else can.
func (n *Node) Reaper() *reaper.Reaper { return n.reaper }

// Sockets are the node's WebSocket connections.
func (n *Node) Sockets() *wsapi.Server { return n.sockets }

// API serves /v1.
func (n *Node) API() *httpapi.API { return n.api }

// Ready is closed once the node can run turns.
func (n *Node) Ready() <-chan struct{} { return n.service.Ready() }

// Close ends a node that was never run.
func (n *Node) Close() error { return n.log.Close() }
