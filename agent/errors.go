package agent

import "errors"

// What Emit and Ask refuse.
var (
	ErrInvalidFrame  = errors.New("a frame must be a JSON object in valid UTF-8 with a non-empty string \"type\"")
	ErrFrameTooLarge = errors.New("the frame is larger than limits.frame_bytes")
	ErrExpired       = errors.New("the request's deadline passed without an answer")
	ErrUnknownKind   = errors.New("unknown kind of request")
)
