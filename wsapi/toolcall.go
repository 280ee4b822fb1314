package wsapi

import (
	"context"

	"turnlog/eventlog"
	"turnlog/frame"
)

// mostCalls bounds how many open tool calls of a thread are remembered.
const mostCalls = 256

// toolCall decides what this connection is shown of a tool call: the call
// itself when it is the one that runs it, else only that it is open; and that it is
// closed when it was answered before the replay that holds it.
func (f *following) toolCall(ctx context.Context, c *conn, fr *eventlog.Delivered) line {
	id, _ := frame.String(fr.JSON, "tool_call_id")
	name, _ := frame.String(fr.JSON, "name")
	if !f.viewer.RequestOpen(id, fr.Seq) {
		return line{own: closedInstead(f.thread.ID, fr, id)}
	}
	if f.claim(ctx, c, id, name) {
		return line{shared: fr}
	}
	f.remember(id, fr.Seq)
	return line{own: frame.Splice(nil, openInstead(id, name).end(), f.thread.ID, fr.TurnID, fr.Seq)}
}

// approval passes a request for every viewer, unless it was answered meanwhile.
func (f *following) approval(fr *eventlog.Delivered) line {
	id, _ := frame.String(fr.JSON, "approval_id")
	if !f.viewer.RequestOpen(id, fr.Seq) {
		return line{own: closedInstead(f.thread.ID, fr, id)}
	}
	return line{shared: fr}
}

// unnumbered is a request from before the replay that is still open.
func (f *following) unnumbered(ctx context.Context, c *conn, h *eventlog.Header, r *eventlog.OpenRequest) line {
	if r.Kind != "tool_call" || f.claim(ctx, c, r.ID, r.Name) {
		return line{own: replayed(f.thread.ID, h.TurnID, r.Frame)}
	}
	f.remember(r.ID, r.Seq)
	return line{own: replayed(f.thread.ID, h.TurnID, openInstead(r.ID, r.Name).end())}
}

// reclaim tries to take over a tool call whose target left. The call then
// comes once more, without a number.
func (f *following) reclaim(ctx context.Context, c *conn, lines []line, id string) []line {
	seq, known := f.calls[id]
	if !known {
		return lines
	}
	frames, err := c.srv.logs.Frames(ctx, f.thread, seq-1, seq, 1, 0)
	if err != nil {
		f.again = append(f.again, id)
		return lines
	}
	if len(frames) != 1 || frames[0].Seq != seq {
		delete(f.calls, id)
		return lines
	}
	name, _ := frame.String(frames[0].Frame, "name")
	if !f.claim(ctx, c, id, name) {
		return lines
	}
	delete(f.calls, id)
	return append(lines, line{own: replayed(f.thread.ID, f.turn.id, frames[0].Frame)})
}

// claim makes this connection the target of a tool call, if it may be.
func (f *following) claim(ctx context.Context, c *conn, id, name string) bool {
	if !f.eligibleLocked() || !c.tools.fits(name) {
		return false
	}
	mine, err := c.srv.logs.ClaimRequest(ctx, f.thread, id, c.id)
	if err != nil {
		// The tick's retry tries again; until then the call is shown as open.
		f.again = append(f.again, id)
		c.log.Warn("a tool call could not be claimed, trying again", "error", err)
		c.out.postpone(f)
		return false
	}
	f.claimed = f.claimed || mine
	return mine
}

func (f *following) remember(id string, seq int64) {
	if f.calls == nil {
		f.calls = make(map[string]int64)
	}
	if len(f.calls) < mostCalls {
		f.calls[id] = seq
	}
}

// retryCalls claims all open calls again, because this connection fits better now.
func (f *following) retryCalls() (any bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for id := range f.calls {
		f.again = append(f.again, id)
	}
	return len(f.again) > 0
}

func openInstead(id, name string) object {
	return object(nil).text("type", "request_open").text("request_id", id).
		text("kind", "tool_call").text("name", name)
}

func closedInstead(threadID string, fr *eventlog.Delivered, id string) []byte {
	b := object(nil).text("type", "request_closed").text("request_id", id).text("reason", "answered").end()
	return frame.Splice(nil, b, threadID, fr.TurnID, fr.Seq)
}

// replayed is a request sent outside of the numbering.
func replayed(threadID, turnID string, stored []byte) []byte {
	return extend(stored).text("thread_id", threadID).text("turn_id", turnID).flag("replayed", true).end()
}
