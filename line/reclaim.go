package line

import (
	"context"
	"fmt"

	"turnlog/eventlog"
	"turnlog/frame"
)

// Reclaim tries to take over tool calls: those whose target left, and those
// that were put on the list by Refit or by a claim that failed. A call that is
// this connection's now comes once more, without a number.
func (d *Desk) Reclaim(ctx context.Context, c Conn, lines []Line, retarget []string) []Line {
	if len(retarget) == 0 && len(d.again) == 0 {
		return lines
	}
	ids := append(append([]string(nil), retarget...), d.again...)
	d.again, d.failed = nil, nil
	for _, id := range ids {
		lines = d.reclaim(ctx, c, lines, id)
	}
	return lines
}

func (d *Desk) reclaim(ctx context.Context, c Conn, lines []Line, id string) []Line {
	known, ok := d.calls[id]
	if !ok {
		return lines
	}
	frames, err := d.Log.Frames(ctx, d.Thread, known.seq-1, known.seq, 1, 0)
	if err != nil {
		d.again, d.failed = append(d.again, id), err
		return lines
	}
	if len(frames) != 1 || frames[0].Seq != known.seq {
		delete(d.calls, id)
		return lines
	}
	name, _ := frame.String(frames[0].Frame, "name")
	if !d.claim(ctx, c, id, name) {
		return lines
	}
	delete(d.calls, id)
	return append(lines, Line{Own: replayed(d.Thread.ID, known.turnID, frames[0].Frame)})
}

// Refit puts all open calls on the list for Reclaim, because the connection
// fits better now; false: there are none.
func (d *Desk) Refit() bool {
	for id := range d.calls {
		d.again = append(d.again, id)
	}
	return len(d.again) > 0
}

// Owed is why calls still have to be claimed, nil when none are: Reclaim is to
// be called again after a while.
func (d *Desk) Owed() error {
	if len(d.again) == 0 {
		return nil
	}
	return d.failed
}

// Claimed reports whether the connection runs, or ran, a tool call of the thread.
func (d *Desk) Claimed() bool { return d.claimed }

// Releaser lets go of what waits for a connection.
type Releaser interface {
	ReleaseConn(ctx context.Context, thread eventlog.Thread, conn string) ([]string, error)
}

// Retargeter tells this node's viewers that the target of a call left.
type Retargeter interface {
	Retarget(thread eventlog.Thread, requestID string)
}

// Release lets go of the requests of a thread that wait for a connection that
// went away, and tells the viewers of this node; the log tells the others.
func Release(ctx context.Context, log Releaser, hub Retargeter, thread eventlog.Thread, conn string) error {
	ids, err := log.ReleaseConn(ctx, thread, conn)
	for _, id := range ids {
		hub.Retarget(thread, id)
	}
	if err != nil {
		return fmt.Errorf("release the tool calls of a connection: %w", err)
	}
	return nil
}
