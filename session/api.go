package session

import (
	"encoding/json"

	"turnlog/eventlog"
)

// Submit asks for a turn.
type Submit struct {
	Thread eventlog.Thread

	// ID is the client's idempotency key, valid for 24 h; "" = none.
	ID string

	// Message is the history row {id?, role, content, ...}. When empty it is
	// made of Data's id, role and content; the role defaults to "user".
	Message json.RawMessage

	// Data is the whole data of the command, as sent: agent keys included.
	Data json.RawMessage

	Tools  json.RawMessage // client tools manifest in force, a JSON list; nil without one
	Agent  string          // named agent; "" = the default
	Policy eventlog.Policy // explicitly asked for; PolicyUnset = nobody asked
	OnBusy eventlog.OnBusy // "" = Options.OnBusy

	Client     string // what kind of client it is, as it says itself (admission rules); "" = it did not say
	Conn       string // submitting connection: preferred target of tool calls
	Generation int64  // this node's viewer generation of the thread; 0 = the submitter does not watch
	Headless   bool   // born without a viewer (HTTP)
}

// Answer answers an open request, from whatever node and connection.
type Answer struct {
	RequestID string
	Kind      string          // kind of request that it fits (agent.Kind...); another kind ignores it; "" = any
	Payload   json.RawMessage // the answering frame's keys without type and ids
}

// Steer is a message into the running turn, or the next turn when it ends first.
type Steer struct {
	Thread  eventlog.Thread
	ID      string          // idempotency key; "" = none
	Message json.RawMessage // as in Submit; when empty made of Data
	Data    json.RawMessage
	Agent   string // for the turn it may become
	Tools   json.RawMessage
	Conn    string
	Client  string // as in Submit

	Generation int64
	Headless   bool
}

// SteerResult says where a steer went.
type SteerResult struct {
	TurnID    string // the turn that takes it: the running one, or the one it became
	Delivered bool   // into a running turn
	Duplicate bool   // the same id again
	Position  int    // place in the queue when it waits there, else 0

	// Admission is set when the steer was submitted as a turn of its own.
	Admission *eventlog.Admission
}

// StopResult says what a stop met.
type StopResult struct {
	Stopped bool     // a running turn was told to stop
	TurnID  string   // that turn
	Dropped []string // queued submissions that were dropped
}

// Codes of refusals, stable on the wire.
const (
	CodeBusy           = "busy"
	CodeConflict       = "idempotency_conflict"
	CodePolicyConflict = "policy_conflict"
	CodeQuota          = "quota_exceeded"
	CodeDraining       = "draining"
	CodeUnavailable    = "unavailable"
	CodeTooLarge       = "too_large"
	CodeRateLimited    = "rate_limited"
	CodeUnknownAgent   = "unknown_agent"
	CodeInvalid        = "invalid_command"
)

// Refusal is a verb that was not carried out. Nothing was stored.
type Refusal struct {
	Code      string
	Message   string
	Retryable bool // the same call may succeed later
}

// Error implements error.
func (r *Refusal) Error() string { return r.Message }
