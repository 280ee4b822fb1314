package session

import (
	"context"
	"log/slog"
	"sync"

	"turnlog/eventlog"
)

// claimers bounds how many claims are on their way at once.
const claimers = 8

// wakes collects the partitions to look at. -1 stands for all.
type wakes struct {
	mu     *sync.Mutex
	set    map[int]struct{}
	signal chan struct{}
}

func newWakes() wakes {
	return wakes{mu: new(sync.Mutex), set: make(map[int]struct{}), signal: make(chan struct{}, 1)}
}

func (w *wakes) add(partition int) {
	w.mu.Lock()
	w.set[partition] = struct{}{}
	w.mu.Unlock()
	select {
	case w.signal <- struct{}{}:
	default:
	}
}

func (w *wakes) all() { w.add(-1) }

func (w *wakes) take() []int {
	w.mu.Lock()
	defer w.mu.Unlock()
	var out []int
	if _, everything := w.set[-1]; everything {
		out = []int{-1}
	} else {
		for p := range w.set {
			out = append(out, p)
		}
	}
	clear(w.set)
	return out
}

// Wake says that a partition has something for this node; -1 = look at all.
// It does not block.
func (s *Service) Wake(partition int) { s.wakes.add(partition) }

// poll takes the inbox and claims what waits, once.
func (s *Service) poll(ctx context.Context, partition int) {
	p, err := s.log.Poll(ctx, s.Node(), partition)
	if err != nil {
		// The inbox may have been taken all the same: once Redis answers, every
		// turn reads its inputs.
		s.missed.Store(true)
		return
	}
	if s.missed.CompareAndSwap(true, false) {
		s.nudgeAll()
	}
	for _, thread := range p.Inbox {
		s.nudge(thread)
	}
	if s.Draining() || len(p.Ready) == 0 {
		return
	}
	var claims sync.WaitGroup
	slots := make(chan struct{}, claimers)
	for _, thread := range p.Ready {
		slots <- struct{}{}
		claims.Go(func() {
			defer func() { <-slots }()
			s.claim(ctx, thread)
		})
	}
	claims.Wait()
}

// claim takes what a thread has waiting, if no other node was faster.
func (s *Service) claim(ctx context.Context, thread eventlog.Thread) {
	node, err := s.admitting()
	if err != nil {
		return
	}
	adm, err := s.log.BeginNext(ctx, thread, node)
	switch {
	case err != nil:
		if ctx.Err() == nil {
			s.opts.Logger.Warn("a waiting turn could not be claimed", slog.String("thread_id", thread.ID), slog.Any("error", err))
		}
	case adm.Verdict == eventlog.VerdictStarted:
		s.start(thread, node, adm)
	}
}
