package wsapi

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"sync"
	"sync/atomic"
	"time"
)

// Server is the handler of /ws. Run must be running while it serves.
type Server struct {
	sessions Sessions
	hub      Hub
	logs     Log
	auth     Authenticator
	opts     Options
	log      *slog.Logger

	closing atomic.Bool
	mu      sync.Mutex
	conns   map[*conn]struct{}
	served  sync.WaitGroup
}

var _ http.Handler = (*Server)(nil)

// New returns a server. auth decides about every handshake; identity.NoAuth trusts everybody.
func New(sessions Sessions, hub Hub, log Log, auth Authenticator, opts Options) (*Server, error) {
	if sessions == nil || hub == nil || log == nil || auth == nil {
		return nil, errors.New("wsapi: sessions, hub, log and auth are required")
	}
	opts = opts.withDefaults()
	if err := opts.validate(); err != nil {
		return nil, err
	}
	return &Server{
		sessions: sessions, hub: hub, logs: log, auth: auth, opts: opts, log: opts.Logger,
		conns: make(map[*conn]struct{}),
	}, nil
}

// Run looks after all connections (pings, silence, expiry, retries) until ctx
// ends. It does not close them; see Shutdown.
func (s *Server) Run(ctx context.Context) error {
	ticker := time.NewTicker(s.tickEvery())
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case now := <-ticker.C:
			s.tick(now)
		}
	}
}

// tickEvery is one second, or less when a test shortens the intervals.
func (s *Server) tickEvery() time.Duration {
	return min(time.Second, s.opts.PingEvery/4, s.opts.MessageLimit/4, (s.opts.SilenceLimit-s.opts.PingEvery)/4+time.Millisecond)
}

// tick looks at every connection once.
func (s *Server) tick(now time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for c := range s.conns {
		c.tick(now)
	}
}

// add registers a connection, unless the server is closing.
func (s *Server) add(c *conn) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closing.Load() {
		return false
	}
	s.conns[c] = struct{}{}
	s.served.Add(1)
	return true
}

func (s *Server) remove(c *conn) {
	s.mu.Lock()
	delete(s.conns, c)
	s.mu.Unlock()
	s.served.Done()
}

// Connections returns how many connections are open.
func (s *Server) Connections() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.conns)
}
