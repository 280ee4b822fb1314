package eventlog

import (
	"context"
	"fmt"

	"github.com/google/uuid"
)

var beginNextScript = loadScript("begin_next")

// BeginNext claims what a thread has waiting for the given node: the next
// attempt of a lost turn, else the next queued submission. The verdict is
// VerdictStarted, or "" when there was nothing to claim. The claim carries a
// token, so that a call that is sent twice returns the same turn.
func (l *Log) BeginNext(ctx context.Context, t Thread, node string) (Admission, error) {
	return l.beginNext(ctx, t, node, uuid.NewString())
}

func (l *Log) beginNext(ctx context.Context, t Thread, node, claim string) (Admission, error) {
	k, err := l.keys(t)
	if err != nil {
		return Admission{}, err
	}
	if err := nodeID(node); err != nil {
		return Admission{}, err
	}
	r, err := l.run(ctx, beginNextScript, k.state(), l.cfg, node, newEpoch(), claim)
	if err != nil {
		return Admission{}, fmt.Errorf("begin next turn of %s: %w", t.ID, err)
	}
	return admission(t, r)
}
