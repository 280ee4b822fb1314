package openai

import (
	"encoding/json"

	"turnlog/agent"
)

const bytesPerToken = 4

// unknownOutcome stands in for the result of a call that never got one.
const unknownOutcome = "This call returned no result. Its outcome is unknown."

// group is a message together with what it must not be parted from: an assistant
// message with tool calls and their results.
type group []wireMessage

// remember turns history rows into messages that a model accepts: every announced
// call is answered right behind it, no result is without its call. It keeps the
// newest ones, at most budget bytes of them (negative = all), and begins with a
// word of the user where there is one.
func remember(rows []json.RawMessage, budget int) []wireMessage {
	groups := groupRows(rows)
	from, size := len(groups), 0
	for from > 0 {
		for _, m := range groups[from-1] {
			size += m.size()
		}
		if budget >= 0 && size > budget {
			break
		}
		from--
	}
	groups = groups[from:]
	for i, g := range groups {
		if g[0].Role == "user" {
			groups = groups[i:]
			break
		}
	}
	var out []wireMessage
	for _, g := range groups {
		out = append(out, g...)
	}
	return out
}

func groupRows(rows []json.RawMessage) []group {
	var groups []group
	var pending []wireCall
	settle := func() {
		for _, c := range pending {
			last := len(groups) - 1
			groups[last] = append(groups[last], wireMessage{Role: "tool", Content: unknownOutcome, ToolCallID: c.ID})
		}
		pending = nil
	}
	for _, raw := range rows {
		var r row
		_ = json.Unmarshal(raw, &r) // odd fields do not make a message unreadable
		if r.Role == "tool" {
			for i, c := range pending {
				if c.ID == r.ToolCallID {
					last := len(groups) - 1
					groups[last] = append(groups[last], wireMessage{Role: "tool", Content: toolText(raw, r), ToolCallID: c.ID})
					pending = append(pending[:i:i], pending[i+1:]...)
					break
				}
			}
			continue
		}
		settle()
		m := wireMessage{Role: r.Role}
		switch r.Role {
		case "user":
			m.Content = userContent(raw)
		case "system", "developer":
			m.Content = agent.Text(raw)
		case "assistant":
			text := agent.Text(raw)
			for _, c := range r.ToolCalls {
				if w := c.wire(); w.ID != "" && w.Function.Name != "" {
					m.ToolCalls = append(m.ToolCalls, w)
				}
			}
			if text != "" {
				m.Content = text
			}
			pending = append(pending, m.ToolCalls...)
		}
		if m.Content == nil && len(m.ToolCalls) == 0 || m.Content == "" {
			continue // nothing a model can be told
		}
		groups = append(groups, group{m})
	}
	settle()
	return groups
}

func toolText(raw json.RawMessage, r row) string {
	if text := agent.Text(raw); text != "" {
		return text
	}
	return string(r.Content)
}

// allowed are the tools that the user has allowed for the whole chat, as far as
// the history goes back.
func allowed(rows []json.RawMessage) map[string]bool {
	tools := make(map[string]bool)
	for _, raw := range rows {
		var r row
		if json.Unmarshal(raw, &r) == nil && r.Role == "tool" && r.Approval == allowForChat {
			tools[r.Name] = true
		}
	}
	return tools
}
