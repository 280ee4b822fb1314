package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"turnlog/cmd/turnlog/term"
	"turnlog/httpapi/admin"
)

// tailView shows frames on out and what happens to the log on status.
type tailView struct {
	out    *term.Screen
	status io.Writer
	asJSON bool
}

// note tells what happens to the log.
func (v *tailView) note(format string, args ...any) {
	fmt.Fprintln(v.status, "· "+term.Text(fmt.Sprintf(format, args...)))
}

// tailedFrame is one line of --json.
type tailedFrame struct {
	Epoch string `json:"epoch"`
	admin.Frame
}

// kindWidth is the room for a frame's type; the few that are longer push their text.
const kindWidth = 18

// frame shows one frame.
func (v *tailView) frame(epoch string, f admin.Frame) error {
	if v.asJSON {
		line, err := json.Marshal(tailedFrame{epoch, f})
		if err == nil {
			_, err = v.out.Write(append(line, '\n'))
		}
		return err
	}
	said, style := frameSays(f.Type, f.Frame)
	number := fmt.Sprintf("%6d", f.ChatSeq)
	kind := term.Word(f.Type)
	pad := strings.Repeat(" ", max(kindWidth-term.Width(kind), 0))
	room := 0
	if w := v.out.Width(); w > 0 {
		room = max(w-term.Width(number+kind+pad)-4, 8)
	}
	line := v.out.Paint(term.Dim, number) + "  " + v.out.Paint(style, kind)
	if said = term.Cut(term.Text(said), room); strings.TrimSpace(said) != "" {
		line += pad + "  " + v.out.Paint(textStyle(style), said)
	}
	_, err := fmt.Fprintln(v.out, line)
	return err
}

// textStyle is how a frame's text looks beside its type.
func textStyle(kind term.Style) term.Style {
	if kind == term.Mark || kind == term.Good {
		return term.Plain
	}
	return kind
}

// frameParts are the keys of the frames that the protocol names.
type frameParts struct {
	Attempt    int             `json:"attempt"`
	Policy     string          `json:"on_disconnect"`
	Content    json.RawMessage `json:"content"`
	Done       bool            `json:"done"`
	Thinking   bool            `json:"thinking"`
	Role       string          `json:"role"`
	Partial    bool            `json:"partial"`
	Name       string          `json:"name"`
	Tool       string          `json:"tool_name"`
	Args       json.RawMessage `json:"args"`
	ToolCallID string          `json:"tool_call_id"`
	ApprovalID string          `json:"approval_id"`
	RequestID  string          `json:"request_id"`
	Reason     string          `json:"reason"`
	Outcome    string          `json:"outcome"`
	Error      string          `json:"error"`
	Message    json.RawMessage `json:"message"`
}

// frameSays is what a person wants to know of a frame, in one line. Frames that the
// protocol does not name, or that are not as it says, show as they are.
func frameSays(kind string, raw json.RawMessage) (string, term.Style) {
	var p frameParts
	if json.Unmarshal(raw, &p) != nil {
		return string(raw), term.Plain
	}
	switch kind {
	case "turn_started":
		var asked frameParts
		_ = json.Unmarshal(p.Message, &asked)
		return join(unless(p.Attempt == 1, fmt.Sprintf("attempt %d,", p.Attempt)), p.Policy+":", spoken(asked.Content)), term.Good
	case "chunk":
		style := term.Plain
		if p.Thinking {
			style = term.Dim
		}
		return join(spoken(p.Content), unless(!p.Done, "(done)")), style
	case "message":
		return join(cmp.Or(p.Role, "user")+":", unless(!p.Partial, "(partial)"), spoken(p.Content)), term.Plain
	case "tool_call":
		return join(p.Name, string(p.Args), "id "+p.ToolCallID), term.Mark
	case "tool_approval_request", "plan_approval_request", "secret_request":
		return join(cmp.Or(p.Tool, p.Name), string(p.Args), "id "+p.ApprovalID), term.Mark
	case "request_closed":
		return join(p.Reason+",", "id "+p.RequestID), term.Mark
	case "error":
		return spoken(p.Message), term.Bad
	case "generation_stopped":
		return spoken(p.Message), term.Warn
	case "turn_finished":
		return join(p.Outcome, p.Error), outcomeStyle(p.Outcome)
	}
	return string(raw), term.Plain
}

// outcomeStyle is how the end of a turn looks.
func outcomeStyle(outcome string) term.Style {
	switch outcome {
	case "", "completed":
		return term.Good
	case "stopped", "superseded":
		return term.Warn
	}
	return term.Bad
}

// spoken is a JSON string's text; other JSON shows as it is, null as nothing.
func spoken(raw json.RawMessage) string {
	var s string
	if json.Unmarshal(raw, &s) != nil {
		return string(raw)
	}
	return s
}

func unless(not bool, words string) string {
	if not {
		return ""
	}
	return words
}

// join puts blanks between what is not empty.
func join(words ...string) string {
	var said []string
	for _, w := range words {
		if w != "" {
			said = append(said, w)
		}
	}
	return strings.Join(said, " ")
}
