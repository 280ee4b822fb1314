package eventlog

import (
	"strconv"
	"time"
)

// flight is the one call of a turn that is on its way. Its slices are reused.
type flight struct {
	entries []Entry
	bytes   int
	ops     turnOps
	forced  int64
	confirm bool // the state is to be compared and the master to be confirmed

	head     [11]any // arguments that stay
	script   *script
	args     []any
	expected int64
	count    int
	sentAt   time.Time // the first time

	source   bool // send the script's source: the server does not know it
	tries    int
	failedAt time.Time // first failure of this call
	retryAt  time.Time
}

// frameArg makes an entry's frame an argument without a copy and without an
// allocation per frame: a pointer fits into an interface, a []byte does not.
type frameArg Entry

// MarshalBinary implements encoding.BinaryMarshaler.
func (f *frameArg) MarshalBinary() ([]byte, error) { return f.Frame, nil }

func (f *flight) init(w *Writer, stateKey string) {
	opt := &w.log.opt
	f.head = [...]any{
		"evalsha", "", 1, stateKey,
		w.fence.TurnID, strconv.Itoa(w.fence.Attempt), w.fence.Owner, opt.ReplayMaxFrames, opt.ReplayMaxBytes, &f.expected, &f.count,
	}
}

func (f *flight) reset() {
	clear(f.entries)
	f.entries = f.entries[:0]
	f.bytes, f.ops, f.confirm, f.source, f.tries, f.failedAt, f.sentAt = 0, turnOps{}, false, false, 0, time.Time{}, time.Time{}
}

// build writes the call's arguments into the reused slice; see lua/append.lua.
// Everything is passed as a pointer, so nothing is boxed per frame.
func (f *flight) build(w *Writer) {
	f.expected, f.count = w.appended, len(f.entries)
	a := append(f.args[:0], f.head[:]...)
	for i := range f.entries {
		e := &f.entries[i]
		a = append(a, &e.Type, (*frameArg)(e))
	}
	f.script = appendScript
	f.args = appendOps(a, f.entries, f.ops, f.confirm)
	if len(f.args) > len(a) {
		f.script = appendOpsScript
	}
}

// call returns the arguments, with the script's source if the server lacks it.
func (f *flight) call() []any {
	if f.source {
		f.args[0], f.args[1], f.source = "eval", f.script.source, false
	} else {
		f.args[0], f.args[1] = "evalsha", &f.script.sha
	}
	return f.args
}

// appendOps adds what is rare: requests opened and closed, the checkpoint, consumed inputs.
func appendOps(args []any, entries []Entry, ops turnOps, confirm bool) []any {
	for i := range entries {
		e := &entries[i]
		if e.Closes != "" {
			args = append(args, "c", e.Closes)
		}
		if r := e.Opens; r != nil {
			args = append(args, "o", i+1, r.ID, r.Kind, r.Name, r.Timeout.Milliseconds(), r.Prefer)
		}
	}
	if ops.hasCheckpoint {
		args = append(args, "p", ops.checkpoint)
	}
	if ops.consumed > 0 {
		args = append(args, "i", ops.consumed)
	}
	if confirm {
		args = append(args, "m")
	}
	return args
}
