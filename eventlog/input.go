package eventlog

import "encoding/json"

// InputKind says what an input is.
type InputKind string

// The kinds of inputs.
const (
	InputAnswer         InputKind = "answer"
	InputStop           InputKind = "stop"
	InputSteer          InputKind = "steer"
	InputPermissionMode InputKind = "permission_mode"
	InputPolicy         InputKind = "policy"  // the policy was raised; nothing to do but to know
	InputExpired        InputKind = "expired" // a request's deadline passed (written by the reaper)
)

// Input is what a client sends into a running turn. It is stored before the
// owner is woken, so a lost wake-up loses nothing.
type Input struct {
	Seq       int64  // position among the turn's inputs, assigned by the log
	ID        string // unique: the same input sent twice is stored once
	Kind      InputKind
	RequestID string          // answers
	Answers   string          // answers: the kind of request it fits; another kind is not closed by it; "" = any
	Payload   json.RawMessage // answer: the answer; permission_mode: {"mode": ...}; steer: a Submission
}

// InputVerdict is what became of an input.
type InputVerdict string

// The verdicts on inputs.
const (
	InputAccepted   InputVerdict = "accepted"
	InputDuplicate  InputVerdict = "duplicate"   // the same id again
	InputClosed     InputVerdict = "closed"      // the request is already answered or unknown
	InputNotRunning InputVerdict = "not_running" // no such turn is running (or another one is)
	InputQueueFull  InputVerdict = "queue_full"  // the turn has too many unread inputs
)

// InputResult is the answer to sending an input.
type InputResult struct {
	Verdict InputVerdict
	TurnID  string
	Owner   string   // node to which the wake-up went
	Dropped []string // turn ids of queued submissions that a stop dropped
}
