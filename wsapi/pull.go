package wsapi

import (
	"context"
	"errors"

	"turnlog/eventlog"
	"turnlog/line"
)

// pull asks the cursor for what comes next and turns it into lines, in the
// order in which the client must see them. more is false when that was all.
func (f *following) pull(c *conn, lines []line.Line) (_ []line.Line, more bool, err error) {
	if !f.moving.TryLock() {
		return lines, false, nil // whoever moves it announces it again
	}
	defer f.moving.Unlock()
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.gone {
		return lines, false, nil
	}
	ctx := c.ctx // what the log is asked has time limits of its own
	d, err := f.viewer.Next(ctx, roundFrames, roundBytes)
	if err != nil {
		return lines, false, err
	}
	f.muffled = false
	f.desk.Eligible = f.submitted || f.resumed
	if d.Header != nil {
		lines = f.startReplay(ctx, c, lines, d.Header)
	}
	for _, fr := range d.Frames {
		lines = f.show(ctx, c, lines, fr)
	}
	lines = f.desk.Reclaim(ctx, c, lines, d.Retarget)
	more = !d.Done && !d.Empty()
	if owed := f.desk.Owed(); owed != nil && !more {
		c.log.Warn("a tool call could not be claimed, trying again", "error", owed)
		c.out.postpone(f)
	}
	return lines, more, nil
}

// show adds one frame from the log.
func (f *following) show(ctx context.Context, c *conn, lines []line.Line, fr *eventlog.Delivered) []line.Line {
	if f.waiting {
		if fr.Type != "turn_started" {
			return lines
		}
		f.waiting = false
	}
	lines = append(lines, f.desk.Show(ctx, c, fr))
	lines = f.follow(c, lines, fr)
	if h := f.replay.header; h != nil && fr.Seq >= h.LastSeq {
		lines = f.endReplay(lines)
	}
	return lines
}

// follow keeps track of the thread's turns.
func (f *following) follow(c *conn, lines []line.Line, fr *eventlog.Delivered) []line.Line {
	switch fr.Type {
	case "turn_started":
		f.turn.id, f.turn.running, f.fresh = fr.TurnID, true, false
	case "generation_stopped":
		f.sawStopped(fr.TurnID)
	case "turn_finished":
		f.turn = turnSeen{id: fr.TurnID, finished: fr.TurnID}
		c.threads.finishedTurn(f.thread.ID, fr.TurnID)
		lines = f.sawFinished(lines, fr.TurnID)
	}
	return lines
}

// startReplay adds a header and what follows it without numbers. When nothing
// is to be replayed the replay ends at once.
func (f *following) startReplay(ctx context.Context, c *conn, lines []line.Line, h *eventlog.Header) []line.Line {
	c.srv.opts.Metrics.Replayed(replayKind(h))
	lines = f.desk.Header(ctx, c, lines, h)
	f.waiting = false
	f.replay.header = h
	if h.ReplayCount == 0 {
		lines = f.endReplay(lines)
	}
	return lines
}

// endReplay adds the acknowledgements that belong behind the last replayed frame.
func (f *following) endReplay(lines []line.Line) []line.Line {
	h := f.replay.header
	f.replay.header = nil
	f.turn.id, f.turn.running = h.TurnID, h.Status == eventlog.StatusRunning
	f.fresh = h.Status == eventlog.StatusUnknown
	if !f.turn.running {
		f.turn.finished = h.TurnID
	}
	for _, id := range f.replay.acks {
		if h.Status == eventlog.StatusUnknown {
			lines = append(lines, line.Line{Own: noTurnAck(f.thread.ID, id)})
		} else {
			lines = append(lines, line.Line{Own: resumedAck(f.thread.ID, h.ReplayCount, id)})
		}
	}
	f.replay.acks = nil
	return f.replayedStops(lines)
}

// replayKind names a header for the metrics.
func replayKind(h *eventlog.Header) string {
	switch {
	case h.Status == eventlog.StatusUnknown:
		return "unknown"
	case h.ReplayIncomplete:
		return "incomplete"
	}
	return "complete"
}

// pullFailed decides what becomes of a thread that could not be read.
func (c *conn) pullFailed(f *following, err error) {
	switch {
	case c.ctx.Err() != nil || c.out.why() != nil:
	case errors.Is(err, eventlog.ErrClosed):
		c.shut(closeRestart)
	default:
		f.mu.Lock()
		first := !f.muffled
		f.muffled = true
		f.mu.Unlock()
		if first {
			c.log.Warn("frames could not be read, trying again", "error", err)
		}
		c.out.postpone(f)
	}
}
