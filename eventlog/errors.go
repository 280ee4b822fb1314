package eventlog

import "errors"

// What callers branch on.
var (
	// ErrFenced: the turn is no longer the caller's: it was superseded, ended,
	// deleted, moved to another attempt, or the node was declared dead.
	ErrFenced = errors.New("the turn is no longer owned by this node")
	// ErrMoved: the log went on since the caller looked; look again.
	ErrMoved = errors.New("the log moved on")
	// ErrUnavailable: Redis did not answer within the outage budget.
	ErrUnavailable = errors.New("redis is unavailable")
	// ErrOutOfMemory: Redis refuses writes because maxmemory is reached.
	ErrOutOfMemory = errors.New("redis is out of memory (raise maxmemory or shorten the retentions)")
	// ErrClosed: the log, hub or writer was closed.
	ErrClosed = errors.New("closed")
	// ErrDeleted: the thread was deleted.
	ErrDeleted = errors.New("the thread was deleted")
	// ErrFormat: the keys in this Redis belong to another format or partition count.
	ErrFormat = errors.New("the data in this redis has another format")
	// ErrPolicyConflict: cancel was asked for where the thread or its kind says preserve.
	ErrPolicyConflict = errors.New("policy conflict: the thread is to be preserved")
	// ErrLineage: a thread cannot continue, or branch off, the thread that was named.
	ErrLineage = errors.New("impossible lineage")
	// ErrBadID: an id is empty, too long or not valid UTF-8.
	ErrBadID = errors.New("invalid id")
)

// FencedError tells why a fence no longer holds. It unwraps to ErrFenced.
type FencedError struct {
	Outcome Outcome // how the turn ended, or superseded while it is being ended; "" when not known
}

// Error implements error.
func (e *FencedError) Error() string {
	if e.Outcome == "" {
		return ErrFenced.Error()
	}
	return ErrFenced.Error() + ": " + string(e.Outcome)
}

// Unwrap implements errors.Unwrap.
func (e *FencedError) Unwrap() error { return ErrFenced }
