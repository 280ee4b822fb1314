package eventlog

import (
	"context"
	"fmt"
	"sync"
)

// Bounds of one page read from the log.
const (
	pageFrames = 2048
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
	limit        int
	turns        bool // the ids of the turns may not be known
}

type pageCall struct {
	done chan struct{}
	page Page
	err  error
}

// page reads the frames after one number up to another (inclusive), at most
// limit: contiguous among themselves, but the first one may be later than
// asked for if the log was trimmed. An empty one: nothing is held, or the epoch
// is another one by now (then the thread is suspected). It is shared, so read-only.
func (f *follower) page(ctx context.Context, key pageKey) (Page, error) {
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
			call.page, call.err = f.readPage(ctx, key)
			f.pages.mu.Lock()
			delete(f.pages.calls, key)
			f.pages.mu.Unlock()
			close(call.done)
			return call.page, call.err
		}
		f.pages.mu.Unlock()
		select {
		case <-ctx.Done():
			return Page{}, context.Cause(ctx)
		case <-call.done:
		}
		if call.err == nil {
			return call.page, nil
		}
		// The reader's context may have ended; ours decides for us.
		if ctx.Err() != nil {
			return Page{}, context.Cause(ctx)
		}
	}
}

func (f *follower) readPage(ctx context.Context, key pageKey) (Page, error) {
	page, err := f.hub.store.Page(ctx, f.thread, key.after, key.until, key.limit, key.turns)
	if err != nil {
		return Page{}, fmt.Errorf("read frames after %d: %w", key.after, err)
	}
	f.hub.opts.Metrics.HubPage(len(page.Frames))
	// Log entries do not name their epoch.
	if page.Epoch != key.epoch && page.Epoch != "" {
		f.hub.suspect(f)
		return Page{}, nil
	}
	if whole := contiguous(page.Frames); len(whole) < len(page.Frames) {
		page.Frames, page.Behind, page.LastSeq = whole, 0, 0
	}
	f.mu.Lock()
	if f.epoch == key.epoch {
		for ordinal, id := range page.Turns {
			f.knowTurnLocked(ordinal, id)
		}
	}
	f.mu.Unlock()
	return page, nil
}

// contiguous is the front of stored frames up to the first hole.
func contiguous(stored []StoredFrame) []StoredFrame {
	for i := 1; i < len(stored); i++ {
		if stored[i].Seq != stored[i-1].Seq+1 {
			return stored[:i]
		}
	}
	return stored
}

// encodeStored makes deliverable frames of contiguous stored ones.
func (f *follower) encodeStored(ctx context.Context, epoch string, stored []StoredFrame) ([]*Delivered, error) {
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
