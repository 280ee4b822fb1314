package client

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/coder/websocket"
)

// socket is one open connection. Read and Write are called by one goroutine each.
type socket interface {
	Read(ctx context.Context) ([]byte, error)
	Write(ctx context.Context, message []byte) error
	Close(code int, reason string) error // says goodbye, bounded
	CloseNow() error                     // cuts
}

type dialFunc func(ctx context.Context, url string, o Options, token string) (socket, error)

// Close codes of the protocol that decide how to come back.
const (
	codePolicy       = 1008 // abuse
	codeTooBig       = 1009
	codeRestart      = 1012
	codeTryLater     = 1013
	codeTokenExpired = 4001
	codeForbidden    = 4003
)

// lost is why a connection could not be made or ended.
type lost struct {
	err     error
	fatal   bool          // retrying cannot help
	restart bool          // the node goes away, or went without a word: others take over
	later   time.Duration // wait at least this long
	token   bool          // the token was not accepted
}

// final is the error of a loss that ends the Client.
func (l lost) final() error {
	var closed closeError
	if errors.As(l.err, &closed) && closed.code == codeTooBig {
		return fmt.Errorf("%w: %w", ErrTooLarge, l.err)
	}
	return fmt.Errorf("%w: %w", ErrUnauthorized, l.err)
}

// closeError is a close frame of the peer.
type closeError struct {
	code   int
	reason string
}

// Error implements error.
func (e closeError) Error() string {
	return fmt.Sprintf("connection closed by server: %d %s", e.code, e.reason)
}

// classify decides what a failure means for the next attempt.
func classify(err error) lost {
	why := lost{err: err}
	var closed closeError
	var refused *HandshakeError
	switch {
	case errors.As(err, &closed):
		switch closed.code {
		case codePolicy, codeTooBig, codeForbidden:
			why.fatal = true
		case codeRestart:
			why.restart = true
		case codeTryLater:
			why.later = time.Second
		case codeTokenExpired:
			why.token = true
		}
	case errors.As(err, &refused):
		switch {
		case refused.Status == http.StatusUnauthorized:
			why.token = true
		case refused.Status == http.StatusForbidden, refused.Status == http.StatusMisdirectedRequest:
			why.fatal = true
		case refused.Status == http.StatusServiceUnavailable, refused.Status == http.StatusTooManyRequests:
			why.later = max(refused.RetryAfter, time.Millisecond)
		}
	}
	return why
}

// wsSocket is a socket over coder/websocket.
type wsSocket struct{ c *websocket.Conn }

var _ socket = wsSocket{}

func dialWebSocket(ctx context.Context, url string, o Options, token string) (socket, error) {
	c, resp, err := websocket.Dial(ctx, url, &websocket.DialOptions{
		HTTPClient:      o.HTTPClient,
		HTTPHeader:      requestHeader(o, token),
		Subprotocols:    []string{"turnlog.v1"},
		CompressionMode: websocket.CompressionDisabled,
	})
	if err != nil {
		if resp != nil && resp.StatusCode != http.StatusSwitchingProtocols {
			return nil, refusedHandshake(resp)
		}
		return nil, err
	}
	c.SetReadLimit(o.MaxFrame)
	return wsSocket{c}, nil
}

func (s wsSocket) Read(ctx context.Context) ([]byte, error) {
	_, b, err := s.c.Read(ctx)
	var closed websocket.CloseError
	if errors.As(err, &closed) {
		return nil, closeError{int(closed.Code), closed.Reason}
	}
	return b, err
}

func (s wsSocket) Write(ctx context.Context, b []byte) error {
	return s.c.Write(ctx, websocket.MessageText, b)
}

func (s wsSocket) Close(code int, reason string) error {
	return s.c.Close(websocket.StatusCode(code), reason)
}

func (s wsSocket) CloseNow() error { return s.c.CloseNow() }
