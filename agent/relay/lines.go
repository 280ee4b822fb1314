package relay

import (
	"context"
	"encoding/json"

	"turnlog/agent"
)

// maxRows bounds the history, and what was emitted, in the start line, in bytes.
const maxRows = 1 << 20

// startLine is the first line a program reads.
type startLine struct {
	Type       string            `json:"type"`
	Protocol   int               `json:"protocol"`
	ThreadID   string            `json:"thread_id"`
	TurnID     string            `json:"turn_id"`
	Attempt    int               `json:"attempt"`
	User       string            `json:"user"`
	Message    json.RawMessage   `json:"message"`
	History    []json.RawMessage `json:"history"`
	Tools      json.RawMessage   `json:"tools,omitempty"`
	Data       json.RawMessage   `json:"data,omitempty"`
	Checkpoint json.RawMessage   `json:"checkpoint,omitempty"`
	Emitted    []json.RawMessage `json:"emitted,omitempty"`
}

// Start returns the line that begins a turn: who asks what, with at most
// historyLimit earlier messages (none when it is not positive).
func Start(ctx context.Context, turn agent.Turn, historyLimit int) ([]byte, error) {
	info := turn.Info()
	history := []json.RawMessage{}
	if historyLimit > 0 {
		rows, err := turn.History(ctx, historyLimit)
		if err != nil {
			return nil, err
		}
		history = append(history, newest(rows)...)
	}
	message := info.Message
	if len(message) == 0 {
		message = json.RawMessage("null")
	}
	checkpoint := json.RawMessage(info.Checkpoint)
	if !json.Valid(checkpoint) {
		checkpoint = nil // none, or another agent's
	}
	return jsonLine(startLine{
		Type: "start", Protocol: Protocol, ThreadID: info.ThreadID, TurnID: info.TurnID, Attempt: info.Attempt, User: info.User,
		Message: message, History: history, Tools: info.Tools, Data: info.Data,
		Checkpoint: checkpoint, Emitted: newest(info.Emitted),
	})
}

// newest returns the last rows, at most maxRows bytes of them.
func newest(rows []json.RawMessage) []json.RawMessage {
	size, from := 0, len(rows)
	for from > 0 && size+len(rows[from-1]) <= maxRows {
		from--
		size += len(rows[from])
	}
	return rows[from:]
}

func answerLine(kind string, ref json.RawMessage, answer agent.Answer, problem string) []byte {
	line, err := jsonLine(struct {
		Type      string          `json:"type"`
		Ref       json.RawMessage `json:"ref,omitempty"`
		Kind      string          `json:"kind"`
		RequestID string          `json:"request_id,omitempty"`
		Answer    json.RawMessage `json:"answer,omitempty"`
		Error     string          `json:"error,omitempty"`
		Auto      bool            `json:"auto,omitempty"`
	}{"answer", ref, kind, answer.RequestID, answer.Payload, problem, answer.Auto})
	if err != nil { // an answer that is not JSON; the runtime has checked it
		line, _ = jsonLine(map[string]any{"type": "answer", "ref": ref, "kind": kind, "error": "invalid"})
	}
	return line
}

func inputLine(in agent.Input) ([]byte, error) {
	return jsonLine(struct {
		Type    string          `json:"type"`
		Kind    string          `json:"kind"`
		Message json.RawMessage `json:"message,omitempty"`
		Mode    string          `json:"mode,omitempty"`
	}{"input", in.Kind, in.Message, in.Mode})
}

func jsonLine(v any) ([]byte, error) {
	b, err := json.Marshal(v) // compacts raw parts: never a newline within a line
	return append(b, '\n'), err
}
