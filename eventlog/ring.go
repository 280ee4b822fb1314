package eventlog

// ring caches the newest frames of one epoch: a contiguous run of numbers,
// bounded by frames and bytes. It is only a cache; whatever it does not hold
// is read from the log.
type ring struct {
	maxFrames int
	maxBytes  int

	slots []*Delivered // slot of seq is seq % len(slots)
	first int64        // oldest number held; 0 = empty
	last  int64
	bytes int
}

// empty reports whether the ring holds nothing.
func (r *ring) empty() bool { return r.first == 0 }

// has reports whether the frame with this number is held.
func (r *ring) has(seq int64) bool { return r.first != 0 && seq >= r.first && seq <= r.last }

// get returns a held frame.
func (r *ring) get(seq int64) *Delivered { return r.slots[seq%int64(len(r.slots))] }

// reset forgets everything.
func (r *ring) reset() {
	clear(r.slots)
	r.first, r.last, r.bytes = 0, 0, 0
}

// push adds the frame behind the newest one. A number that does not follow
// starts the ring anew; a number already held (or older) is ignored.
func (r *ring) push(d *Delivered) {
	switch {
	case r.first == 0:
		r.first = d.Seq
	case d.Seq <= r.last:
		return
	case d.Seq != r.last+1:
		r.reset()
		r.first = d.Seq
	}
	for d.Seq > r.first && (d.Seq-r.first >= int64(r.maxFrames) || r.bytes+len(d.JSON) > r.maxBytes) {
		r.dropFirst()
	}
	r.grow(d.Seq - r.first + 1)
	r.slots[d.Seq%int64(len(r.slots))] = d
	r.last = d.Seq
	r.bytes += len(d.JSON)
}

// unshift puts frames that end right before the oldest one in front, as many
// as fit. Others are ignored.
func (r *ring) unshift(frames []*Delivered) {
	for i := len(frames) - 1; i >= 0; i-- {
		d := frames[i]
		if r.first == 0 || d.Seq != r.first-1 ||
			r.last-d.Seq >= int64(r.maxFrames) || r.bytes+len(d.JSON) > r.maxBytes {
			return
		}
		r.grow(r.last - d.Seq + 1)
		r.slots[d.Seq%int64(len(r.slots))] = d
		r.first = d.Seq
		r.bytes += len(d.JSON)
	}
}

func (r *ring) dropFirst() {
	slot := r.first % int64(len(r.slots))
	r.bytes -= len(r.slots[slot].JSON)
	r.slots[slot] = nil
	r.first++
}

// grow makes room for n frames; small threads keep small rings.
func (r *ring) grow(n int64) {
	if n <= int64(len(r.slots)) {
		return
	}
	size := min(max(16, 2*len(r.slots)), r.maxFrames)
	size = max(size, int(n))
	slots := make([]*Delivered, size)
	for _, d := range r.slots {
		if d != nil {
			slots[d.Seq%int64(size)] = d
		}
	}
	r.slots = slots
}
