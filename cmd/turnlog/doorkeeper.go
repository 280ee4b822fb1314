package main

import (
	"net"
	"net/http"
	"sync/atomic"
	"time"
)

const (
	// spareConnections are how many connections that are no WebSockets (yet) a node takes
	// besides limits.connections, which event streams may use up: handshakes, calls, and
	// what proxies keep open.
	spareConnections = 1024

	// codeSockets is counted when one more is closed at once. Nobody is told: whoever
	// comes has not said who it is.
	codeSockets = "too_many_sockets"
)

// doorkeeper bounds the connections of which nobody knows yet who they are, so that
// strangers cannot take all memory and descriptors: limits.connections counts users' only.
type doorkeeper struct {
	most    int64
	refused func(code string)
	open    atomic.Int64
}

// look is told of every connection's states (http.Server.ConnState).
func (d *doorkeeper) look(conn net.Conn, state http.ConnState) {
	switch state {
	case http.StateNew:
		if d.open.Add(1) > d.most {
			d.refused(codeSockets)
			_ = conn.Close() // the server notices and tells that it is closed
		}
	case http.StateHijacked, http.StateClosed:
		d.open.Add(-1)
	}
}

// http2Limits bound what one connection of HTTP/2 may hold, and end those that take and
// say nothing: deadlines of its streams end the streams only.
func http2Limits() *http.HTTP2Config {
	return &http.HTTP2Config{
		MaxConcurrentStreams:          100,
		MaxReceiveBufferPerConnection: 256 << 10,
		MaxReceiveBufferPerStream:     256 << 10,
		SendPingTimeout:               30 * time.Second,
		PingTimeout:                   15 * time.Second,
		WriteByteTimeout:              30 * time.Second,
	}
}
