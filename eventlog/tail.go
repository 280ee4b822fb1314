package eventlog

// Bounds of what a writer keeps of its turn to write it again after a failover.
// They cover what can be lost between two replicas within the reach of one append.
const (
	tailFrames = 512
	tailBytes  = 512 << 10
)

// tail is a bounded ring of a turn's newest frames in the log. It grows with the
// turn, so short turns cost little. It always keeps the newest frame.
type tail struct {
	ring  []Entry
	start int
	count int
	bytes int
}

// push adds a frame and drops the oldest ones beyond the bounds.
func (t *tail) push(e Entry) {
	if t.count == len(t.ring) && t.count < tailFrames {
		t.grow()
	}
	for t.count > 0 && (t.count == tailFrames || t.bytes+len(e.Frame) > tailBytes) {
		old := &t.ring[t.start]
		t.bytes -= len(old.Frame)
		*old = Entry{}
		t.start = (t.start + 1) % len(t.ring)
		t.count--
	}
	t.ring[(t.start+t.count)%len(t.ring)] = e
	t.count++
	t.bytes += len(e.Frame)
}

func (t *tail) grow() {
	bigger := make([]Entry, min(max(16, 2*len(t.ring)), tailFrames))
	for i := range t.count {
		bigger[i] = t.ring[(t.start+i)%len(t.ring)]
	}
	t.ring, t.start = bigger, 0
}

// newest returns up to n of the newest entries, oldest first, as a copy.
func (t *tail) newest(n int64) []Entry {
	n = min(n, int64(t.count))
	entries := make([]Entry, 0, n)
	for i := t.count - int(n); i < t.count; i++ {
		entries = append(entries, t.ring[(t.start+i)%len(t.ring)])
	}
	return entries
}
