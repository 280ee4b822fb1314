package eventlog

import (
	"context"
	"errors"
	"log/slog"
	"sync"
)

const (
	// What Emit lets gather while an append of the turn is on its way.
	pendingFrames = 256
	pendingBytes  = 1 << 20
)

// Commit is a piece of a turn that is in the log. Entries is valid during the
// call only; the frames themselves are never modified and may be kept.
type Commit struct {
	Thread   Thread
	Epoch    string
	Ordinal  int64
	Attempt  int
	TurnID   string
	FirstSeq int64
	Entries  []Entry
}

// WriterOptions says who is told about a writer's progress.
type WriterOptions struct {
	// OnCommit is called in order, never concurrently for one turn, from the
	// goroutine that appends for many turns: it must not block. Emit of the same
	// or any other writer may be called from it only if it cannot block.
	OnCommit func(Commit)
	// OnLost is called once when the writer can write no more: fenced, or Redis
	// stayed away for longer than the outage budget. Same rules as OnCommit.
	OnLost func(error)
}

// Writer appends one running turn's frames, in order. It has no goroutine and no
// timer: lanes shared by all turns of the process do the work. Emit may be called
// by several goroutines; the order is then the order in which they get in.
//
// What Emit accepted is written under consecutive numbers, each frame once, as
// long as the process lives and Redis comes back within the outage budget. Replies
// that got lost are not guessed about: the same call is made again, and the script
// tells whether it had been made. What a failover lost is written again under the
// same numbers (repair.go).
type Writer struct {
	log   *Log
	lane  *lane
	fence Fence
	opts  WriterOptions

	mu        sync.Mutex
	pending   []Entry
	bytes     int
	ops       turnOps
	scheduled bool // ready, delayed, or on its way
	checking  bool // compare with the state even if there is nothing to write
	emitted   int64
	done      int64 // emitted frames that are in the log
	forced    int64 // calls asked for by Checkpoint and Consumed
	settled   int64 // of those, made
	consumed  int64
	finishing bool
	err       error
	changed   chan struct{} // closed at the next change somebody waits for
	epoch     string
	lastSeq   int64

	// Written by the lane's goroutine only, while scheduled.
	flight    flight
	admission Admission
	ordinal   int64
	appended  int64 // frames of this attempt in the log, as this writer knows
	tail      tail
	open      map[string]pinned // by request id
	nextEpoch string            // of a rebuild whose reply is awaited
	kept      turnOps           // last checkpoint and consumed input, for a rebuild
}

// turnOps are the changes that are not frames and travel with an append.
type turnOps struct {
	checkpoint    []byte
	hasCheckpoint bool
	consumed      int64
}

func (o turnOps) empty() bool { return !o.hasCheckpoint && o.consumed == 0 }

func (o *turnOps) merge(newer turnOps) {
	if newer.hasCheckpoint {
		o.checkpoint, o.hasCheckpoint = newer.checkpoint, true
	}
	o.consumed = max(o.consumed, newer.consumed)
}

// NewWriter returns the writer of a turn that begin admitted for this node. The
// caller ends it with Finish or Abandon.
func (l *Log) NewWriter(fence Fence, admission Admission, opts WriterOptions) *Writer {
	keys, err := l.keys(fence.Thread)
	w := &Writer{
		log:       l,
		lane:      l.committer().lane(fence.TurnID),
		fence:     fence,
		opts:      opts,
		epoch:     admission.Epoch,
		lastSeq:   admission.FirstSeq,
		ordinal:   admission.Ordinal,
		admission: admission,
	}
	if err != nil { // no turn can have been admitted under such ids
		w.err = err
		return w
	}
	w.flight.init(w, keys.state())
	w.lane.register(w)
	return w
}

// Position returns the newest number that is in the log, and its epoch.
func (w *Writer) Position() (epoch string, lastSeq int64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.epoch, w.lastSeq
}

// Emit queues a frame. It blocks while too much is pending, until ctx ends, and
// returns the writer's error once it was lost. A nil error does not mean that the
// frame is in the log; see Flush.
func (w *Writer) Emit(ctx context.Context, e Entry) error {
	w.mu.Lock()
	for {
		if w.err != nil {
			defer w.mu.Unlock()
			return w.err
		}
		if w.finishing {
			defer w.mu.Unlock()
			return ErrClosed
		}
		if len(w.pending) == 0 || len(w.pending) < pendingFrames && w.bytes+len(e.Frame) <= pendingBytes {
			break
		}
		if err := w.waitLocked(ctx); err != nil {
			return err
		}
	}
	w.pending = append(w.pending, e)
	w.bytes += len(e.Frame)
	w.emitted++
	w.scheduleLocked()
	return nil
}

// Checkpoint stores the agent's state with the next append; the newest one counts.
func (w *Writer) Checkpoint(state []byte) {
	w.addOps(turnOps{checkpoint: state, hasCheckpoint: true})
}

// Consumed records with the next append that the agent took the inputs up to seq.
func (w *Writer) Consumed(inputSeq int64) {
	w.addOps(turnOps{consumed: inputSeq})
}

