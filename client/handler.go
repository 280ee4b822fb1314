package client

import "encoding/json"

// Handler holds the callbacks of a Client; any may be nil. They run one at a
// time, in the order of the wire. They may call every method of the Client
// and must not wait for a Pending.
type Handler struct {
	// OnState reports the connection.
	OnState func(State)

	// OnRaw sees every message as it arrived, before anything is decided.
	OnRaw func(message []byte)

	// OnFrame sees every frame of every thread that is new: numbered ones once
	// and in order, and unnumbered ones. It runs before the typed callbacks.
	OnFrame func(Frame)

	// OnText is the text of a chunk; thinking and non-text chunks are left to OnFrame.
	OnText func(threadID, text string)

	// OnTurn is the start of a turn, or of another attempt of it.
	OnTurn func(Turn)

	// OnMessage is a persisted assistant or tool message.
	OnMessage func(threadID string, message json.RawMessage)

	// OnRequest is a request that waits for an answer, once per id: tool calls
	// without a matching Tool, approvals, plans, secrets.
	OnRequest func(Request)

	// OnRequestClosed says that a request needs no answer any more.
	OnRequestClosed func(threadID, requestID, reason string)

	// OnFinish is the end of a turn.
	OnFinish func(Finish)

	// OnError is an error frame of a thread, or a bad frame reported by the server.
	OnError func(threadID, message, code string)

	// OnHeader is every chat_resumed header, before its frames.
	OnHeader func(Header)

	// OnResumed follows the last replayed frame of a resume this Client asked for.
	OnResumed func(Resumed)

	// OnReconcile asks for the thread's history to be loaded again, because what
	// was shown may have holes.
	OnReconcile func(Reconcile)

	// OnBusy says that a thread became busy or idle.
	OnBusy func(threadID string, busy bool)
}

// Phase is what the connection is doing.
type Phase string

// The phases of the connection.
const (
	Connecting Phase = "connecting"
	Online     Phase = "online"
	Waiting    Phase = "waiting"
	Closed     Phase = "closed"
)

// Turn is a turn that started.
type Turn struct {
	ThreadID string
	TurnID   string
	Attempt  int
	Message  json.RawMessage // the user's message
}

// Finish is a turn that ended.
type Finish struct {
	ThreadID string
	TurnID   string
	Outcome  string
	Error    string
	Usage    json.RawMessage
}

// Request is a frame that waits for an answer.
type Request struct {
	ThreadID string
	ID       string
	Type     string // tool_call, tool_approval_request, plan_approval_request, secret_request
	Name     string // tool name, where there is one
	Args     json.RawMessage
	Frame    Frame
}

// Resumed is a resume that is complete: what follows is live.
type Resumed struct {
	ThreadID   string
	Status     string
	Replayed   int64
	Incomplete bool
}

// Reconcile says why a thread's history should be loaded again.
type Reconcile struct {
	ThreadID string
	Status   string // running, finished, unknown
	Header   Header
}
