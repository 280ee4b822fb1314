package httpapi

import (
	"context"
	"crypto/rand"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"time"

	"turnlog/eventlog"
	"turnlog/httpapi/problem"
	"turnlog/identity"
	"turnlog/line"
)

// events serves event streams. Each lives in the goroutine of its request.
type events struct {
	sessions Sessions
	logs     Log
	hub      Hub
	opts     EventsOptions
	log      *slog.Logger

	mu      sync.Mutex
	closing bool
	streams map[string]*stream // by connection id
	served  sync.WaitGroup
}

func newEvents(sessions Sessions, logs Log, hub Hub, opts EventsOptions, log *slog.Logger) *events {
	return &events{sessions: sessions, logs: logs, hub: hub, opts: opts, log: log, streams: make(map[string]*stream)}
}

// cleanupTimeout bounds the calls that tell the log that a stream is gone.
const cleanupTimeout = 10 * time.Second

// serve is GET /v1/threads/{id}/events. What can be refused is refused before
// the stream begins.
func (e *events) serve(w http.ResponseWriter, r *http.Request, who identity.Identity) error {
	if r.Method == http.MethodHead {
		w.Header().Set("Allow", http.MethodGet)
		return &problem.Problem{
			Status: http.StatusMethodNotAllowed, Code: problem.CodeMethodNotAllowed, Detail: "an event stream is read with GET",
		}
	}
	query, err := parseEventsQuery(r)
	if err != nil {
		return err
	}
	if e.sessions.Draining() {
		return e.turnAway(w, r)
	}
	disconnect, err := e.opts.Connect(who.User)
	if err != nil {
		return err
	}
	defer disconnect()
	s := &stream{
		srv: e, id: e.sessions.Node() + "." + rand.Text(), query: query, expires: who.Expires, wake: make(chan struct{}, 1),
		out: eventWriter{w: w, ctl: http.NewResponseController(w), stall: e.opts.StallLimit},
	}
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	s.cancel = cancel
	if !e.add(s) {
		return e.turnAway(w, r)
	}
	defer e.remove(s)
	defer s.out.close()
	err = s.serve(ctx, who.Thread(r.PathValue("id")))
	if err != nil && s.ended.Load() != nil { // shut down before there was a stream
		return errDraining
	}
	return err
}

// serve follows the thread and streams until something ends it.
func (s *stream) serve(ctx context.Context, thread eventlog.Thread) error {
	e := s.srv
	viewer, err := e.hub.Reserve(ctx, thread, s.announce)
	if err != nil {
		return err
	}
	defer s.leave(ctx, viewer, thread)
	if err := viewer.Rejoin(ctx, s.query.cursor, s.query.policy); err != nil {
		return err
	}
	s.viewer = viewer
	s.desk = line.Desk{Thread: thread, Log: e.logs, Cursor: viewer, Eligible: s.query.tools.any()}
	p := pages.Get().(*page)
	defer p.recycle()
	more, err := s.pull(ctx, p)
	switch {
	case err != nil:
		return err
	case s.status == eventlog.StatusUnknown && !s.query.follow:
		return problem.NotFound()
	case s.over && s.query.resumes && s.shown == 0:
		s.out.w.WriteHeader(http.StatusNoContent) // a browser stops connecting again
		return nil
	}
	if err := s.out.rest(); err != nil {
		return err // without deadlines a client that reads nothing would hold the stream for ever
	}
	e.opts.Metrics.StreamOpened()
	defer func() { e.opts.Metrics.StreamClosed(s.why().name) }()
	s.run(ctx, p, more)
	return nil
}

// leave tells the log that this viewer is gone.
func (s *stream) leave(ctx context.Context, viewer Viewer, thread eventlog.Thread) {
	// Detached and bounded: the request is over, but the log has to know.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), cleanupTimeout)
	defer cancel()
	if s.query.tools.any() {
		if err := line.Release(ctx, s.srv.logs, s.srv.hub, thread, s.id); err != nil {
			s.srv.log.Warn("tool calls could not be released", "conn", s.id, "error", err)
		}
	}
	viewer.Leave(ctx, s.why().byServer)
}

// gone reports whether a connection id is one that this node gave and that has
// ended. Of other nodes' connections it knows nothing.
func (e *events) gone(conn string) bool {
	node, _, _ := strings.Cut(conn, ".")
	if node != e.sessions.Node() {
		return false
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.streams[conn] == nil
}

// add registers a stream, unless the node is closing.
func (e *events) add(s *stream) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.closing {
		return false
	}
	e.streams[s.id] = s
	e.served.Add(1)
	return true
}

// count returns how many streams are open.
func (e *events) count() int {
	e.mu.Lock()
	defer e.mu.Unlock()
	return len(e.streams)
}

func (e *events) remove(s *stream) {
	e.mu.Lock()
	delete(e.streams, s.id)
	e.mu.Unlock()
	e.served.Done()
}
