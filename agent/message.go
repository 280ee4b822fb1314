package agent

import (
	"encoding/json"
	"strings"
)

// Text returns the text of a message ({role, content, ...}): its content when
// that is a string, else the text blocks of the list, joined by newlines. It
// returns "" for anything else.
func Text(message json.RawMessage) string {
	var m struct {
		Content json.RawMessage `json:"content"`
	}
	if json.Unmarshal(message, &m) != nil {
		return ""
	}
	var text string
	if json.Unmarshal(m.Content, &text) == nil {
		return text
	}
	var blocks []json.RawMessage
	if json.Unmarshal(m.Content, &blocks) != nil {
		return ""
	}
	var parts []string
	for _, raw := range blocks {
		var block struct {
			Text string `json:"text"`
		}
		if json.Unmarshal(raw, &text) == nil {
			parts = append(parts, text)
		} else if json.Unmarshal(raw, &block) == nil && block.Text != "" {
			parts = append(parts, block.Text)
		}
	}
	return strings.Join(parts, "\n")
}
