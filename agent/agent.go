package agent

import (
	"context"
	"encoding/json"
)

// Agent runs turns. Run is called once per attempt and returns when the turn
// is over: nil ends it as completed, an error as failed. When ctx ends, its
// cause (context.Cause) is an *Ended that names the outcome; Run then has
// the configured stop timeout to wind down before it is abandoned. Run may be
// called for many turns at once.
type Agent interface {
	Run(ctx context.Context, turn Turn) error
}

// Restartable is implemented by agents whose lost turns may be run again on
// another node. Without it a lost turn ends as owner_lost.
type Restartable interface {
	Restartable() bool
}

// Turn is a running agent's side of its turn. All methods may be called from
// several goroutines.
type Turn interface {
	// Info describes the turn; it never changes during an attempt.
	Info() Info

	// Emit adds a frame to the log: one JSON object with a string "type". It
	// returns once the frame is queued in order, and blocks while the queue
	// is full (a slow or absent Redis). It fails with the context's cause once
	// the turn may no longer speak, and with ErrInvalidFrame or
	// ErrFrameTooLarge for a frame that is refused; such an error ends
	// the turn as failed if Run returns it.
	Emit(ctx context.Context, frame []byte) error

	// Ask emits a request frame and waits for its answer, across disconnects.
	// The request's id is minted by the runtime. It fails with ErrExpired
	// when the request's own deadline passes; the Answer then has that id only.
	Ask(ctx context.Context, ask Ask) (Answer, error)

	// Inputs delivers what clients send into the running turn besides
	// answers: steering messages and permission modes. Receiving a steer takes
	// it; one that was never received becomes the next turn.
	Inputs() <-chan Input

	// History returns the newest persisted messages before this turn, oldest
	// first, at most limit of them (0 = 100): the thread's own and, in front of them,
	// those of the threads that it continues or branches off. They can be sent to a
	// model again: each has a role, each announced tool call is answered right behind
	// its message, if need be by a stand-in, and no result is without its call.
	History(ctx context.Context, limit int) ([]json.RawMessage, error)

	// Checkpoint saves opaque state of at most MaxCheckpoint bytes together with the
	// next appended frames; the next attempt of a lost turn receives it.
	Checkpoint(ctx context.Context, state []byte) error
}

// MaxCheckpoint is the largest checkpoint in bytes.
const MaxCheckpoint = 64 << 10

// Info is what an agent is told about its turn.
type Info struct {
	User     string
	ThreadID string
	TurnID   string
	Attempt  int             // 1-based
	Message  json.RawMessage // the user's message: {role, content, ...}
	Data     json.RawMessage // the whole submission data: agent keys included
	Tools    json.RawMessage // the client's tools manifest, nil without one

	// For attempts after the first: what the earlier attempts left.
	Checkpoint []byte            // newest checkpoint, nil without one
	Emitted    []json.RawMessage // frames of the turn so far that are still held, oldest first

	// FrameLimit is the largest frame in bytes (limits.frame_bytes).
	FrameLimit int
}

// Kinds of requests.
const (
	KindToolCall     = "tool_call"     // frame type tool_call, answered by tool_result
	KindToolApproval = "tool_approval" // frame type tool_approval_request
	KindPlanApproval = "plan_approval" // frame type plan_approval_request
	KindSecret       = "secret"        // frame type secret_request
)

// Ask is a request an agent makes of its viewers.
type Ask struct {
	Kind string // one of the Kind constants
	Name string // tool name, for tool calls and tool approvals

	// Fields are further keys of the request frame, for example "args". The
	// runtime adds type and id (tool_call_id or approval_id).
	Fields map[string]any

	// Queued, when not nil, is called once as soon as the request frame has its
	// place in the order of frames, that is before Ask waits. It must not block.
	// Agents that speak on while they wait use it to keep their order.
	Queued func()
}

// Answer is what came back.
type Answer struct {
	RequestID string
	Payload   json.RawMessage // the answering frame's keys without type and ids, e.g. {"ok":true,"result":...} or {"decision":"allow"}
	Auto      bool            // answered by a permission mode instead of a person
}

// Kinds of inputs.
const (
	InputSteer          = "steer"
	InputPermissionMode = "permission_mode"
)

// Input is what a client sent into the running turn.
type Input struct {
	Kind    string
	Message json.RawMessage // steer: {role, content, ...}
	Mode    string          // permission_mode
}

// Ended is the cause of an agent's context when its turn ends from outside.
type Ended struct {
	Outcome string // stopped, superseded, detached, timed_out, stalled, owner_lost, shutdown
}

// Error implements error.
func (e *Ended) Error() string { return "turn ended: " + e.Outcome }
