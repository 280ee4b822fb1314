package httpapi

import (
	"errors"
	"io"
	"net/http"
	"strings"
)

// Options are the parts of a node that the handler serves.
type Options struct {
	// WebSocket serves /ws. Required.
	WebSocket http.Handler

	// Ready tells why the node should get no new connections, nil when it may.
	// It must not block. Required.
	Ready func() error

	// Metrics serves /metrics. nil = there is no such page.
	Metrics http.Handler

	// API serves /v1. nil = there is none.
	API *API

	// Admin serves /admin/v1. nil = there is none.
	Admin http.Handler
}

// New builds the node's HTTP handler.
func New(options Options) (http.Handler, error) {
	if options.WebSocket == nil {
		return nil, errors.New("httpapi: Options.WebSocket is required")
	}
	if options.Ready == nil {
		return nil, errors.New("httpapi: Options.Ready is required")
	}
	mux := http.NewServeMux()
	mux.Handle("GET /ws", options.WebSocket)
	mux.HandleFunc("GET /healthz", healthz)
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, _ *http.Request) { readyz(w, options.Ready) })
	if options.Metrics != nil {
		mux.Handle("GET /metrics", options.Metrics)
	}
	mux.HandleFunc("GET /{$}", index)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch path := r.URL.EscapedPath(); { // the mux would tidy the path up
		case options.API != nil && strings.HasPrefix(path, "/v1/"):
			options.API.ServeHTTP(w, r)
		case options.Admin != nil && strings.HasPrefix(path, "/admin/v1/"):
			options.Admin.ServeHTTP(w, r)
		default:
			mux.ServeHTTP(w, r)
		}
	}), nil
}

// healthz answers as long as the process serves HTTP at all.
func healthz(w http.ResponseWriter, _ *http.Request) { plain(w, http.StatusOK, "ok\n") }

// readyz answers 503 with the reason while load balancers should look elsewhere.
func readyz(w http.ResponseWriter, ready func() error) {
	if err := ready(); err != nil {
		w.Header().Set("Retry-After", "5")
		plain(w, http.StatusServiceUnavailable, err.Error()+"\n")
		return
	}
	plain(w, http.StatusOK, "ready\n")
}

const indexText = `Turnlog: chat turns that survive their connection.

/ws       the WebSocket endpoint (docs/protocol.md)
/v1       the HTTP API (docs/http.md), described by /v1/openapi.json
/admin/v1 for operators (docs/http.md), described by /admin/v1/openapi.json
/healthz  the process lives
/readyz   the node takes connections
/metrics  for Prometheus

Try it from a terminal:  turnlog chat
`

func index(w http.ResponseWriter, _ *http.Request) { plain(w, http.StatusOK, indexText) }

// plain writes a text answer that nobody caches.
func plain(w http.ResponseWriter, status int, text string) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(status)
	_, _ = io.WriteString(w, text) // the client went away; nobody is left to tell
}