func (w *Writer) addOps(ops turnOps) {
	w.mu.Lock()
	if w.err != nil || w.finishing {
		w.mu.Unlock()
		return
	}
	w.ops.merge(ops)
	w.consumed = max(w.consumed, ops.consumed)
	w.forced++
	w.scheduleLocked()
}

// Flush waits until everything emitted so far is in the log and OnCommit was told.
func (w *Writer) Flush(ctx context.Context) error {
	w.mu.Lock()
	frames, forced := w.emitted, w.forced
	for w.err == nil && (w.done < frames || w.settled < forced) {
		if err := w.waitLocked(ctx); err != nil {
			return err
		}
	}
	defer w.mu.Unlock()
	return w.err
}

// Check compares the turn with its state, and writes again what Redis has lost,
// the begin included. Nil: the turn is the writer's and everything emitted so far
// is in the log. It blocks until Redis has answered or ctx ends.
func (w *Writer) Check(ctx context.Context) error {
	w.check()
	return w.Flush(ctx)
}

// check makes the lane compare the turn with the state, if nothing is on its way.
func (w *Writer) check() {
	w.mu.Lock()
	if w.err != nil {
		w.mu.Unlock()
		return
	}
	w.checking = true
	w.forced++
	w.forced++
	w.scheduleLocked()
}

// scheduleLocked puts the writer before its lane, if it is not there, and unlocks.
func (w *Writer) scheduleLocked() {
	idle := !w.scheduled
	w.scheduled = true
	w.mu.Unlock()
	if idle {
		w.lane.schedule(w)
	}
}

// waitLocked waits for a change. It returns with the lock held, or unlocked and with ctx's error.
func (w *Writer) waitLocked(ctx context.Context) error {
	if w.changed == nil {
		w.changed = make(chan struct{})
	}
	changed := w.changed
	w.mu.Unlock()
	select {
	case <-changed:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	w.mu.Lock()
	return nil
}

func (w *Writer) signalLocked() {
	if w.changed != nil {
		close(w.changed)
		w.changed = nil
	}
}

// take moves what is pending into the next call. It returns false when there is
// nothing to do; the writer is then no longer scheduled.
func (w *Writer) take() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.err != nil || len(w.pending) == 0 && w.ops.empty() && !w.checking {
		w.scheduled = false
		w.signalLocked()
		return false
	}
	f := &w.flight
	f.entries, w.pending = w.pending, f.entries[:0]
	f.bytes, w.bytes = w.bytes, 0
	f.ops, w.ops = w.ops, turnOps{}
	f.forced = w.forced
	f.confirm, w.checking = w.checking, false
	f.build(w)
	w.signalLocked() // there is room again
	return true
}

// committed records that the call on its way is in the log, up to lastSeq, and
// tells OnCommit. It returns true when the writer has to go round again.
func (w *Writer) committed(lastSeq int64) bool {
	f := &w.flight
	n := int64(len(f.entries))
	first := lastSeq - n + 1
	w.appended += n
	w.remember(first, f.entries)
	w.kept.merge(f.ops)
	if n > 0 {
		w.log.opt.Metrics.Appended(len(f.entries), f.bytes, w.lane.answered.Sub(f.sentAt))
	}
	w.mu.Lock()
	w.lastSeq = lastSeq
	epoch := w.epoch
	w.mu.Unlock()
	if n > 0 && w.opts.OnCommit != nil {
		w.opts.OnCommit(w.commit(epoch, first, f.entries))
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.done += n
	w.settled = f.forced
	f.reset()
	w.scheduled = w.err == nil && (len(w.pending) > 0 || !w.ops.empty() || w.checking)
	w.signalLocked()
	return w.scheduled
}

func (w *Writer) commit(epoch string, first int64, entries []Entry) Commit {
	return Commit{
		Thread: w.fence.Thread, Epoch: epoch, Ordinal: w.ordinal, Attempt: w.fence.Attempt,
		TurnID: w.fence.TurnID, FirstSeq: first, Entries: entries,
	}
}

// lose makes err the writer's answer from now on. Only the first error counts.
func (w *Writer) lose(err error) {
	w.mu.Lock()
	first := w.err == nil
	if first {
		w.err = err
	}
	w.scheduled = false
	w.pending, w.bytes = nil, 0
	w.signalLocked()
	told := w.finishing
	w.mu.Unlock()
	w.lane.unregister(w)
	if first && errors.Is(err, ErrFenced) {
		w.log.opt.Metrics.Fenced()
	}
	if first && !told && w.opts.OnLost != nil {
		w.opts.OnLost(err)
	}
}

// Abandon gives the turn up without ending it: what is pending is dropped, later
// calls return ErrClosed. Idempotent.
func (w *Writer) Abandon() {
	w.mu.Lock()
	if w.err == nil {
		w.err = ErrClosed
	}
	w.pending, w.bytes = nil, 0
	w.signalLocked()
	w.mu.Unlock()
	w.lane.unregister(w)
}

func (w *Writer) note(message string, err error) {
	w.log.opt.Logger.Warn(message,
		slog.String("thread_id", w.fence.Thread.ID), slog.String("turn_id", w.fence.TurnID), slog.Any("error", err))
}
