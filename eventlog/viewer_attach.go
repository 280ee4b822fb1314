package eventlog

import (
	"context"
	"time"
)

// attach asks the log, with a fresh generation, and takes the position that
// the cursor and the answer make.
func (v *Viewer) attach(ctx context.Context, c Cursor, p Policy, again bool) error {
	f := v.follower
	f.hub.mu.Lock()
	f.mu.Lock()
	if v.left {
		f.mu.Unlock()
		f.hub.mu.Unlock()
		return ErrClosed
	}
	v.generation = f.hub.nextGenerationLocked(f)
	v.hold++
	ask := Attach{Thread: f.thread, Node: f.hub.node, Generation: v.generation, Cursor: c,
		Policy: p, PageFrames: joinFrames, PageBytes: joinBytes}
	f.mu.Unlock()
	f.hub.mu.Unlock()

	snap, epochs, accepted, err := f.look(ctx, ask)
	if err == nil {
		f.adopt(snap, epochs, accepted)
	}
	f.mu.Lock()
	v.hold--
	left := v.left
	if err == nil && !left && !(c.Live && v.started) {
		v.placeLocked(snap, c, again)
	}
	f.mu.Unlock()
	if left {
		f.undo(ctx, ask)
		return ErrClosed
	}
	v.wake()
	return err
}

// undo takes back an attach that may have come after the last viewer's detach.
func (f *follower) undo(ctx context.Context, ask Attach) {
	f.hub.mu.Lock()
	gone := f.hub.followers[f.thread] == nil
	f.hub.mu.Unlock()
	if !gone {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), cleanupTimeout) // as in left
	defer cancel()
	f.hub.detach(ctx, f.thread, owedDetach{node: ask.Node, generation: ask.Generation, byServer: true})
}

// look asks for a snapshot. While the cursor is ahead of a running log it asks
// again, for as long as a repair may take.
func (f *follower) look(ctx context.Context, ask Attach) (s Snapshot, epochs, accepted int, err error) {
	epochs, accepted = f.mark()
	s, err = f.hub.store.Attach(ctx, ask)
	deadline := time.Now().Add(f.hub.opts.RepairWait)
	for err == nil && ahead(s, ask.Cursor) && time.Now().Before(deadline) {
		wait := time.NewTimer(lookAgain)
		select {
		case <-ctx.Done():
			wait.Stop()
			return s, epochs, accepted, context.Cause(ctx)
		case <-wait.C:
		}
		ask.Generation = 0
		epochs, accepted = f.mark()
		s, err = f.hub.store.Attach(ctx, ask)
	}
	return s, epochs, accepted, err
}

// placeLocked takes the position that a plan gives, and its header.
func (v *Viewer) placeLocked(s Snapshot, c Cursor, again bool) {
	start, h := plan(s, c)
	if again && v.started && c.Epoch == "" && !c.Full && s.Epoch == v.epoch && start <= v.after {
		asked := c
		c.LastSeq = v.after
		start, h = plan(s, c)
		h.ReplayIncomplete = h.ReplayIncomplete || asked.LastSeq <= 0
	}
	h.Thread = v.follower.thread
	v.moveLocked(s, start, c.Epoch != "")
	if c.Live {
		return
	}
	v.header = &h
	v.noteOpenLocked(s)
	if again {
		v.pending = &h
	}
}

// moveLocked goes to where start is the next number to deliver.
func (v *Viewer) moveLocked(s Snapshot, start int64, epochAware bool) {
	v.position = position{
		started: true, revision: v.revision + 1, epochAware: epochAware,
		epoch: s.Epoch, after: start - 1, unanchored: s.Epoch == "",
	}
	v.stale = false
	v.rest.drop(&v.follower.hub.ahead)
	v.rest = remainderOf(&v.follower.hub.ahead, s.Page, start-1, s.Behind, s.LastSeq)
}

// noteOpenLocked remembers which requests were open when the header was made.
func (v *Viewer) noteOpenLocked(s Snapshot) {
	v.openUntil = s.LastSeq
	v.open = nil
	if len(s.Open) > 0 {
		v.open = make(map[string]struct{}, len(s.Open))
	}
	for i := range s.Open {
		v.open[s.Open[i].ID] = struct{}{}
	}
}
