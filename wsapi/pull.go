package wsapi

import (
	"context"
	"errors"

	"turnlog/eventlog"
	"turnlog/frame"
)

// pull asks the cursor for what comes next and turns it into lines, in the
// order in which the client must see them. more is false when that was all.
func (f *following) pull(c *conn, lines []line) (_ []line, more bool, err error) {
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
	if d.Header != nil {
		lines = f.startReplay(ctx, c, lines, d.Header)
	}
	for _, fr := range d.Frames {
		lines = f.show(ctx, c, lines, fr)
	}
	retarget := d.Retarget
	if len(f.again) > 0 {
		retarget = append(append([]string(nil), retarget...), f.again...)
		f.again = nil
	}
	for _, id := range retarget {
		lines = f.reclaim(ctx, c, lines, id)
	}
	return lines, !d.Done && !d.Empty(), nil
}

// show adds one frame from the log.
func (f *following) show(ctx context.Context, c *conn, lines []line, fr *eventlog.Delivered) []line {
	if f.waiting {
		if fr.Type != "turn_started" {
			return lines
		}
		f.waiting = false
	}
	switch fr.Type {
	case "tool_call":
		lines = append(lines, f.toolCall(ctx, c, fr))
	case "tool_approval_request", "plan_approval_request", "secret_request":
		lines = append(lines, f.approval(fr))
	default:
		lines = append(lines, line{shared: fr})
		lines = f.follow(c, lines, fr)
	}
	if h := f.replay.header; h != nil && fr.Seq >= h.LastSeq {
		lines = f.endReplay(lines)
	}
	return lines
}

// follow keeps track of the thread's turns.
func (f *following) follow(c *conn, lines []line, fr *eventlog.Delivered) []line {
	switch fr.Type {
	case "turn_started":
		f.turn.id, f.turn.running, f.fresh = fr.TurnID, true, false
	case "request_closed":
		if id, ok := frame.String(fr.JSON, "request_id"); ok {
			delete(f.calls, id)
		}
	case "generation_stopped":
		f.sawStopped(fr.TurnID)
	case "turn_finished":
		f.turn = turnSeen{id: fr.TurnID, finished: fr.TurnID}
		f.calls, f.again = nil, nil
		c.threads.finishedTurn(f.thread.ID, fr.TurnID)
		lines = f.sawFinished(lines, fr.TurnID)
	}
	return lines
}

// startReplay adds a header and what follows it without numbers. When nothing
// is to be replayed the replay ends at once.
func (f *following) startReplay(ctx context.Context, c *conn, lines []line, h *eventlog.Header) []line {
	c.srv.opts.Metrics.Replayed(replayKind(h))
	lines = append(lines, line{own: headerFrame(f.thread.ID, h)})
	f.waiting = false
	f.calls, f.again = nil, nil
	f.replay.header = h
	for i := range h.Unnumbered {
		lines = append(lines, f.unnumbered(ctx, c, h, &h.Unnumbered[i]))
	}
	if h.ReplayCount == 0 {
		lines = f.endReplay(lines)
	}
	return lines
}

// endReplay adds the acknowledgements that belong behind the last replayed frame.
func (f *following) endReplay(lines []line) []line {
	h := f.replay.header
	f.replay.header = nil
	f.turn.id, f.turn.running = h.TurnID, h.Status == eventlog.StatusRunning
	f.fresh = h.Status == eventlog.StatusUnknown
	if !f.turn.running {
		f.turn.finished = h.TurnID
	}
	for _, id := range f.replay.acks {
		if h.Status == eventlog.StatusUnknown {
			lines = append(lines, line{own: noTurnAck(f.thread.ID, id)})
		} else {
			lines = append(lines, line{own: resumedAck(f.thread.ID, h.ReplayCount, id)})
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

// headerFrame is the frame chat_resumed.
func headerFrame(threadID string, h *eventlog.Header) []byte {
	o := object(nil).text("type", "chat_resumed").text("thread_id", threadID).text("status", string(h.Status)).
		number("last_seq", h.LastSeq).number("replay_count", h.ReplayCount).flag("replay_incomplete", h.ReplayIncomplete).
		text("epoch", h.Epoch).number("first_seq", h.FirstSeq).text("turn_id", h.TurnID).
		text("outcome", string(h.Outcome)).text("on_disconnect", string(h.Policy))
	if !h.GraceDeadline.IsZero() {
		o = o.time("grace_deadline", h.GraceDeadline)
	}
	return o.end()
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
