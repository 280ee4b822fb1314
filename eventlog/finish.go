package eventlog

import (
	"context"
	"fmt"
)

var finishScript = loadScript("finish")

// Finish ends a turn with its closing frames. Of several finishers exactly one
// wins; asking again is told the same. It fails with a FencedError when
// the turn is another attempt's, was superseded or deleted, and with ErrMoved
// when AsOf is not the log's end. It works also when Redis is out of memory.
func (l *Log) Finish(ctx context.Context, f Finish) (Finished, error) {
	k, err := l.keys(f.Fence.Thread)
	if err != nil {
		return Finished{}, err
	}
	args := []any{l.cfg, f.Fence.TurnID, f.Fence.Attempt, f.Fence.Owner, f.Finisher, string(f.Outcome), f.Consumed, f.AsOf, newEpoch()}
	r, err := l.run(ctx, finishScript, k.state(), append(args, entryArgs(f.Frames)...)...)
	if err != nil {
		return Finished{}, fmt.Errorf("finish turn %s: %w", f.Fence.TurnID, err)
	}
	switch r.str(0) {
	case "moved":
		return Finished{}, fmt.Errorf("finish turn %s: %w", f.Fence.TurnID, ErrMoved)
	case "fenced":
		return Finished{}, fmt.Errorf("finish turn %s: %w", f.Fence.TurnID, &FencedError{Outcome: Outcome(r.str(1))})
	}
	return finished(r), nil
}

// finished reads: "ended", won, outcome, first, last, epoch, ready, frames.
func finished(r reply) Finished {
	return Finished{
		Won: r.int(1) == 1, Outcome: Outcome(r.str(2)), FirstSeq: r.int(3), LastSeq: r.int(4), Epoch: r.str(5),
		Ready: r.int(6) == 1, Frames: r.list(7).frames(),
	}
}
