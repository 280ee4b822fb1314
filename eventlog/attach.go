package eventlog

import (
	"context"
	"fmt"
)

var attachScript = loadScript("attach")

// Attach asks for a look at a thread, and says that this node views it.
type Attach struct {
	Thread     Thread
	Node       string
	Generation int64 // rises with every attach and detach of the node for this thread; 0 = only look
	Cursor     Cursor
	Policy     Policy // raises the running turn's policy; PolicyUnset = leave it
	PageFrames int    // first page of the replay; default 256
	PageBytes  int    // default 1 MiB
}

// Attach returns one consistent snapshot of a thread with the first page of the
// replay, and registers the node as its viewer. An older generation than the
// one stored changes nothing. It fails with a FencedError when the node was
// declared dead, and with ErrPolicyConflict.
//
// The page starts behind the cursor if its epoch is the log's or not given and
// LastSeq is positive, else at the later of the turn's first frame and the
// frame after its last message.
func (l *Log) Attach(ctx context.Context, a Attach) (Snapshot, error) {
	k, err := l.keys(a.Thread)
	if err != nil {
		return Snapshot{}, err
	}
	if a.Generation > 0 {
		if err := nodeID(a.Node); err != nil {
			return Snapshot{}, err
		}
	}
	def(&a.PageFrames, 256)
	def(&a.PageBytes, 1<<20)
	from := "cursor"
	if a.Cursor.Full {
		from = "full"
	} else if a.Cursor.Live {
		from = "live"
	}
	r, err := l.run(ctx, attachScript, k.state(), l.cfg, a.Node, a.Generation, max(a.Cursor.LastSeq, 0), a.Cursor.Epoch, from,
		string(a.Policy), a.PageFrames, a.PageBytes)
	if err != nil {
		return Snapshot{}, fmt.Errorf("attach: %w", err)
	}
	switch r.str(0) {
	case "dead":
		return Snapshot{}, fmt.Errorf("attach: %w", &FencedError{})
	case "policy":
		return Snapshot{}, fmt.Errorf("attach: %w", ErrPolicyConflict)
	}
	return snapshot(r), nil
}

// snapshot reads: status, outcome, epoch, turn_id, attempt, ordinal, last_seq,
// turn_first, last_message_seq, first held, policy, owner, grace_at, open, page,
// turn ids of the page, bytes behind the page.
func snapshot(r reply) Snapshot {
	s := Snapshot{
		Status: Status(r.str(0)), Outcome: Outcome(r.str(1)), Epoch: r.str(2), TurnID: r.str(3), Attempt: int(r.int(4)), Ordinal: r.int(5),
		LastSeq: r.int(6), TurnFirstSeq: r.int(7), LastMessageSeq: r.int(8), FirstHeld: r.int(9), Policy: Policy(r.str(10)),
		Owner: r.str(11), GraceDeadline: r.millis(12), Page: r.list(14).frames(),
		Behind: r.int(16),
	}
	if names := r.list(15); len(names) > 0 {
		s.Turns = make(map[int64]string, len(names)/2)
		for i := 0; i+1 < len(names); i += 2 {
			s.Turns[names.int(i)] = names.str(i + 1)
		}
	}
	open := r.list(13)
	for i := 0; i+5 < len(open); i += 6 {
		s.Open = append(s.Open, OpenRequest{
			ID: open.str(i), Kind: open.str(i + 1), Name: open.str(i + 2), Seq: open.int(i + 3), Target: open.str(i + 4), Frame: []byte(open.str(i + 5)),
		})
	}
	return s
}
