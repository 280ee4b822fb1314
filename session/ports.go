package session

import (
	"context"

	"turnlog/eventlog"
)

// Admission admits turns.
type Admission interface {
	// Begin admits a submission. Idempotent by its turn id and client id.
	Begin(ctx context.Context, b eventlog.Begin) (eventlog.Admission, error)
	// BeginNext claims a thread's next queued submission or lost attempt for
	// node; the verdict is empty when there was nothing to claim.
	BeginNext(ctx context.Context, thread eventlog.Thread, node string) (eventlog.Admission, error)
}

// Inputs carries what clients send into running turns.
type Inputs interface {
	SendInput(ctx context.Context, thread eventlog.Thread, turnID string, in eventlog.Input) (eventlog.InputResult, error)
	Inputs(ctx context.Context, thread eventlog.Thread, turnID string, after int64) ([]eventlog.Input, error)
	FindRequest(ctx context.Context, user, requestID string) (eventlog.Thread, bool, error)
	SetPolicy(ctx context.Context, thread eventlog.Thread, policy eventlog.Policy, scope string) (eventlog.Policy, error)
}

// Reader reads threads. None of it changes anything.
type Reader interface {
	Frames(ctx context.Context, thread eventlog.Thread, after, until int64, limit, maxBytes int) ([]eventlog.StoredFrame, error)
	// History returns the newest rows before number before, oldest first, those
	// of the threads that the thread descends from in front of its own.
	History(ctx context.Context, thread eventlog.Thread, before int64, limit int) ([]eventlog.Message, error)
	RunningTurns(ctx context.Context, user string) ([]eventlog.RunningTurn, error)
	// Checkpoint returns the newest checkpoint of the thread's running turn, nil without one.
	Checkpoint(ctx context.Context, thread eventlog.Thread) ([]byte, error)
	// Attach with generation 0 looks only.
	Attach(ctx context.Context, a eventlog.Attach) (eventlog.Snapshot, error)
}

// Nodes is the node's own standing in the log.
type Nodes interface {
	Heartbeat(ctx context.Context, node string) (alive bool, err error)
	// OwnedTurns lists the threads whose running turn the node owns.
	OwnedTurns(ctx context.Context, node string) ([]eventlog.Thread, error)
	// Running returns those of the threads' turns that are running.
	Running(ctx context.Context, threads []eventlog.Thread) ([]eventlog.RunningTurn, error)
	Resign(ctx context.Context, node string) error
	// Poll takes the threads with new inputs and looks at those that wait for
	// an owner. A poll whose reply got lost has taken its inbox all the same.
	Poll(ctx context.Context, node string, partition int) (eventlog.Poll, error)
}

// Writer appends one running turn's frames, in order.
type Writer interface {
	Emit(ctx context.Context, e eventlog.Entry) error
	Flush(ctx context.Context) error
	// Check compares the turn with the log and writes again what Redis has lost;
	// an error means that the turn is not the writer's any more.
	Check(ctx context.Context) error
	Checkpoint(state []byte)
	Consumed(inputSeq int64)
	Finish(ctx context.Context, outcome eventlog.Outcome, frames []eventlog.Entry) (eventlog.Finished, error)
	Abandon()
}

// Log is everything that a Service needs of the event log.
type Log interface {
	Admission
	Inputs
	Reader
	Nodes
	// Finish ends a turn without a writer.
	Finish(ctx context.Context, f eventlog.Finish) (eventlog.Finished, error)
	NewWriter(fence eventlog.Fence, admission eventlog.Admission, opts eventlog.WriterOptions) Writer
}

// Feed gets every frame that this node has put into the log. It must not block.
type Feed interface {
	Committed(c eventlog.Commit)
}
