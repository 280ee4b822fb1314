package eventlog

import "time"

// Verdict is the answer of an admission.
type Verdict string

// The verdicts. Only VerdictStarted, VerdictQueued and VerdictDuplicate mean
// that the submission is stored; every other one stored nothing.
const (
	VerdictStarted        Verdict = "started"
	VerdictQueued         Verdict = "queued"
	VerdictDuplicate      Verdict = "duplicate"            // same client id, same digest: the turn already admitted
	VerdictConflict       Verdict = "idempotency_conflict" // same client id, other digest
	VerdictBusy           Verdict = "busy"
	VerdictPolicyConflict Verdict = "policy_conflict"
	VerdictQuota          Verdict = "quota_exceeded"
	VerdictQueueFull      Verdict = "queue_full"
	VerdictNodeDead       Verdict = "node_dead"   // the submitting node was declared dead
	VerdictSuperseding    Verdict = "superseding" // the running turn is fenced; call again with its closing frames
)

// Begin asks to admit a submission.
type Begin struct {
	Thread     Thread
	Submission Submission
	OnBusy     OnBusy
	Node       string // the node that would own the turn
	Generation int64  // the node's viewer generation for this thread; 0 = the submitter does not watch
	Quota      int    // running turns allowed to the user; 0 = no limit

	// Kind and KindPolicy come from the admission rules; they are used only if
	// the thread's kind is not settled yet: by its creation or an earlier turn.
	Kind       string
	KindPolicy Policy

	// Closing ends the turn that is being superseded; see VerdictSuperseding.
	Closing *Closing
}

// Closing holds the last frames of a turn that somebody else than its owner ends.
type Closing struct {
	TurnID  string
	Attempt int
	AsOf    int64 // last chat_seq that the closing frames take into account
	Frames  []Entry
}

// Admission is what became of a submission.
type Admission struct {
	Verdict  Verdict
	TurnID   string // of the turn admitted (for a duplicate: the first one)
	Attempt  int
	Ordinal  int64
	Epoch    string
	FirstSeq int64  // chat_seq of turn_started
	Started  []byte // the stored turn_started frame
	Policy   Policy // effective
	Position int    // 1-based place in the queue
	Status   Status // of a duplicate's turn: running, finished, or "" when still queued

	// Submission is what was admitted: for a claimed turn the stored one.
	Submission Submission

	// Busy describes the turn that runs, for VerdictBusy and VerdictSuperseding.
	Busy RunningTurn
}

// RunningTurn is the state of a running turn, as far as others need it.
type RunningTurn struct {
	Thread    Thread
	TurnID    string
	Attempt   int
	Owner     string
	FirstSeq  int64
	LastSeq   int64
	Ordinal   int64
	Epoch     string
	Policy    Policy
	Detached  bool
	LastFrame int64 // Unix milliseconds (Redis clock) of the newest append

	// Set by the calls that list turns: since when it is detached, and when
	// that ends it (zero: nothing does). Redis clock.
	DetachedAt    time.Time
	GraceDeadline time.Time
}

// Finish ends a turn.
type Finish struct {
	Fence    Fence
	Outcome  Outcome
	Finisher string  // node id; the same finisher asking twice is told that it won
	Frames   []Entry // closing frames, the last one turn_finished

	// Consumed is the highest input the agent has taken; steers after it
	// become queued submissions.
	Consumed int64

	// AsOf, when not 0, is the last chat_seq that Frames take into account;
	// a finish by another than the owner is refused with ErrMoved if the log went on.
	AsOf int64
}

// Finished says how a turn really ended.
type Finished struct {
	Won      bool    // this call, or an earlier try of it, ended the turn
	Outcome  Outcome // the outcome that stands
	FirstSeq int64   // chat_seq of the first closing frame written (including request_closed frames), when Won
	LastSeq  int64
	Epoch    string
	Frames   []StoredFrame // every closing frame written by this call, in order
	Ready    bool          // the thread has queued submissions that any node may claim now
}
