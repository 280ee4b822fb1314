package eventlog

import "context"

// Reconcile compares what the log says this node views with what it follows:
// replies get lost, and Redis may lose what it confirmed. A followed thread
// that is not listed is attached again. An entry that nothing here stands for
// may be a viewer's that is just leaving, so only one seen by two calls in a
// row is detached, as if the server had closed the viewer.
//
// Run calls it every ReconcileEvery and after reconnects; not for concurrent use.
func (h *Hub) Reconcile(ctx context.Context) {
	h.mu.Lock()
	node := h.node
	h.mu.Unlock()
	listed, err := h.store.Viewing(ctx, node)
	if err != nil {
		if ctx.Err() == nil {
			h.opts.Logger.WarnContext(ctx, "comparing viewed threads", "error", err)
		}
		return
	}
	missing, stray := h.disagreements(node, listed)
	for t, d := range stray {
		h.opts.Logger.WarnContext(ctx, "a thread that nobody here views is detached", "thread_id", t.ID)
		h.detach(ctx, t, d)
	}
	for _, f := range missing {
		if ctx.Err() != nil || !h.reattach(ctx, f) {
			return // the next round goes on
		}
	}
}

// disagreements picks followers that the log does not list, and detaches for
// entries that were strangers in the last round already.
func (h *Hub) disagreements(node string, listed []Thread) (missing []*follower, stray map[Thread]owedDetach) {
	h.mu.Lock()
	defer h.mu.Unlock()
	known := h.strangers
	h.strangers = make(map[Thread]struct{})
	if h.node != node {
		return nil, nil
	}
	viewing := make(map[Thread]struct{}, len(listed))
	stray = make(map[Thread]owedDetach)
	for _, t := range listed {
		viewing[t] = struct{}{}
		if h.followers[t] != nil {
			continue
		}
		if _, again := known[t]; !again {
			h.strangers[t] = struct{}{}
			continue
		}
		// Above whatever is stored, and below whatever a new viewer will get.
		h.generation++
		stray[t] = owedDetach{node: node, generation: h.generation, byServer: true}
	}
	for t, f := range h.followers {
		if _, ok := viewing[t]; !ok {
			missing = append(missing, f)
		}
	}
	return missing, stray
}

// reconcileDue reports, once, that a reconnect asks for a comparison.
func (h *Hub) reconcileDue() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	due := h.reconnected
	h.reconnected = false
	return due
}
