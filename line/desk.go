package line

import (
	"context"

	"turnlog/eventlog"
	"turnlog/frame"
)

// mostCalls bounds how many open tool calls of a thread are remembered.
const mostCalls = 256

// Desk shapes what one cursor delivers for one connection. Its zero value,
// with Thread, Log and Cursor set, is ready.
type Desk struct {
	Thread eventlog.Thread
	Log    Log
	Cursor Cursor

	// Eligible: the connection may run tool calls of the thread.
	Eligible bool

	claimed bool
	calls   map[string]call // open tool calls that others run, by request id
	again   []string        // of these, to be claimed again
	failed  error           // why the newest claim could not be made
}

// call is an open tool call that this connection was not given.
type call struct {
	seq    int64
	turnID string
}

// Header restarts the desk and adds the frame chat_resumed and the open
// requests from before the replay.
func (d *Desk) Header(ctx context.Context, c Conn, lines []Line, h *eventlog.Header) []Line {
	lines = append(lines, Line{Own: Header(d.Thread.ID, h)})
	d.calls, d.again = nil, nil
	for i := range h.Unnumbered {
		lines = append(lines, d.unnumbered(ctx, c, h, &h.Unnumbered[i]))
	}
	return lines
}

// Show returns what the connection is shown of a frame from the log.
func (d *Desk) Show(ctx context.Context, c Conn, fr *eventlog.Delivered) Line {
	switch fr.Type {
	case "tool_call":
		return d.toolCall(ctx, c, fr)
	case "tool_approval_request", "plan_approval_request", "secret_request":
		return d.approval(fr)
	case "request_closed":
		if id, ok := frame.String(fr.JSON, "request_id"); ok {
			delete(d.calls, id)
		}
	case "turn_finished":
		d.calls, d.again = nil, nil
	}
	return Line{Shared: fr}
}

// toolCall shows the call itself to the connection that runs it, else only
// that it is open; and that it is closed when it was answered before the replay
// that holds it.
func (d *Desk) toolCall(ctx context.Context, c Conn, fr *eventlog.Delivered) Line {
	id, _ := frame.String(fr.JSON, "tool_call_id")
	name, _ := frame.String(fr.JSON, "name")
	if !d.Cursor.RequestOpen(id, fr.Seq) {
		return d.instead(fr, closed(id))
	}
	if d.claim(ctx, c, id, name) {
		return Line{Shared: fr}
	}
	d.remember(id, fr.Seq, fr.TurnID)
	return d.instead(fr, opened(id, name))
}

// approval passes a request for every viewer, unless it was answered meanwhile.
func (d *Desk) approval(fr *eventlog.Delivered) Line {
	id, _ := frame.String(fr.JSON, "approval_id")
	if !d.Cursor.RequestOpen(id, fr.Seq) {
		return d.instead(fr, closed(id))
	}
	return Line{Shared: fr}
}

// instead shows something else under the number of a frame.
func (d *Desk) instead(fr *eventlog.Delivered, own []byte) Line {
	return Line{Own: frame.Splice(nil, own, d.Thread.ID, fr.TurnID, fr.Seq), stands: fr}
}

// unnumbered is a request from before the replay that is still open.
func (d *Desk) unnumbered(ctx context.Context, c Conn, h *eventlog.Header, r *eventlog.OpenRequest) Line {
	if r.Kind != "tool_call" || d.claim(ctx, c, r.ID, r.Name) {
		return Line{Own: replayed(d.Thread.ID, h.TurnID, r.Frame)}
	}
	d.remember(r.ID, r.Seq, h.TurnID)
	return Line{Own: replayed(d.Thread.ID, h.TurnID, opened(r.ID, r.Name))}
}

// claim makes the connection the target of a tool call, if it may be. When the
// log does not answer, the call is shown as open until a later Reclaim.
func (d *Desk) claim(ctx context.Context, c Conn, id, name string) bool {
	if !d.Eligible || !c.Runs(name) {
		return false
	}
	mine, err := d.Log.ClaimRequest(ctx, d.Thread, id, c.ID())
	if err != nil {
		d.again, d.failed = append(d.again, id), err
		return false
	}
	d.claimed = d.claimed || mine
	return mine
}

func (d *Desk) remember(id string, seq int64, turnID string) {
	if d.calls == nil {
		d.calls = make(map[string]call)
	}
	if len(d.calls) < mostCalls {
		d.calls[id] = call{seq: seq, turnID: turnID}
	}
}
