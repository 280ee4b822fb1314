package wsapi

import (
	"context"
	"time"
)

// Shutdown refuses new connections and closes all open ones with 1012, idle
// ones first, spread over the given time. It returns when all are gone, or with the
// cause of ctx, after cutting those that are left. Safe to call twice.
func (s *Server) Shutdown(ctx context.Context, spread time.Duration) error {
	conns := s.drainOrder()
	gone := make(chan struct{})
	go func() {
		s.served.Wait()
		close(gone)
	}()
	start := time.Now()
	timer := time.NewTimer(0)
	defer timer.Stop()
	<-timer.C
	for i, c := range conns {
		due := start.Add(spread * time.Duration(i) / time.Duration(len(conns)))
		if wait := time.Until(due); wait > 0 {
			timer.Reset(wait)
			select {
			case <-ctx.Done():
				return s.cut(ctx, gone)
			case <-timer.C:
			}
		}
		c.shut(closeRestart)
	}
	select {
	case <-ctx.Done():
		return s.cut(ctx, gone)
	case <-gone:
		return nil
	}
}

// drainOrder closes the door and lists what is inside, idle connections first.
func (s *Server) drainOrder() []*conn {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closing.Store(true)
	idle, busy := make([]*conn, 0, len(s.conns)), []*conn(nil)
	for c := range s.conns {
		if c.watching() {
			busy = append(busy, c)
		} else {
			idle = append(idle, c)
		}
	}
	return append(idle, busy...)
}

// cut ends what Shutdown had no time for.
func (s *Server) cut(ctx context.Context, gone <-chan struct{}) error {
	s.mu.Lock()
	for c := range s.conns {
		c.shut(closeRestart)
		c.cork.Conn.Close()
		c.cancel()
	}
	s.mu.Unlock()
	<-gone
	return context.Cause(ctx)
}
