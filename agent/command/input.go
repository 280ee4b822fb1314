package command

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"strings"
	"time"

	"turnlog/agent"
)

const (
	// maxRows bounds the history, and what was emitted, in the start line.
	maxRows = 1 << 20
	// stopLine is how long the program's input may take to accept the stop line.
	stopLine = 100 * time.Millisecond
)

// startLine is the first line a program reads.
type startLine struct {
	Type       string            `json:"type"`
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

// start builds what the program reads first, newline included.
func (a *Agent) start(ctx context.Context, turn agent.Turn) ([]byte, error) {
	info := turn.Info()
	if a.options.Stdin == StdinText {
		return []byte(strings.TrimSuffix(agent.Text(info.Message), "\n") + "\n"), nil
	}
	history := []json.RawMessage{}
	if a.options.HistoryLimit > 0 {
		rows, err := turn.History(ctx, a.options.HistoryLimit)
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
		Type: "start", ThreadID: info.ThreadID, TurnID: info.TurnID, Attempt: info.Attempt, User: info.User,
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

// feed writes the program's input until ctx ends, then the stop line (with the
// outcome) and the end of input. A program that does not read holds up nobody:
// what it has not read yet is limited by its pipe, and inputs stay untaken.
func (a *Agent) feed(ctx context.Context, turn agent.Turn, stdin *os.File, start []byte, answers <-chan []byte) {
	defer stdin.Close()
	defer context.AfterFunc(ctx, func() { _ = stdin.SetWriteDeadline(time.Now().Add(stopLine)) })()
	if _, err := stdin.Write(start); err != nil || a.options.Stdin == StdinText {
		return
	}
	inputs := turn.Inputs()
	for {
		var line []byte
		select {
		case <-ctx.Done():
			writeStop(ctx, stdin)
			return
		case line = <-answers:
		case in, open := <-inputs:
			if !open {
				inputs = nil
				continue
			}
			var err error
			if line, err = inputLine(in); err != nil {
				continue
			}
		}
		if _, err := stdin.Write(line); err != nil {
			return
		}
	}
}

func writeStop(ctx context.Context, stdin io.Writer) {
	outcome := "failed"
	var ended *agent.Ended
	if errors.As(context.Cause(ctx), &ended) {
		outcome = ended.Outcome
	}
	line, _ := jsonLine(map[string]string{"type": "stop", "outcome": outcome})
	_, _ = stdin.Write(line)
}
