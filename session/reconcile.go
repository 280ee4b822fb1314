package session

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"turnlog/closing"
	"turnlog/eventlog"
)

// redoFor is how long an ended turn is kept, to end it again if a failover
// lost its end.
const redoFor = 60 * time.Second

// reconciles compares what the log says this node owns with what it runs.
func (s *Service) reconciles(ctx context.Context) {
	suspects := make(map[attemptKey]bool)
	for every(ctx, s.opts.Reconcile) {
		suspects = s.reconcile(ctx, suspects)
	}
}

// reconcile does one round. A turn that this node owns but does not run may be
// on its way to start or just ended, so only one seen in two rounds is ended.
func (s *Service) reconcile(ctx context.Context, suspects map[attemptKey]bool) map[attemptKey]bool {
	s.dropEnded()
	node := s.Node()
	threads, err := s.log.OwnedTurns(ctx, node)
	if err != nil {
		return suspects
	}
	owned := make(map[eventlog.Thread]bool, len(threads))
	var unknown []eventlog.Thread
	for _, thread := range threads {
		owned[thread] = true
		if s.runs(thread) == nil {
			unknown = append(unknown, thread)
		}
	}
	// The other way round: turns that run here and are no longer owned look for the reason.
	for _, t := range s.all() {
		if !owned[t.fence.Thread] {
			t.nudge()
		}
	}
	turns, err := s.log.Running(ctx, unknown)
	if err != nil {
		return suspects
	}
	seen := make(map[attemptKey]bool)
	for _, r := range turns {
		key := attemptKey{r.TurnID, r.Attempt}
		if r.Owner != node || s.runsAttempt(key) {
			continue
		}
		if s.redo(ctx, r) {
			continue
		}
		seen[key] = true
		if suspects[key] {
			s.endUnrun(ctx, node, r)
		}
	}
	return seen
}

func (s *Service) runs(thread eventlog.Thread) *turn {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.threads[thread]
}

func (s *Service) runsAttempt(key attemptKey) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.turns[key] != nil
}

func (s *Service) dropEnded() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for thread, e := range s.ended {
		if time.Since(e.at) > redoFor {
			delete(s.ended, thread)
		}
	}
}

// redo ends a turn again that this node has ended before.
func (s *Service) redo(ctx context.Context, r eventlog.RunningTurn) bool {
	s.mu.Lock()
	e, ok := s.ended[r.Thread]
	s.mu.Unlock()
	if !ok || e.finish.Fence.TurnID != r.TurnID || e.finish.Fence.Attempt != r.Attempt {
		return false
	}
	if _, err := s.log.Finish(ctx, e.finish); err != nil {
		return false
	}
	s.opts.Logger.Warn("a turn's lost end was written again", slog.String("thread_id", r.Thread.ID), slog.String("turn_id", r.TurnID))
	return true
}

// endUnrun ends a turn that this node owns and does not run: the reply that
// would have started it was lost.
func (s *Service) endUnrun(ctx context.Context, node string, r eventlog.RunningTurn) {
	said := closing.NewTranscript(s.opts.FrameLimit / 2)
	if err := readTurn(ctx, s.log, r.Thread, r.FirstSeq, r.LastSeq, said.AddStored); err != nil {
		return
	}
	_, err := s.log.Finish(ctx, eventlog.Finish{
		Fence:   eventlog.Fence{Thread: r.Thread, TurnID: r.TurnID, Attempt: r.Attempt, Owner: node},
		Outcome: eventlog.OutcomeOwnerLost, Finisher: node, AsOf: r.LastSeq,
		Frames: said.Close(closing.End{Outcome: eventlog.OutcomeOwnerLost}),
	})
	if err == nil || !errors.Is(err, eventlog.ErrFenced) {
		s.opts.Logger.Warn("a turn that was not run was ended", slog.String("thread_id", r.Thread.ID), slog.String("turn_id", r.TurnID), slog.Any("error", err))
	}
}
