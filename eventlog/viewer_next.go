package eventlog

import (
	"context"
	"fmt"
)

// Next delivers what comes after the viewer's position: at most maxFrames
// frames of about maxBytes together, and one at least if there is any. It
// never waits for frames to be made; it may read the log. Done, as every empty
// delivery is, means that all was delivered and Wake will be called for more. After an
// error the position is unchanged and Next may be called again. ErrClosed
// after Leave.
func (v *Viewer) Next(ctx context.Context, maxFrames, maxBytes int) (Delivery, error) {
	f := v.follower
	maxFrames, maxBytes = max(maxFrames, 1), max(maxBytes, 1)
	f.mu.Lock()
	defer f.mu.Unlock()
	clear(v.buf)
	v.buf = v.buf[:0]
	for range maxRounds {
		if v.left {
			return Delivery{}, ErrClosed
		}
		d, done := v.takeLocked(maxFrames, maxBytes)
		if done {
			return d, nil
		}
		// The log has to be asked. The lock is not held meanwhile, and whoever
		// moves the viewer in between wins.
		var err error
		if v.stale || v.epoch != f.epoch {
			err = v.askHeader(ctx)
		} else {
			err = v.askFrames(ctx, maxFrames, maxBytes)
		}
		if err != nil {
			return Delivery{}, err
		}
		if len(v.buf) > 0 {
			return Delivery{Frames: v.buf, Done: v.armIfDoneLocked()}, nil
		}
	}
	// The log and the live messages contradict each other; the next comparison decides.
	v.armed.Store(true)
	f.mu.Unlock()
	f.hub.suspect(f)
	f.mu.Lock()
	return Delivery{Done: true}, nil
}

// takeLocked delivers what is at hand. Not done: the log has to be asked.
func (v *Viewer) takeLocked(maxFrames, maxBytes int) (d Delivery, done bool) {
	f := v.follower
	if !v.started || v.hold > 0 {
		v.armed.Store(true)
		return Delivery{Done: true}, true
	}
	if v.epoch == "" && f.epoch != "" { // its first turn has begun
		v.epoch = f.epoch
	}
	if v.pending != nil {
		d.Header, v.pending = v.pending, nil
	}
	d.Retarget, v.retargets = v.retargets, nil
	if v.stale || v.epoch != f.epoch {
		return d, !d.Empty()
	}
	v.takeRingLocked(maxFrames, maxBytes)
	d.Frames = v.buf
	if v.after < f.top && len(v.buf) == 0 {
		return d, !d.Empty()
	}
	d.Done = v.armIfDoneLocked()
	return d, true
}

// armIfDoneLocked arms the wake-up, and reports so, if the viewer has
// everything there is.
func (v *Viewer) armIfDoneLocked() bool {
	done := v.after >= v.follower.top && v.epoch == v.follower.epoch && !v.stale
	if done {
		v.armed.Store(true)
	}
	return done
}

// takeRingLocked moves the cursor over the cache.
func (v *Viewer) takeRingLocked(maxFrames, maxBytes int) {
	r := &v.follower.ring
	size := 0
	for len(v.buf) < maxFrames && r.has(v.after+1) {
		d := r.get(v.after + 1)
		if size += len(d.JSON); size > maxBytes && len(v.buf) > 0 {
			break
		}
		v.takeOneLocked(d)
	}
	if len(v.buf) > 0 {
		v.rest.drop(&v.follower.hub.ahead) // the cache reaches further
	}
}

func (v *Viewer) takeOneLocked(d *Delivered) {
	v.buf = append(v.buf, d)
	v.after = d.Seq
	v.unanchored = false
}

// askFrames puts the next frames from before the cache into the buffer, or
// finds that the log was trimmed past the viewer.
func (v *Viewer) askFrames(ctx context.Context, maxFrames, maxBytes int) error {
	f := v.follower
	ahead := &f.hub.ahead
	revision, epoch, after, until := v.revision, v.epoch, v.after, f.top
	if !f.ring.empty() && f.ring.first > after+1 {
		until = min(until, f.ring.first-1)
	}
	rest := v.rest // ours, while the lock is not held
	v.rest = remainder{}
	turns := f.since == 0 || after+1 < f.since
	f.mu.Unlock()
	var frames []*Delivered
	err := rest.fill(ctx, f, pageKey{epoch: epoch, after: after, until: until, limit: maxFrames, turns: turns})
	taken := rest.take(maxFrames, maxBytes)
	if err == nil {
		frames, err = f.encodeStored(ctx, epoch, taken)
	}
	f.mu.Lock()
	if err != nil || v.revision != revision || v.left || v.hold > 0 || f.epoch != epoch {
		rest.drop(ahead)
		return err
	}
	rest.shrink(ahead)
	v.rest = rest
	v.takePageLocked(frames, until)
	return nil
}

// takePageLocked moves the cursor over a page from the log.
func (v *Viewer) takePageLocked(frames []*Delivered, until int64) {
	f := v.follower
	switch {
	case len(frames) == 0 && v.unanchored && f.ring.has(until+1):
		v.after, v.unanchored = until, false
		return
	case len(frames) == 0:
		v.stale = true // nothing held where something was: a new header tells
		return
	case frames[0].Seq == v.after+1:
	case v.unanchored && frames[0].Type == "turn_started":
	default:
		v.stale = true
		return
	}
	for _, d := range frames {
		v.takeOneLocked(d)
	}
	if f.ring.empty() && v.after == f.top {
		for _, d := range frames {
			f.ring.push(d)
		}
	} else {
		f.ring.unshift(frames)
	}
}

// askHeader asks the log where the viewer is now: the epoch changed, the log
// was trimmed past it, or the thread was deleted.
func (v *Viewer) askHeader(ctx context.Context) error {
	f := v.follower
	revision, aware := v.revision, v.epochAware
	// Our own cursor always knows its epoch, whatever the client knows.
	c := Cursor{LastSeq: v.after, Epoch: v.epoch}
	f.mu.Unlock()
	snap, epochs, accepted, err := f.look(ctx, Attach{Thread: f.thread, Cursor: c, PageFrames: joinFrames, PageBytes: joinBytes})
	if err == nil {
		f.adopt(snap, epochs, accepted)
	}
	f.mu.Lock()
	if err != nil {
		return fmt.Errorf("look at the log after %d: %w", c.LastSeq, err)
	}
	if v.revision != revision || v.left || v.hold > 0 {
		return nil
	}
	start, h := plan(snap, c)
	if snap.Epoch == v.epoch && start == v.after+1 && !h.ReplayIncomplete && h.Status != StatusUnknown {
		v.stale = false // nothing is missing after all
		return nil
	}
	if snap.Epoch == v.epoch && !aware {
		h.Unnumbered = unnumbered(snap, Cursor{LastSeq: c.LastSeq}, start)
	}
	h.Thread = f.thread
	v.moveLocked(snap, start, aware)
	v.noteOpenLocked(snap)
	v.header, v.pending = &h, &h
	f.hub.opts.Metrics.HubHeader()
	return nil
}
