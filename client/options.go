package client

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"time"
)

// Options configure a Client. The zero value of every field means its default.
type Options struct {
	// Token returns a bearer token. It is called before every connect, so that an
	// expired one is replaced, before the present one expires (ReauthBefore), and by
	// Messages; possibly from several goroutines, and it has to end with its context.
	// nil connects without.
	Token func(ctx context.Context) (string, error)

	// ReauthBefore is how long before a token expires its connection is extended with
	// a new one, so that it is not even interrupted. Default 30 s; negative = never:
	// the server closes the connection then, and the next one resumes. Tokens that
	// are no JWT, or do not say when they expire, are not renewed.
	ReauthBefore time.Duration

	// User is the user name for servers without authentication.
	User string

	// Header is sent with every handshake.
	Header http.Header

	// HTTPClient makes the handshakes and reads the history. nil is http.DefaultClient.
	HTTPClient *http.Client

	// HTTPURL is where /v1 is, for Messages. Empty = where the WebSocket is.
	HTTPURL string

	// Handler receives what happens.
	Handler Handler

	// Tools are announced to the server at every connect and run when it asks.
	Tools []Tool

	// Adopt says whether a running turn found by ListTurns on a thread this
	// Client does not know should be followed. nil follows all of them.
	Adopt func(threadID string) bool

	// Discover asks for the user's running turns at every connect.
	Discover bool

	// Silence is how long the connection may say nothing before it is taken
	// for dead. Default 60 s; the server speaks every 25 s. Less than that
	// makes healthy connections fail.
	Silence time.Duration

	// DialTimeout bounds one handshake. Default 10 s.
	DialTimeout time.Duration

	// MaxDelay caps the wait between two attempts. Default 10 s.
	MaxDelay time.Duration

	// QueueLimit bounds commands that wait for the connection or for their
	// acknowledgement. Default 256: with the resumes of 128 threads that stays within the
	// server's burst of 400 messages.
	QueueLimit int

	// MaxMessage is the largest command in bytes. Default 8 MiB, the server's
	// own default: a larger one would be answered by closing the socket.
	MaxMessage int

	// MaxFrame is the largest message read in bytes. Default 64 MiB.
	MaxFrame int64

	// Logger gets connection events at debug level, never contents. nil is silent.
	Logger *slog.Logger

	dial dialFunc // tests put an in-memory socket here
}

func (o Options) withDefaults() Options {
	o.Silence = orDefault(o.Silence, 60*time.Second)
	o.ReauthBefore = orDefault(o.ReauthBefore, 30*time.Second)
	o.DialTimeout = orDefault(o.DialTimeout, 10*time.Second)
	o.MaxDelay = orDefault(o.MaxDelay, 10*time.Second)
	o.QueueLimit = orDefault(o.QueueLimit, 256)
	o.MaxMessage = orDefault(o.MaxMessage, 8<<20)
	o.MaxFrame = orDefault(o.MaxFrame, 64<<20)
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.Adopt == nil {
		o.Adopt = func(string) bool { return true }
	}
	if o.HTTPClient == nil {
		o.HTTPClient = http.DefaultClient
	}
	if o.dial == nil {
		o.dial = dialWebSocket
	}
	return o
}

func orDefault[T comparable](v, def T) T {
	var zero T
	if v == zero {
		return def
	}
	return v
}

func (o Options) validate() error {
	switch {
	case o.Silence < 0:
		return errors.New("options: Silence must not be negative")
	case o.DialTimeout < 0:
		return errors.New("options: DialTimeout must not be negative")
	case o.MaxDelay < 0:
		return errors.New("options: MaxDelay must not be negative")
	case o.QueueLimit < 0:
		return errors.New("options: QueueLimit must not be negative")
	}
	seen := map[string]bool{}
	for _, t := range o.Tools {
		if t.Name == "" || t.Run == nil {
			return errors.New("options: every tool needs a Name and a Run function")
		}
		if seen[t.Name] {
			return fmt.Errorf("options: tool %q is given twice", t.Name)
		}
		seen[t.Name] = true
	}
	return nil
}
