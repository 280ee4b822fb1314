package eventlog

import (
	"context"
	"fmt"
)

var detachScript = loadScript("detach")

// DetachResult says what a detach changed.
type DetachResult struct {
	Changed bool // false: a later attach of this node stands, or it was not attached
	Last    bool // a running turn has no viewer on any node any more

	// Ending is set when the last viewer of a cancel turn left: the turn is
	// fenced and its owner woken to end it as detached. Whoever holds the
	// result may end it right away: read the frames of Turn, then Finish with the closing
	// frames. If nobody does, the reaper does.
	Ending bool
	Turn   RunningTurn
}

// Detach says that a node does not view a thread any more. A generation lower
// than the stored one changes nothing. When the last viewer of a running turn
// leaves, its policy decides: cancel fences and ends it (after the reconnect
// window if the server closed the socket), grace starts the grace, preserve
// only notes the time. It works also when Redis is out of memory.
func (l *Log) Detach(ctx context.Context, t Thread, node string, generation int64, byServer bool) (DetachResult, error) {
	k, err := l.keys(t)
	if err != nil {
		return DetachResult{}, err
	}
	by := 0
	if byServer {
		by = 1
	}
	r, err := l.run(ctx, detachScript, k.state(), l.cfg, node, generation, by)
	if err != nil {
		return DetachResult{}, fmt.Errorf("detach: %w", err)
	}
	d := DetachResult{Changed: r.int(0) == 1, Last: r.int(1) == 1, Ending: r.int(2) == 1}
	if d.Ending {
		d.Turn = runningTurn(t, r.list(3))
	}
	return d, nil
}
