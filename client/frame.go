package client

import (
	"bytes"
	"encoding/json"
	"fmt"
)

// Frame is one object from the server that belongs to a thread.
type Frame struct {
	Type     string
	ThreadID string
	TurnID   string
	Seq      int64 // chat_seq; 0 = unnumbered
	Raw      json.RawMessage
}

// Decode decodes the frame's fields into v.
func (f Frame) Decode(v any) error { return json.Unmarshal(f.Raw, v) }

// Header is a chat_resumed frame: what is about to be replayed.
type Header struct {
	ThreadID         string `json:"thread_id"`
	Status           string `json:"status"`
	LastSeq          int64  `json:"last_seq"`
	ReplayCount      int64  `json:"replay_count"`
	ReplayIncomplete bool   `json:"replay_incomplete"`
	Epoch            string `json:"epoch"`
	FirstSeq         int64  `json:"first_seq"`
	TurnID           string `json:"turn_id"`
	Outcome          string `json:"outcome"`
	OnDisconnect     string `json:"on_disconnect"`
}

// Statuses of a Header.
const (
	StatusRunning  = "running"
	StatusFinished = "finished"
	StatusUnknown  = "unknown"
)

// Ack is the server's answer to a command: accepted, not finished.
type Ack struct {
	Message      string `json:"message"`
	ThreadID     string `json:"thread_id"`
	TurnID       string `json:"turn_id"`
	Epoch        string `json:"epoch"`
	OnDisconnect string `json:"on_disconnect"`
	Position     int64  `json:"position"`
	Duplicate    bool   `json:"duplicate"`
	ReplayCount  int64  `json:"replay_count"`
	Count        int64  `json:"count"`
	LastSeq      int64  `json:"last_seq"`
	Status       string `json:"status"`

	// Turns are the running turns of a ListTurns.
	Turns []RunningTurn `json:"-"`

	Raw json.RawMessage `json:"-"`
}

// RunningTurn is one running turn of the user.
type RunningTurn struct {
	ThreadID string `json:"thread_id"`
	TurnID   string `json:"turn_id"`
	LastSeq  int64  `json:"last_seq"`
	Detached bool   `json:"detached"`
}

// envelope is the part of an incoming object that decides what it is.
type envelope struct {
	Type      string          `json:"type"`
	ThreadID  string          `json:"thread_id"`
	TurnID    string          `json:"turn_id"`
	Seq       json.Number     `json:"chat_seq"`
	RequestID json.RawMessage `json:"request_id"`
	Error     json.RawMessage `json:"error"`
	Code      string          `json:"code"`
	Msg       json.RawMessage `json:"message"`
	Retryable bool            `json:"retryable"`
}

// incoming is one decoded object: a frame when Type is set, else an
// acknowledgement.
type incoming struct {
	Frame
	requestID string
	failed    string // error text of a negative acknowledgement
	code      string
	message   string
	retryable bool
}

// decode splits one WebSocket message into its objects: one, or with batching
// a JSON array of them. Objects that cannot be understood fail the whole message.
func decode(b []byte) ([]incoming, error) {
	b = bytes.TrimLeft(b, " \t\r\n")
	if len(b) == 0 {
		return nil, fmt.Errorf("%w: empty message", ErrProtocol)
	}
	if b[0] != '[' {
		in, err := decodeOne(b)
		if err != nil {
			return nil, err
		}
		return []incoming{in}, nil
	}
	var raws []json.RawMessage
	if err := json.Unmarshal(b, &raws); err != nil {
		return nil, fmt.Errorf("%w: batch: %v", ErrProtocol, err)
	}
	out := make([]incoming, 0, len(raws))
	for _, raw := range raws {
		in, err := decodeOne(raw)
		if err != nil {
			return nil, err
		}
		out = append(out, in)
	}
	return out, nil
}

func decodeOne(raw []byte) (incoming, error) {
	var e envelope
	if err := json.Unmarshal(raw, &e); err != nil {
		return incoming{}, fmt.Errorf("%w: %v", ErrProtocol, err)
	}
	in := incoming{
		Frame:     Frame{Type: e.Type, ThreadID: e.ThreadID, TurnID: e.TurnID, Raw: raw},
		requestID: text(e.RequestID),
		code:      e.Code,
		message:   text(e.Msg),
		retryable: e.Retryable,
	}
	if e.Seq != "" {
		seq, err := e.Seq.Int64()
		if err != nil || seq < 0 {
			return incoming{}, fmt.Errorf("%w: chat_seq %s is not a position", ErrProtocol, e.Seq)
		}
		in.Seq = seq
	}
	if e.Type == "" {
		in.failed = text(e.Error)
		if in.failed == "" && len(e.Error) > 0 && string(e.Error) != "null" {
			in.failed = "error"
		}
	}
	return in, nil
}

// text is raw as a string, "" when it is no JSON string.
func text(raw json.RawMessage) string {
	var s string
	if len(raw) == 0 || raw[0] != '"' || json.Unmarshal(raw, &s) != nil {
		return ""
	}
	return s
}
