package eventlog

import (
	"context"
	"sync/atomic"
)

// budget is the memory that the pages held by a node's viewers may take. It
// never blocks: a viewer that does not read must not keep others waiting.
type budget struct {
	limit int64
	used  atomic.Int64
}

// take reserves n bytes if there is room.
func (b *budget) take(n int64) bool {
	if b.used.Add(n) <= b.limit {
		return true
	}
	b.used.Add(-n)
	return false
}

func (b *budget) give(n int64) { b.used.Add(-n) }

const (
	frameOverhead = 96 // of a held frame, beyond its bytes
	blindFrames   = 64 // page size while nothing is known of how large frames are
	leastFrames   = 16
)

// remainder is what a viewer that is far behind read ahead, and what it knows of
// the log behind that. It has one user at a time: whoever holds the viewer's lock,
// or Next after having taken it out of the viewer.
type remainder struct {
	frames []StoredFrame // contiguous; the array may be shared with other viewers
	taken  int64         // bytes reserved
	idle   bool          // not asked for since the last look

	// bytes follow the frames up to number last; last = 0: not known.
	bytes, last int64
}

// remainderOf keeps the part of a page that follows a number. Without room it
// keeps only what it knows of sizes.
func remainderOf(b *budget, page []StoredFrame, after, behind, last int64) remainder {
	page = contiguous(page)
	for len(page) > 0 && page[0].Seq <= after {
		page = page[1:]
	}
	if len(page) == 0 || page[0].Seq != after+1 {
		return remainder{}
	}
	r := remainder{frames: page, bytes: behind, last: last}
	if size := heldSize(page); b.take(size) {
		r.taken = size
		return r
	}
	r.release(b)
	return r
}

// fill makes sure that the frame after key.after leads, if it is held at all:
// from what is at hand, else by reading a page, as large as the budget allows.
// key.limit is what the viewer itself has room for.
func (r *remainder) fill(ctx context.Context, f *follower, key pageKey) error {
	b := &f.hub.ahead
	if len(r.frames) > 0 && r.frames[0].Seq == key.after+1 && r.frames[0].Seq <= key.until {
		return nil
	}
	r.frames = nil
	if r.taken == 0 && b.take(pageBytes) {
		r.taken = pageBytes
	}
	limit, until := r.fit(key.after, key.until)
	if r.taken == 0 {
		limit = min(limit, key.limit)
	}
	key.limit, key.until = limit, until
	page, err := f.page(ctx, key)
	if err != nil {
		r.drop(b)
		return err
	}
	r.frames, r.bytes, r.last = page.Frames, page.Behind, page.LastSeq
	return nil
}

// fit bounds a page: all of it if that is known to be small enough, else as
// many frames as half a page of the mean size has. Sizes that differ much make
// a reply larger than a page; what is too much of it is not kept.
func (r *remainder) fit(after, until int64) (limit int, to int64) {
	switch {
	case r.last <= after:
		return blindFrames, until
	case r.bytes+(r.last-after)*frameOverhead <= pageBytes:
		return pageFrames, min(until, r.last)
	}
	mean := (r.bytes + r.last - after) / (r.last - after)
	return int(min(max(pageBytes/2/(mean+frameOverhead), leastFrames), pageFrames)), until
}

// take removes what one delivery has room for.
func (r *remainder) take(maxFrames, maxBytes int) []StoredFrame {
	size := 0
	for i := range r.frames {
		if size += len(r.frames[i].Frame); i == maxFrames || size > maxBytes && i > 0 {
			taken := r.frames[:i]
			r.frames = r.frames[i:]
			return taken
		}
	}
	taken := r.frames
	r.frames = nil
	return taken
}

// shrink makes the reservation what is really held. What there is no room for
// is let go.
func (r *remainder) shrink(b *budget) {
	r.idle = false
	size := heldSize(r.frames)
	if size <= r.taken {
		b.give(r.taken - size)
		r.taken = size
		return
	}
	for len(r.frames) > 0 && size > r.taken {
		last := &r.frames[len(r.frames)-1]
		r.bytes += int64(len(last.Frame))
		size -= int64(len(last.Frame)) + frameOverhead
		r.frames = r.frames[:len(r.frames)-1]
	}
	b.give(r.taken - size)
	r.taken = size
}

// release lets go of the frames and keeps what is known of their size.
func (r *remainder) release(b *budget) {
	for i := range r.frames {
		r.bytes += int64(len(r.frames[i].Frame))
	}
	r.frames = nil
	b.give(r.taken)
	r.taken = 0
}

// drop lets go of everything.
func (r *remainder) drop(b *budget) {
	b.give(r.taken)
	*r = remainder{}
}

func heldSize(frames []StoredFrame) (n int64) {
	for i := range frames {
		n += int64(len(frames[i].Frame)) + frameOverhead
	}
	return n
}

// dropIdlePages takes the pages from viewers that did not ask for anything
// since the last call: their clients do not read.
func (h *Hub) dropIdlePages() {
	if h.ahead.used.Load() == 0 {
		return
	}
	h.mu.Lock()
	all := make([]*follower, 0, len(h.followers))
	for _, f := range h.followers {
		all = append(all, f)
	}
	h.mu.Unlock()
	for _, f := range all {
		f.mu.Lock()
		for _, v := range f.viewers {
			if v.rest.idle {
				v.rest.release(&h.ahead)
			}
			v.rest.idle = true
		}
		f.mu.Unlock()
	}
}
