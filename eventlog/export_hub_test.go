package eventlog

// Internals that the hub's tests look at.
var (
	Plan  = plan
	Ahead = ahead
)

// DecodePayload parses a live payload the way the follower does.
func DecodePayload(p string) (c Commit, control string, err error) {
	head, err := parsePayload(p)
	if err != nil {
		return Commit{}, "", err
	}
	if head.kind != '1' {
		return Commit{}, string(head.kind) + head.request, nil
	}
	entries, err := head.entries()
	return Commit{Epoch: head.epoch, Ordinal: head.ordinal, Attempt: head.attempt,
		TurnID: head.turnID, FirstSeq: head.first, Entries: entries}, "", err
}

// Ring opens the frame cache to its tests.
type Ring struct{ r ring }

// NewRing makes a ring of these bounds.
func NewRing(frames, bytes int) *Ring { return &Ring{ring{maxFrames: frames, maxBytes: bytes}} }

func (r *Ring) Push(d *Delivered)           { r.r.push(d) }
func (r *Ring) Unshift(frames []*Delivered) { r.r.unshift(frames) }
func (r *Ring) Bounds() (int64, int64)      { return r.r.first, r.r.last }
func (r *Ring) Get(seq int64) *Delivered    { return r.r.get(seq) }

// HeldBytes is what the node's viewers hold of the log.
func (h *Hub) HeldBytes() int64 { return h.ahead.used.Load() }
