package session

import (
	"context"
	"encoding/json"
	"fmt"

	"turnlog/closing"
	"turnlog/eventlog"
)

// prepare gives a later attempt what the earlier ones left. First attempts need nothing.
func (t *turn) prepare(ctx context.Context) error {
	if t.fence.Attempt <= 1 {
		return nil
	}
	var snap eventlog.Snapshot
	err := retry(ctx, 0, func(ctx context.Context) (err error) {
		snap, err = t.log.Attach(ctx, eventlog.Attach{Thread: t.fence.Thread, Cursor: eventlog.Cursor{Live: true}})
		return err
	})
	if err != nil {
		return fmt.Errorf("look at the thread: %w", err)
	}
	if snap.TurnID != t.fence.TurnID || snap.TurnFirstSeq <= 0 {
		return fmt.Errorf("look at the thread: %w", eventlog.ErrFenced)
	}
	t.first = snap.TurnFirstSeq
	err = retry(ctx, 0, func(ctx context.Context) (err error) {
		t.info.Checkpoint, err = t.log.Checkpoint(ctx, t.fence.Thread)
		return err
	})
	if err != nil {
		return fmt.Errorf("read the checkpoint: %w", err)
	}
	return closing.Pages(ctx, patient{t.log}, t.fence.Thread, t.first, t.adm.FirstSeq-1, func(frames []eventlog.StoredFrame) {
		t.saidMu.Lock()
		t.said.AddStored(frames)
		t.saidMu.Unlock()
		for _, f := range frames {
			t.info.Emitted = append(t.info.Emitted, json.RawMessage(f.Frame))
		}
	})
}

// patient reads frames through passing failures of Redis.
type patient struct{ log Reader }

// Frames implements closing.Source.
func (p patient) Frames(ctx context.Context, thread eventlog.Thread, after, until int64, limit, maxBytes int) (frames []eventlog.StoredFrame, err error) {
	err = retry(ctx, 0, func(ctx context.Context) (err error) {
		frames, err = p.log.Frames(ctx, thread, after, until, limit, maxBytes)
		return err
	})
	return frames, err
}
