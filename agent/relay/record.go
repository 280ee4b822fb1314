package relay

import (
	"encoding/json"

	"turnlog/agent"
	"turnlog/frame"
)

// record is what a turn has said and no message holds yet.
type record struct {
	text     frame.Text
	limit    int  // of frames, in bytes
	headless bool // the beginning of the text is no longer held
	ownCalls bool // the agent keeps its tool calls itself, in messages of its own
}

// recordOf begins with what earlier attempts left.
func recordOf(info agent.Info) record {
	r := record{limit: info.FrameLimit}
	r.covered()
	if len(info.Emitted) > 0 {
		typ, _ := frame.Type(info.Emitted[0])
		r.headless = typ != "turn_started"
	}
	ours := make(map[string]bool) // requests, of which the relay makes the messages
	for _, f := range info.Emitted {
		typ, _ := frame.Type(f)
		if id, ok := frame.String(f, "tool_call_id"); ok && typ == "tool_call" {
			ours[id] = true
		}
		if typ != "message" || !about(f, ours) {
			r.add(typ, f)
		} else if role, _ := frame.String(f, "role"); role == "assistant" {
			r.covered()
		}
	}
	return r
}

// add takes a frame of the agent.
func (r *record) add(typ string, f []byte) {
	switch typ {
	case "message":
		role, ok := frame.String(f, "role")
		if !ok || role == "assistant" {
			r.covered()
		}
		if calls, ok := frame.Raw(f, "tool_calls"); ok && len(calls) > 2 || role == "tool" {
			r.ownCalls = true
		}
	case "chunk":
		thinking, _ := frame.Raw(f, "thinking")
		kind, hasKind := frame.String(f, "content_type")
		if string(thinking) != "true" && (!hasKind || kind == "" || kind == "text") {
			content, _ := frame.String(f, "content")
			r.text.Add(content)
		}
	}
}

// covered says that a message holds everything said so far.
func (r *record) covered() {
	r.text, r.headless = frame.Text{Limit: r.limit / 2}, false
}

// message is the assistant message of the text.
func (r *record) message() []byte {
	return frame.Message(r.text.String(), r.text.Cut() || r.headless, false)
}

// about says whether a message is about one of the calls.
func about(message []byte, ids map[string]bool) bool {
	var m struct {
		ToolCallID string `json:"tool_call_id"`
		ToolCalls  []struct {
			ID string `json:"id"`
		} `json:"tool_calls"`
	}
	_ = json.Unmarshal(message, &m)
	return ids[m.ToolCallID] || len(m.ToolCalls) == 1 && ids[m.ToolCalls[0].ID]
}

// announcement is the assistant message of the text and a tool call behind it.
// Arguments of more than a quarter of a frame are left out.
func (r *record) announcement(id, name string, args json.RawMessage) []byte {
	cut := r.text.Cut() || r.headless
	arguments := frame.AppendString(nil, string(args))
	switch {
	case len(args) == 0:
		arguments = []byte(`"{}"`)
	case len(arguments) > r.limit/4:
		arguments, cut = []byte(`"{}"`), true
	}
	b := frame.AppendString([]byte(`{"type":"message","role":"assistant","content":`), r.text.String())
	b = frame.AppendString(append(b, `,"tool_calls":[{"id":`...), id)
	b = frame.AppendString(append(b, `,"type":"function","function":{"name":`...), name)
	b = append(append(b, `,"arguments":`...), arguments...)
	b = append(b, `}}]`...)
	if cut {
		b = append(b, `,"truncated":true`...)
	}
	return append(b, '}')
}

func resultMessage(id, name, result string) []byte {
	b := frame.AppendString([]byte(`{"type":"message","role":"tool","tool_call_id":`), id)
	b = frame.AppendString(append(b, `,"name":`...), name)
	b = frame.AppendString(append(b, `,"content":`...), result)
	return append(b, '}')
}

// steered is the message of a user who spoke into the running turn, for the history.
func steered(message json.RawMessage) []byte {
	rest := frame.Without(frame.Without(message, "type"), "steer")
	b := []byte(`{"type":"message"`)
	if frame.Keys(rest) > 0 {
		b = append(append(b, ','), rest[1:len(rest)-1]...)
	}
	return append(b, `,"steer":true}`...)
}
