package client

import (
	"errors"
	"fmt"
)

var (
	// ErrClosed means that the Client was closed, or that Run has ended.
	ErrClosed = errors.New("client closed")

	// ErrQueueFull means that Options.QueueLimit commands already wait for the
	// connection or their acknowledgement.
	ErrQueueFull = errors.New("offline queue is full")

	// ErrTooLarge means that a command exceeds Options.MaxMessage bytes.
	ErrTooLarge = errors.New("message too large")

	// ErrUnauthorized means that the server refused the handshake or the
	// connection for good: no token, a token it does not accept, a forbidden
	// origin or host, or a policy violation. A HandshakeError in it says more.
	ErrUnauthorized = errors.New("not authorized")

	// ErrProtocol means that the peer does not speak the protocol.
	ErrProtocol = errors.New("protocol error")
)

// Refused is the server's negative acknowledgement of a command.
type Refused struct {
	Command   string
	Code      string // stable code such as "busy", or the error text where there is none
	Message   string
	Retryable bool
}

// Error implements error.
func (e *Refused) Error() string {
	if e.Message == "" || e.Message == e.Code {
		return fmt.Sprintf("%s refused: %s", e.Command, e.Code)
	}
	return fmt.Sprintf("%s refused: %s: %s", e.Command, e.Code, e.Message)
}
