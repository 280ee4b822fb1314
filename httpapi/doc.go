// Package httpapi is the HTTP side of a node: liveness, readiness,
// metrics, a plain index page, and the mount point of the WebSocket endpoint.
//
// It holds no state of its own and is safe for concurrent use. It knows
// neither Redis nor the WebSocket protocol; the node hands in a readiness
// check and the WebSocket handler.
package httpapi
