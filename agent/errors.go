package agent

import "errors"

// What Emit and Ask refuse.
var (
	ErrInvalidFrame  = errors.New("a frame must be a JSON object in valid UTF-8 with a non-empty string \"type\"")
	ErrFrameTooLarge = errors.New("the frame is larger than limits.frame_bytes")
	ErrExpired       = errors.New("the request's deadline passed without an answer")
	ErrUnknownKind   = errors.New("unknown kind of request")
)

// ErrOver in the cause of a context given to Ask says that the agent is done with its
// turn: viewers are told that the request ended with it, not that it has expired.
var ErrOver = errors.New("the agent is done with its turn")

// Error is a failure with more to tell than a sentence. Returned from Run (also
// wrapped) it fills the turn's error frame: message, error_type and status_code.
type Error struct {
	Message    string // for people: viewers see it
	Type       string // error_type; "" = agent_error
	StatusCode int    // HTTP status of a provider; 0 = none
	Err        error  // what was behind it, for logs and errors.Is; viewers do not see it
}

// Error implements error.
func (e *Error) Error() string { return e.Message }

// Unwrap returns what was behind it.
func (e *Error) Unwrap() error { return e.Err }
