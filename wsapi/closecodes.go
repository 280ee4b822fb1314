package wsapi

import (
	"github.com/coder/websocket"

	"turnlog/limit"
	"turnlog/session"
)

// closing is why the server closes a connection.
type closing struct {
	code   websocket.StatusCode // 0: without a close frame
	reason string

	// byServer gives turns with policy cancel the reconnect window, because
	// the viewer did not leave by its own will.
	byServer bool

	refusal string // counted under this code; "" = nothing was refused
}

// Why connections are closed. Old clients never reconnect after 1008, 1009,
// 4000, 4001 and 4003, so these are rare on purpose.
var (
	closeLost     = closing{}
	closeRestart  = closing{code: websocket.StatusServiceRestart, reason: "restart, connect again", byServer: true}
	closeExpired  = closing{code: 4001, reason: "the token has expired", byServer: true}
	closeRenew    = closing{code: websocket.StatusServiceRestart, reason: "the token has expired", byServer: true}
	closeSlow     = closing{code: 4008, reason: "too slow, resume", byServer: true}
	closeSilent   = closing{code: 4008, reason: "silent for too long, resume"}
	closeTrickle  = closing{code: 4008, reason: "a message took too long to arrive, resume", refusal: codeSlowSender}
	closeNoRoom   = closing{code: websocket.StatusTryAgainLater, reason: limit.ErrRoom.Error(), byServer: true, refusal: codeRoom}
	closeTooMuch  = closing{code: websocket.StatusTryAgainLater, reason: limit.ErrUserRoom.Error(), byServer: true, refusal: codeUserRoom}
	closeFlood    = closing{code: websocket.StatusPolicyViolation, reason: "too many messages", refusal: codeFlood}
	closeTooBig   = closing{code: websocket.StatusMessageTooBig, reason: "the message is too large", refusal: session.CodeTooLarge}
	closeInternal = closing{code: websocket.StatusInternalError, reason: "internal error", byServer: true}
)
