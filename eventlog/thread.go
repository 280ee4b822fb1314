package eventlog

import (
	"encoding/json"
	"time"
)

// Thread names one conversation of one user. Both parts are free text; keys
// hold them percent-encoded (see doc.go).
type Thread struct {
	User string
	ID   string
}

// Policy says what happens to a turn that nobody watches.
type Policy string

// The policies, weakest first. PolicyUnset means that nobody asked for one.
const (
	PolicyUnset    Policy = ""
	PolicyCancel   Policy = "cancel"
	PolicyGrace    Policy = "grace"
	PolicyPreserve Policy = "preserve"
)

// OnBusy says what a submission does when its thread already runs a turn.
type OnBusy string

// The strategies of admission on a busy thread.
const (
	OnBusySupersede OnBusy = "supersede"
	OnBusyReject    OnBusy = "reject"
	OnBusyEnqueue   OnBusy = "enqueue"
)

// Status is what a thread's newest turn is doing, as far as the log can tell.
type Status string

// The statuses. StatusUnknown covers threads that never ran, whose log has
// passed its retention, or that were deleted.
const (
	StatusRunning  Status = "running"
	StatusFinished Status = "finished"
	StatusUnknown  Status = "unknown"
)

// Outcome is how a turn ended.
type Outcome string

// The outcomes.
const (
	OutcomeCompleted  Outcome = "completed"
	OutcomeFailed     Outcome = "failed"
	OutcomeStopped    Outcome = "stopped"
	OutcomeSuperseded Outcome = "superseded"
	OutcomeDetached   Outcome = "detached"
	OutcomeOwnerLost  Outcome = "owner_lost"
	OutcomeStalled    Outcome = "stalled"
	OutcomeTimedOut   Outcome = "timed_out"
	OutcomeShutdown   Outcome = "shutdown"
)

// Fence is the owner's right to write to a turn. Every write under it is
// checked against the thread's state inside the script that makes it.
type Fence struct {
	Thread  Thread
	TurnID  string
	Attempt int
	Owner   string // node id
}

// Submission is a user's message waiting to become a turn. It is stored whole,
// so that any node can run it, now or after a node was lost.
type Submission struct {
	TurnID   string          `json:"turn_id"`            // UUIDv7, minted before the first try
	ID       string          `json:"id,omitempty"`       // the client's idempotency key
	Digest   string          `json:"digest,omitempty"`   // of content, role and agent keys
	Message  json.RawMessage `json:"message"`            // the history row: {id?, role, content, ...}
	Data     json.RawMessage `json:"data,omitempty"`     // the whole data of chat_message, as sent
	Tools    json.RawMessage `json:"tools,omitempty"`    // client_tools_manifest in force: a JSON list
	Agent    string          `json:"agent,omitempty"`    // named agent; empty = default
	Policy   Policy          `json:"policy,omitempty"`   // explicitly asked for
	Conn     string          `json:"conn,omitempty"`     // submitting connection, preferred target of tool calls
	Headless bool            `json:"headless,omitempty"` // born without a viewer (HTTP)

	MaxDuration time.Duration `json:"max_duration,omitempty"` // 0 = off
	StallAfter  time.Duration `json:"stall_after,omitempty"`  // 0 = off

	// Attempts is how many attempts the turn may have when its owner is lost;
	// 0 or 1: it is not restarted.
	Attempts int `json:"attempts,omitempty"`
}

// Entry is one frame on its way into the log.
type Entry struct {
	Type  string // the frame's "type"; "message" frames also become history rows
	Frame []byte // JSON object without chat_seq, thread_id and turn_id; never modified after being passed in

	Opens  *Request // the frame opens this request
	Closes string   // the frame closes the request of this id
}

// Request is a frame that waits for an answer.
type Request struct {
	ID      string        // minted by the runtime, unique per user
	Kind    string        // "tool_call", "tool_approval", "plan_approval", "secret"
	Name    string        // tool name, "" where there is none
	Timeout time.Duration // 0 = none; the clock stops while the turn is detached
	Prefer  string        // connection preferred as the target ("" = whoever claims first); only tool calls have a target
}

// OpenRequest is a request as the log holds it.
type OpenRequest struct {
	ID     string
	Kind   string
	Name   string
	Seq    int64  // chat_seq of its frame
	Target string // connection that runs it, "" = nobody yet
	Frame  []byte // the stored frame
}

// StoredFrame is one entry of a thread's log.
type StoredFrame struct {
	Seq     int64 // chat_seq
	Ordinal int64 // the turn's ordinal
	Type    string
	Frame   []byte // as emitted, without the three stamped keys
}
