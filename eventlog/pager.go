package eventlog

import (
	"context"
	"fmt"
	"sync"
)

// Bounds of one page read from the log.
const (
	pageFrames = 500
	pageBytes  = 1 << 20
)

// pager reads pages of one thread's log. Viewers that want the same page at
// the same time share one read.
type pager struct {
	mu    sync.Mutex
	calls map[pageKey]*pageCall
}

type pageKey struct {
	epoch        string
	after, until int64
	frames, size int
}

type pageCall struct {
	done   chan struct{}
	frames []*Delivered
	err    error
}

// page reads the frames after one number up to another (inclusive), as far as
// the bounds allow: contiguous among themselves, but the first one may be
// later than asked for if the log was trimmed. Nil without an error: nothing
// is held, or the epoch is another one by now (then the thread is suspected).
func (f *follower) page(ctx context.Context, key pageKey) ([]*Delivered, error) {
	key.frames, key.size = min(key.frames, pageFrames), min(key.size, pageBytes)
	for {
		f.pages.mu.Lock()
		call := f.pages.calls[key]
		if call == nil {
			call = &pageCall{done: make(chan struct{})}
			if f.pages.calls == nil {
				f.pages.calls = make(map[pageKey]*pageCall)
			}
			f.pages.calls[key] = call
			f.pages.mu.Unlock()
			call.frames, call.err = f.readPage(ctx, key)
			f.pages.mu.Lock()
			delete(f.pages.calls, key)
			f.pages.mu.Unlock()
			close(call.done)
			return call.frames, call.err
		}
		f.pages.mu.Unlock()
		select {
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		case <-call.done:
		}
		if call.err == nil {
			return call.frames, nil
		}
		// The reader's context may have ended; ours decides for us.
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
	}
}

func (f *follower) readPage(ctx context.Context, key pageKey) ([]*Delivered, error) {
	stored, err := f.hub.store.Frames(ctx, f.thread, key.after, key.until, key.frames, key.size)
	if err != nil {
		return nil, fmt.Errorf("read frames after %d: %w", key.after, err)
	}
	f.hub.opts.Metrics.HubPage(len(stored))
	// Log entries do not name their epoch. If it is still ours after the read,
	// it was during the read.
	peeks, err := f.hub.store.Peek(ctx, []Thread{f.thread})
	if err != nil {
		return nil, fmt.Errorf("check the epoch: %w", err)
	}
	if len(peeks) != 1 || peeks[0].Epoch != key.epoch && peeks[0].Epoch != "" {
		f.hub.suspect(f)
		return nil, nil
	}
	return f.encodeStored(ctx, key.epoch, stored)
}

// encodeStored makes deliverable frames of the contiguous front of stored ones.
func (f *follower) encodeStored(ctx context.Context, epoch string, stored []StoredFrame) ([]*Delivered, error) {
	for i := 1; i < len(stored); i++ {
		if stored[i].Seq != stored[i-1].Seq+1 {
			stored = stored[:i]
		}
	}
	if len(stored) == 0 {
		return nil, nil
	}
	names, err := f.turnNames(ctx, stored)
	if err != nil {
		return nil, err
	}
	entries := make([]Entry, len(stored))
	for i := range stored {
		entries[i] = Entry{Type: stored[i].Type, Frame: stored[i].Frame}
	}
	return encode(f.thread.ID, epoch, stored[0].Seq, entries,
		func(i int) string { return names[stored[i].Ordinal] }), nil
}

// turnNames finds the turn ids of the ordinals among the frames.
func (f *follower) turnNames(ctx context.Context, stored []StoredFrame) (map[int64]string, error) {
	names := make(map[int64]string, 2)
	complete := true
	f.mu.Lock()
	for i := range stored {
		if _, ok := names[stored[i].Ordinal]; ok {
			continue
		}
		id, ok := f.turns[stored[i].Ordinal]
		names[stored[i].Ordinal] = id
		complete = complete && ok
	}
	f.mu.Unlock()
	if complete {
		return names, nil
	}
	all, err := f.hub.store.TurnIDs(ctx, f.thread)
	if err != nil {
		return nil, fmt.Errorf("read turn ids: %w", err)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	for ordinal := range names {
		if id := all[ordinal]; id != "" {
			names[ordinal] = id
			f.knowTurnLocked(ordinal, id)
		}
	}
	return names, nil
}
