package eventlog

import (
	"sync"

	"turnlog/frame"
)

// Delivery is what a viewer gets from one call of Next, to be sent in this
// order: the header (with its unnumbered requests), the frames, then whatever
// the retargeted requests need.
type Delivery struct {
	// Header restarts the position: frames before it and after it need not be
	// contiguous. Nil for most deliveries.
	Header *Header

	// Frames are contiguous and follow what was delivered before. The slice is
	// valid until the viewer's next call of Next; the frames stay valid.
	Frames []*Delivered

	// Retarget lists open tool calls whose target left: a viewer that fits may claim them.
	Retarget []string

	// Done: that was all there is, and Wake will be called for more. Without it
	// Next has to be called again.
	Done bool
}

// Empty reports that there was nothing to deliver: wait for the wake-up.
func (d Delivery) Empty() bool {
	return d.Header == nil && len(d.Frames) == 0 && len(d.Retarget) == 0
}

// Delivered is one frame as viewers get it. It is shared by all viewers of
// the node and must not be modified.
type Delivered struct {
	Seq    int64
	Epoch  string
	TurnID string
	Type   string
	JSON   []byte // with thread_id, turn_id and chat_seq; turn_started also with epoch

	packOnce sync.Once
	packed   []byte
}

// Msgpack returns the MessagePack form that enc makes of the JSON, computed by
// the first caller and shared by all. Safe for concurrent use.
func (d *Delivered) Msgpack(enc func([]byte) []byte) []byte {
	d.packOnce.Do(func() { d.packed = enc(d.JSON) })
	return d.packed
}

// Room for the three stamped keys and their punctuation, and for epoch.
const (
	stampOverhead = 80
	epochOverhead = 12
)

// encode turns a run of frames into what viewers get, in three allocations
// whatever their number. turnOf names the turn of the i-th frame.
func encode(threadID, epoch string, first int64, entries []Entry, turnOf func(i int) string) []*Delivered {
	size := 0
	for i := range entries {
		size += len(entries[i].Frame) + stampOverhead + 2*len(threadID) + len(turnOf(i))
		if entries[i].Type == "turn_started" {
			size += len(epoch) + epochOverhead
		}
	}
	buf := make([]byte, 0, size)
	frames := make([]Delivered, len(entries))
	out := make([]*Delivered, len(entries))
	for i := range entries {
		from := len(buf)
		turnID := turnOf(i)
		if entries[i].Type == "turn_started" {
			// Not stored: the log may get another epoch after that. A viewer without a
			// header, who was there before the thread ever ran, learns it here.
			buf = frame.SpliceEpoch(buf, entries[i].Frame, threadID, turnID, first+int64(i), epoch)
		} else {
			buf = frame.Splice(buf, entries[i].Frame, threadID, turnID, first+int64(i))
		}
		d := &frames[i]
		d.Seq, d.Epoch, d.TurnID, d.Type = first+int64(i), epoch, turnID, entries[i].Type
		d.JSON = buf[from:len(buf):len(buf)]
		out[i] = d
	}
	return out
}
