package eventlog

import (
	"context"
	"errors"
	"time"
)

const (
	peekBatch   = 200                   // threads per pipelined look
	lagPatience = 50 * time.Millisecond // a message on its way is not a lost one
)

// Run compares followed threads, and what the node views, with the log until
// ctx ends, and repeats detaches that failed. It returns nil when ctx ends.
func (h *Hub) Run(ctx context.Context) error {
	tick := time.NewTicker(h.opts.CheckEvery)
	defer tick.Stop()
	reconcile := time.NewTicker(h.opts.ReconcileEvery)
	defer reconcile.Stop()
	idleAt := time.Now().Add(h.opts.IdleCheckEvery)
	for {
		var due []*follower
		select {
		case <-ctx.Done():
			return nil
		case <-reconcile.C:
			h.Reconcile(ctx)
		case <-h.kick:
			due = h.due(false, false)
		case <-tick.C:
			idle := !time.Now().Before(idleAt)
			if idle {
				idleAt = time.Now().Add(h.opts.IdleCheckEvery)
			}
			due = h.due(true, idle)
			h.dropIdlePages()
			h.repeatDetaches(ctx)
		}
		h.check(ctx, due)
		if h.reconcileDue() {
			h.Reconcile(ctx)
		}
	}
}

// due picks what to compare: suspects always, running threads at each tick,
// the others at a slower pace.
func (h *Hub) due(running, idle bool) []*follower {
	h.mu.Lock()
	defer h.mu.Unlock()
	all := h.compareAll || running && idle
	h.compareAll = false
	var out []*follower
	for _, f := range h.followers {
		_, suspected := h.suspects[f]
		if all || suspected || running && f.running() {
			out = append(out, f)
		}
	}
	clear(h.suspects)
	return out
}

// check compares followers with the log, in batches.
func (h *Hub) check(ctx context.Context, due []*follower) {
	for len(due) > 0 && ctx.Err() == nil {
		n := min(len(due), peekBatch)
		h.checkBatch(ctx, due[:n])
		due = due[n:]
	}
}

func (h *Hub) checkBatch(ctx context.Context, due []*follower) {
	threads := make([]Thread, len(due))
	versions := make([]int, len(due))
	for i, f := range due {
		threads[i], versions[i] = f.thread, f.version()
	}
	peeks, err := h.store.Peek(ctx, threads)
	if err == nil && len(peeks) != len(due) {
		err = errors.New("peek answered another number of threads")
	}
	if err != nil {
		if ctx.Err() == nil {
			h.opts.Logger.WarnContext(ctx, "comparing followed threads", "threads", len(due), "error", err)
			h.compareAllLater()
		}
		return
	}
	var behind []int
	for i, f := range due {
		if f.compare(peeks[i], versions[i]) {
			behind = append(behind, i)
		}
	}
	if len(behind) > 0 {
		// What we saw may be on its way to us: give it a moment.
		wait := time.NewTimer(lagPatience)
		defer wait.Stop()
		select {
		case <-ctx.Done():
			return
		case <-wait.C:
		}
	}
	for _, i := range behind {
		if due[i].raise(peeks[i], versions[i]) {
			h.opts.Metrics.HubMissed()
		}
	}
	for _, f := range due {
		if f.takeRenew() {
			h.reattach(ctx, f)
		}
	}
}

// compareAllLater has every followed thread compared at the next tick.
func (h *Hub) compareAllLater() {
	h.mu.Lock()
	h.compareAll = true
	h.mu.Unlock()
}

// reattach renews the node's entry among the thread's viewers: whoever
// appends may not know (any more) that somebody looks. It reports whether the log answered.
func (h *Hub) reattach(ctx context.Context, f *follower) bool {
	h.mu.Lock()
	if f.count == 0 {
		h.mu.Unlock()
		return true
	}
	a := Attach{Thread: f.thread, Node: h.node, Generation: h.nextGenerationLocked(f), Cursor: Cursor{Live: true}}
	h.mu.Unlock()
	version, accepted := f.mark()
	snap, err := h.store.Attach(ctx, a)
	if err != nil {
		h.opts.Logger.WarnContext(ctx, "renewing the attachment of a thread", "thread_id", f.thread.ID, "error", err)
		return false
	}
	h.mu.Lock()
	gone := f.count == 0 && h.followers[f.thread] == nil
	h.mu.Unlock()
	if gone { // the last viewer's detach may have come before our attach
		h.detach(ctx, f.thread, owedDetach{node: a.Node, generation: a.Generation})
		return true
	}
	f.adopt(snap, version, accepted)
	return true
}

// Reattach attaches every followed thread again, under the given node id: to
// be called when the node got a new id, or when Redis lost its data.
func (h *Hub) Reattach(ctx context.Context, node string) {
	h.mu.Lock()
	h.node = node
	all := make([]*follower, 0, len(h.followers))
	for _, f := range h.followers {
		all = append(all, f)
	}
	h.mu.Unlock()
	for _, f := range all {
		if ctx.Err() != nil {
			return
		}
		h.reattach(ctx, f)
	}
}

// repeatDetaches tries again what Redis did not confirm.
func (h *Hub) repeatDetaches(ctx context.Context) {
	h.mu.Lock()
	owed := h.owed
	if len(owed) > 0 {
		h.owed = make(map[Thread]owedDetach)
	}
	for t := range owed {
		if h.followers[t] != nil { // watched again, with a later generation
			delete(owed, t)
		}
	}
	h.mu.Unlock()
	for t, d := range owed {
		h.detach(ctx, t, d)
	}
}
