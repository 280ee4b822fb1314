package session

import (
	"context"
	"log/slog"
	"math/rand/v2"
	"sync"
	"time"

	"turnlog/eventlog"
)

// goodbye bounds what is still done for the log after everything has ended.
const goodbye = 5 * time.Second

// Run keeps the node alive in the log, claims what waits and runs turns, until
// ctx ends. Turns that still run then are ended as shutdown (call Drain before
// to let them finish); Run returns when they are done or abandoned. It must be
// called once.
func (s *Service) Run(ctx context.Context) error {
	// Turns outlive ctx by the time that they need to end.
	life, end := context.WithCancel(context.WithoutCancel(ctx))
	defer end()
	if err := retry(ctx, 0, s.join); err != nil {
		return nil // ended before it began
	}
	s.mu.Lock()
	s.life = life
	s.mu.Unlock()
	close(s.ready)

	var loops sync.WaitGroup
	loops.Go(func() { s.heartbeats(life) })
	loops.Go(func() { s.polls(life) })
	loops.Go(func() { s.reconciles(life) })
	<-ctx.Done()

	s.mu.Lock()
	s.draining = true
	s.mu.Unlock()
	s.endAll()
	s.mu.Lock()
	s.life = nil // nothing starts any more
	s.mu.Unlock()
	end()
	s.running.Wait()
	loops.Wait()
	bye, cancel := context.WithTimeout(context.WithoutCancel(ctx), goodbye)
	defer cancel()
	if err := s.log.Resign(bye, s.Node()); err != nil {
		s.opts.Logger.Warn("node could not resign, its lease will run out", slog.Any("error", err))
	}
	return nil
}

func (s *Service) join(ctx context.Context) error {
	alive, err := s.log.Heartbeat(ctx, s.Node())
	if err == nil && !alive {
		s.mu.Lock()
		s.node = newNodeID()
		s.mu.Unlock()
		return errDead
	}
	return err
}

// heartbeats renews the lease. It alone decides that the node was dead.
func (s *Service) heartbeats(ctx context.Context) {
	failed := false
	for every(ctx, s.opts.Heartbeat) {
		alive, err := s.log.Heartbeat(ctx, s.Node())
		switch {
		case ctx.Err() != nil:
			return
		case err != nil:
			if !failed {
				s.opts.Logger.Warn("heartbeat failed", slog.Any("error", err))
			}
			failed = true
		case !alive:
			failed = false
			s.rejoin(ctx, s.Node())
		case failed:
			failed = false
			s.opts.Logger.Info("heartbeat succeeded again")
			s.nudgeAll()
			s.wakes.all()
		}
	}
}

// polls takes wake-ups, and looks without one every Options.Poll.
func (s *Service) polls(ctx context.Context) {
	timer := time.NewTimer(s.opts.Poll)
	defer timer.Stop()
	for {
		select {
		case <-timer.C:
			s.poll(ctx, -1)
			timer.Reset(s.opts.Poll + rand.N(s.opts.Poll/10+1))
		case <-s.wakes.signal:
			for _, p := range s.wakes.take() {
				s.poll(ctx, p)
			}
		case <-ctx.Done():
			return
		}
	}
}

// nudgeAll makes every turn compare itself with the log.
func (s *Service) nudgeAll() {
	for _, t := range s.all() {
		t.nudge()
	}
}

// every waits for the next round; false when ctx has ended.
func every(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// rejoin goes on under a new id after the node old was declared dead: its turns
// are lost, others may run them already.
func (s *Service) rejoin(ctx context.Context, old string) {
	s.mu.Lock()
	if s.node != old {
		s.mu.Unlock()
		return
	}
	s.node = newNodeID()
	node := s.node
	var gone []*turn
	for _, t := range s.turns {
		if t.fence.Owner != node {
			gone = append(gone, t)
		}
	}
	s.mu.Unlock()
	s.opts.Logger.Warn("node was declared dead and goes on under a new id",
		slog.String("node", old), slog.String("new_node", node), slog.Int("turns_lost", len(gone)))
	for _, t := range gone {
		t.lost(&eventlog.FencedError{Outcome: eventlog.OutcomeOwnerLost})
	}
	if _, err := s.log.Heartbeat(ctx, node); err != nil {
		s.opts.Logger.Warn("heartbeat failed", slog.Any("error", err))
	}
	if s.opts.OnRejoin != nil {
		s.opts.OnRejoin(ctx, node)
	}
}
