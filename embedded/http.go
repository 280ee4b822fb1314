package embedded

import (
	"errors"
	"net/http"
	"slices"

	"turnlog/httpapi"
	"turnlog/httpapi/admin"
)

// Handler serves /ws, /v1, /admin/v1, the health checks, and what Options.HTTP adds.
func (n *Node) Handler() http.Handler { return n.handler }

// mount makes the handler of the node's parts.
func (n *Node) mount() (http.Handler, error) {
	operators, err := n.operators()
	if err != nil {
		return nil, err
	}
	handler, err := httpapi.New(httpapi.Options{WebSocket: n.sockets, Ready: n.ready, Metrics: n.options.HTTP.Metrics, API: n.api, Admin: operators})
	if err != nil {
		return nil, err
	}
	for _, around := range slices.Backward(n.options.HTTP.Around) {
		handler = around(handler)
	}
	return handler, nil
}

// operators makes the API of those who run the node. It lets in whom the authenticator
// gives the scope: identity.NoAuth gives it to nobody unless its Admin is set.
func (n *Node) operators() (http.Handler, error) {
	reaper := func() admin.ReaperStatus { return admin.ReaperStatus(n.reaper.Status()) }
	return admin.New(n.log, n.service, reaper, n.options.Auth, admin.Options{
		Scope: n.options.HTTP.AdminScope, NodeLease: n.options.Log.NodeLease, Allow: n.options.API.Allow,
		Logger: n.options.Logger, Metrics: n.options.API.Metrics,
	})
}

// ready implements the readiness check: load balancers look elsewhere while
// the node starts or drains. A Redis outage does not count, since every node has it.
func (n *Node) ready() error {
	if n.draining.Load() {
		return errors.New("draining")
	}
	select {
	case <-n.service.Ready():
		return nil
	default:
		return errors.New("starting")
	}
}
