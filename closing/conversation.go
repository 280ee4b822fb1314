package closing

import (
	"encoding/json"

	"turnlog/frame"
)

// Conversation returns persisted messages, oldest first, in a shape that can be
// sent to a model again: behind each message that announces tool calls come their
// results, and a stand-in where there is none (the history was cut there, or the
// agent left it open); a result without its call is left out. Each message has a
// role, assistant where agents left it out; what has none of its own kind (not a
// string, not an object) is left out too. The key "type", which the messages of
// agents have as frames and those of users have not, is taken away.
//
// It is pure, and the same again for its own result.
func Conversation(rows []json.RawMessage) []json.RawMessage {
	type slot struct{ group, place int }
	var groups [][]json.RawMessage // a message and its results, nil where one is missing
	var waiting [][]call           // the calls of each group
	open := make(map[string]slot)
	for _, row := range rows {
		h := headOf(row)
		switch {
		case !h.valid:
		case h.role == "tool":
			if s, ok := open[h.answers]; ok {
				groups[s.group][s.place] = h.row
				delete(open, h.answers)
			}
		default:
			group := append(make([]json.RawMessage, 0, 1+len(h.calls)), h.row)
			for _, c := range h.calls {
				open[c.id] = slot{len(groups), len(group)}
				group = append(group, nil)
			}
			groups, waiting = append(groups, group), append(waiting, h.calls)
		}
	}
	out := make([]json.RawMessage, 0, len(rows))
	for i, group := range groups {
		for j, row := range group {
			if row == nil {
				row = standIn(waiting[i][j-1], "", unknownOutcome).Frame
				row = frame.Without(row, "type")
			}
			out = append(out, row)
		}
	}
	return out
}

const unknownOutcome = "History holds no result of this call. Its outcome is unknown."

// head is what counts of a message here.
type head struct {
	valid   bool
	row     json.RawMessage // without type, with a role
	role    string
	answers string // tool_call_id
	calls   []call
}

func headOf(row json.RawMessage) head {
	var m struct {
		Role       json.RawMessage `json:"role"`
		ToolCallID json.RawMessage `json:"tool_call_id"`
		ToolCalls  json.RawMessage `json:"tool_calls"`
	}
	if json.Unmarshal(row, &m) != nil || len(row) == 0 || string(row) == "null" {
		return head{}
	}
	h := head{valid: true, row: frame.Without(row, "type"), role: "assistant"}
	if len(m.Role) == 0 || string(m.Role) == "null" {
		h.row = withRole(frame.Without(h.row, "role"), h.role)
	} else if json.Unmarshal(m.Role, &h.role) != nil || h.role == "" {
		return head{}
	}
	_ = json.Unmarshal(m.ToolCallID, &h.answers) // an odd id answers nothing
	var list []json.RawMessage
	_ = json.Unmarshal(m.ToolCalls, &list)
	known := make(map[string]bool, len(list))
	for _, raw := range list {
		var c struct {
			ID       string `json:"id"`
			Name     string `json:"name"`
			Function struct {
				Name string `json:"name"`
			} `json:"function"`
		}
		if json.Unmarshal(raw, &c) != nil || c.ID == "" || known[c.ID] {
			continue
		}
		known[c.ID] = true
		if c.Name == "" {
			c.Name = c.Function.Name
		}
		h.calls = append(h.calls, call{id: c.ID, name: c.Name})
	}
	return h
}

func withRole(object []byte, role string) json.RawMessage {
	out := frame.AppendString([]byte(`{"role":`), role)
	if frame.Keys(object) > 0 {
		out = append(out, ',')
	}
	return append(out, object[1:]...)
}
