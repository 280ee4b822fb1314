package session

import (
	"context"
	"encoding/json"
	"fmt"

	"turnlog/eventlog"
)

const (
	readFrames = 256
	readBytes  = 1 << 20
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
	return readTurn(ctx, t.log, t.fence.Thread, t.first, t.adm.FirstSeq-1, func(frames []eventlog.StoredFrame) {
		t.saidMu.Lock()
		t.said.AddStored(frames)
		t.saidMu.Unlock()
		for _, f := range frames {
			t.info.Emitted = append(t.info.Emitted, json.RawMessage(f.Frame))
		}
	})
}

// readTurn reads the frames first..last that are still held, page by page.
func readTurn(ctx context.Context, log Reader, thread eventlog.Thread, first, last int64, page func([]eventlog.StoredFrame)) error {
	for after := first - 1; after < last; {
		var frames []eventlog.StoredFrame
		err := retry(ctx, 0, func(ctx context.Context) (err error) {
			frames, err = log.Frames(ctx, thread, after, last, readFrames, readBytes)
			return err
		})
		if err != nil {
			return fmt.Errorf("read frames after %d: %w", after, err)
		}
		if len(frames) == 0 {
			return nil
		}
		page(frames)
		after = frames[len(frames)-1].Seq
	}
	return nil
}
