package eventlog

import (
	"context"
	"fmt"
)

var reapScript = loadScript("reap")

// Reap asks to act on a thread's deadlines that are past.
type Reap struct {
	Thread    Thread
	Node      string   // the reaper
	SkipGrace bool     // leave grace deadlines alone: viewers may not have been able to come back
	Closing   *Closing // ends the turn; see Reaped.Ending
}

// Reaped says what a reap did.
type Reaped struct {
	// Ending is set when the turn must end: it is fenced. Read the frames of
	// Turn, build its closing frames for Outcome, and call again with them.
	Ending  bool
	Outcome Outcome
	Turn    RunningTurn

	Ended    bool // this call, or an earlier try of it, ended the turn
	Finished Finished
	Expired  []string // requests whose own deadline passed; their owner was told
}

// Reap acts on one due thread: whatever is past is checked again in the script,
// so that two reapers at once have one effect. It works also when Redis is out
// of memory.
func (l *Log) Reap(ctx context.Context, r Reap) (Reaped, error) {
	k, err := l.keys(r.Thread)
	if err != nil {
		return Reaped{}, err
	}
	skip := 0
	if r.SkipGrace {
		skip = 1
	}
	args := []any{l.cfg, r.Node, skip, newEpoch()}
	rep, err := l.run(ctx, reapScript, k.state(), append(args, closingArgs(r.Closing)...)...)
	if err != nil {
		return Reaped{}, fmt.Errorf("reap: %w", err)
	}
	// kind, expired, then by kind.
	out := Reaped{Expired: rep.list(1).strings()}
	switch rep.str(0) {
	case "ending":
		out.Ending, out.Outcome, out.Turn = true, Outcome(rep.str(2)), runningTurn(r.Thread, rep.list(3))
	case "ended":
		out.Ended, out.Finished = true, finished(rep.list(2))
		out.Outcome = out.Finished.Outcome
	}
	return out, nil
}
