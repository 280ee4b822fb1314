package eventlog

import (
	"context"
	"fmt"
)

var dropQueuedScript = loadScript("drop_queued")

// Queue returns the submissions that wait on a thread, next one first.
func (l *Log) Queue(ctx context.Context, t Thread) ([]Submission, error) {
	k, err := l.keys(t)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, l.opt.CommandTimeout)
	defer cancel()
	items, err := l.rdb.LRange(ctx, k.queue(), 0, -1).Result()
	if err != nil {
		return nil, l.mapError(ctx, "read queue", err)
	}
	out := make([]Submission, 0, len(items))
	for _, item := range items {
		s, err := decodeSubmission(item)
		if err != nil {
			return nil, err
		}
		out = append(out, s)
	}
	return out, nil
}

// DropQueued removes a submission that waits; false: it does not.
func (l *Log) DropQueued(ctx context.Context, t Thread, turnID string) (bool, error) {
	k, err := l.keys(t)
	if err != nil {
		return false, err
	}
	r, err := l.run(ctx, dropQueuedScript, k.state(), turnID)
	if err != nil {
		return false, fmt.Errorf("drop queued turn %s: %w", turnID, err)
	}
	return r.int(0) == 1, nil
}
