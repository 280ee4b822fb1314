package session

import (
	"context"
	"time"

	"turnlog/eventlog"
)

// Drain refuses new turns from now on, claims nothing, and waits for the turns
// that run here. When ctx ends first they are ended as shutdown, and Drain
// returns once they are done or abandoned. Idempotent.
func (s *Service) Drain(ctx context.Context) error {
	s.mu.Lock()
	s.draining = true
	s.mu.Unlock()
	if s.idle(ctx.Done()) {
		return nil
	}
	s.endAll()
	return nil
}

// endAll ends what runs as shutdown and waits, for as long as agents are given
// to wind down and the log to be told.
func (s *Service) endAll() {
	for _, t := range s.all() {
		t.end(eventlog.OutcomeShutdown)
	}
	timeout := make(chan struct{})
	timer := time.AfterFunc(s.opts.StopTimeout+goodbye, func() { close(timeout) })
	defer timer.Stop()
	s.idle(timeout)
}

// idle waits until nothing runs here; false when until came first.
func (s *Service) idle(until <-chan struct{}) bool {
	for {
		s.mu.Lock()
		n, changed := len(s.turns), s.changed
		s.mu.Unlock()
		if n == 0 {
			return true
		}
		select {
		case <-changed:
		case <-until:
			return false
		}
	}
}
