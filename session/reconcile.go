package session

import (
	"context"
	"log/slog"

	"turnlog/closing"
	"turnlog/eventlog"
)

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

// endUnrun ends a turn that this node owns and does not run: the reply that
// would have started it was lost.
func (s *Service) endUnrun(ctx context.Context, node string, r eventlog.RunningTurn) {
	if r.Owner == node && s.endFor(ctx, node, r, eventlog.OutcomeOwnerLost) {
		s.opts.Logger.Warn("a turn that was not run was ended", slog.String("thread_id", r.Thread.ID), slog.String("turn_id", r.TurnID))
	}
}

// endFor ends a turn that does not run here; false: others did, or its log
// went on, or Redis does not answer.
func (s *Service) endFor(ctx context.Context, finisher string, r eventlog.RunningTurn, outcome eventlog.Outcome) bool {
	ctx, cancel := context.WithTimeout(ctx, endBudget)
	defer cancel()
	said, err := closing.Read(ctx, patient{s.log}, r, s.opts.FrameLimit/2)
	if err != nil {
		return false
	}
	fin, err := s.log.Finish(ctx, eventlog.Finish{
		Fence:   eventlog.Fence{Thread: r.Thread, TurnID: r.TurnID, Attempt: r.Attempt, Owner: r.Owner},
		Outcome: outcome, Finisher: finisher, AsOf: r.LastSeq, Frames: said.Close(closing.End{Outcome: outcome}),
	})
	if err != nil || !fin.Won {
		return false
	}
	c := eventlog.Commit{Thread: r.Thread, Epoch: fin.Epoch, Ordinal: r.Ordinal, Attempt: r.Attempt, TurnID: r.TurnID, FirstSeq: fin.FirstSeq}
	for _, f := range fin.Frames {
		c.Entries = append(c.Entries, eventlog.Entry{Type: f.Type, Frame: f.Frame})
	}
	if len(c.Entries) > 0 {
		s.feed.Committed(c)
	}
	if fin.Ready {
		s.claim(ctx, r.Thread)
	}
	return true
}

// Detached acts on the leaving of a thread's last viewer (HubOptions.OnDetach):
// a turn whose policy is cancel is ended here if its owner is another node.
func (s *Service) Detached(ctx context.Context, thread eventlog.Thread, res eventlog.DetachResult) {
	if !res.Ending {
		return
	}
	if s.runsAttempt(attemptKey{res.Turn.TurnID, res.Turn.Attempt}) {
		s.nudge(thread) // its conductor knows what was said best
		return
	}
	s.endFor(ctx, s.Node(), res.Turn, eventlog.OutcomeDetached)
}
