package embedded

import (
	"errors"
	"net/http"
	"slices"

	"turnlog/httpapi"
)

// Handler serves /ws, /v1, the health checks, and what Options.HTTP adds.
func (n *Node) Handler() http.Handler { return n.handler }

// mount makes the handler of the node's parts.
func (n *Node) mount() (http.Handler, error) {
	handler, err := httpapi.New(httpapi.Options{WebSocket: n.sockets, Ready: n.ready, Metrics: n.options.HTTP.Metrics, API: n.api})
	if err != nil {
		return nil, err
	}
	for _, around := range slices.Backward(n.options.HTTP.Around) {
		handler = around(handler)
	}
	return handler, nil
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
