package eventlog

import (
	"context"
	"fmt"
	"strings"

	"github.com/google/uuid"
)

var beginScript = loadScript("begin")

// newEpoch mints the name of a possible new life of a thread's numbering.
func newEpoch() string { return strings.ReplaceAll(uuid.NewString(), "-", "")[:16] }

// nodeID checks that a node id may stand in keys as it is.
func nodeID(node string) error {
	enc, err := EncodeID(node)
	if err == nil && enc != node {
		err = fmt.Errorf("%w: only letters, digits and .~@_- are allowed", ErrBadID)
	}
	if err != nil {
		return fmt.Errorf("node %q: %w", node, err)
	}
	return nil
}

// Begin admits a submission: it starts the turn, queues it, or says why not.
// The whole decision is one script; sending it again (same TurnID) has no
// further effect and returns the same answer. VerdictSuperseding means that the
// running turn is fenced: call again with its closing frames.
func (l *Log) Begin(ctx context.Context, b Begin) (Admission, error) {
	k, err := l.keys(b.Thread)
	if err != nil {
		return Admission{}, err
	}
	if err := nodeID(b.Node); err != nil {
		return Admission{}, err
	}
	blob, err := encodeSubmission(b.Submission)
	if err != nil {
		return Admission{}, err
	}
	onBusy := b.OnBusy
	if onBusy == "" {
		onBusy = OnBusySupersede
	}
	args := []any{l.cfg, b.Node, b.Generation, string(onBusy), b.Quota, b.Kind, string(b.KindPolicy), newEpoch(), blob}
	args = append(args, closingArgs(b.Closing)...)
	r, err := l.run(ctx, beginScript, k.state(), args...)
	if err != nil {
		return Admission{}, fmt.Errorf("begin turn %s: %w", b.Submission.TurnID, err)
	}
	a, err := admission(b.Thread, r)
	a.Submission = b.Submission
	return a, err
}

// closingArgs: turn_id, attempt, as of, then type and frame of each entry.
func closingArgs(c *Closing) []any {
	if c == nil {
		return []any{"", 0, 0}
	}
	return append([]any{c.TurnID, c.Attempt, c.AsOf}, entryArgs(c.Frames)...)
}

func entryArgs(entries []Entry) []any {
	out := make([]any, 0, 2*len(entries))
	for _, e := range entries {
		out = append(out, e.Type, e.Frame)
	}
	return out
}

// admission reads: verdict, turn_id, attempt, ordinal, epoch, first_seq,
// started, policy, position, status, busy turn, stored submission.
func admission(t Thread, r reply) (Admission, error) {
	a := Admission{
		Verdict: Verdict(r.str(0)), TurnID: r.str(1), Attempt: int(r.int(2)), Ordinal: r.int(3), Epoch: r.str(4), FirstSeq: r.int(5),
		Started: []byte(r.str(6)), Policy: Policy(r.str(7)), Position: int(r.int(8)), Status: Status(r.str(9)),
	}
	if busy := r.list(10); len(busy) > 0 {
		a.Busy = runningTurn(t, busy)
	}
	if a.Verdict == "deleted" {
		return Admission{}, ErrDeleted
	}
	if stored := r.str(11); stored != "" {
		var err error
		if a.Submission, err = decodeSubmission(stored); err != nil {
			return a, err
		}
	}
	return a, nil
}

// runningTurn reads what lib_state.lua's running_turn writes.
func runningTurn(t Thread, r reply) RunningTurn {
	return RunningTurn{
		Thread: t, TurnID: r.str(0), Attempt: int(r.int(1)), Owner: r.str(2), FirstSeq: r.int(3), LastSeq: r.int(4), Ordinal: r.int(5),
		Epoch: r.str(6), Policy: Policy(r.str(7)), Detached: r.str(8) == "1", LastFrame: r.int(9),
	}
}
