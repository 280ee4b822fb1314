package openai

import (
	"encoding/json"
	"strings"

	"turnlog/agent"
)

// row is a message of the history, as this and other agents leave it.
type row struct {
	Role       string          `json:"role"`
	Content    json.RawMessage `json:"content"`
	ToolCalls  []rowCall       `json:"tool_calls"`
	ToolCallID string          `json:"tool_call_id"`
	Name       string          `json:"name"`
	Approval   string          `json:"approval"`
}

type rowCall struct {
	ID       string          `json:"id"`
	Name     string          `json:"name"`
	Args     json.RawMessage `json:"args"`
	Function struct {
		Name      string `json:"name"`
		Arguments string `json:"arguments"`
	} `json:"function"`
}

// wireCall is a tool call in an assistant message, on the wire and in history.
type wireCall struct {
	ID       string       `json:"id"`
	Type     string       `json:"type"`
	Function wireFunction `json:"function"`
}

type wireFunction struct {
	Name      string `json:"name"`
	Arguments string `json:"arguments"`
}

func (c rowCall) wire() wireCall {
	w := wireCall{c.ID, "function", wireFunction{c.Function.Name, c.Function.Arguments}}
	if w.Function.Name == "" {
		w.Function.Name = c.Name
	}
	if w.Function.Arguments == "" {
		w.Function.Arguments = "{}"
		if len(c.Args) > 0 && c.Args[0] == '{' {
			w.Function.Arguments = string(c.Args)
		}
	}
	return w
}

// wireMessage is a message of a request.
type wireMessage struct {
	Role       string     `json:"role"`
	Content    any        `json:"content"` // string, []part or nil
	ToolCalls  []wireCall `json:"tool_calls,omitempty"`
	ToolCallID string     `json:"tool_call_id,omitempty"`
}

// size is what the message counts against the budget, in bytes.
func (m wireMessage) size() int {
	b, _ := json.Marshal(m)
	return len(b)
}

type part struct {
	Type     string    `json:"type"`
	Text     string    `json:"text,omitempty"`
	ImageURL *imageURL `json:"image_url,omitempty"`
}

type imageURL struct {
	URL string `json:"url"`
}

// userContent is the content of a user's message for a request: its text, or
// parts when it has images. Blocks of other types are left out.
func userContent(message json.RawMessage) any {
	var m struct {
		Content []struct {
			Type  string `json:"type"`
			Text  string `json:"text"`
			Image struct {
				URI string `json:"uri"`
			} `json:"image"`
			ImageURL json.RawMessage `json:"image_url"`
		} `json:"content"`
	}
	if json.Unmarshal(message, &m) != nil {
		return agent.Text(message)
	}
	var parts []part
	images := false
	for _, block := range m.Content {
		url := block.Image.URI
		if len(block.ImageURL) > 0 {
			var object imageURL
			if json.Unmarshal(block.ImageURL, &url) != nil && json.Unmarshal(block.ImageURL, &object) == nil {
				url = object.URL
			}
		}
		switch {
		case block.Text != "":
			parts = append(parts, part{Type: "text", Text: block.Text})
		case strings.HasPrefix(url, "https://"), strings.HasPrefix(url, "http://"), strings.HasPrefix(url, "data:"):
			parts, images = append(parts, part{Type: "image_url", ImageURL: &imageURL{url}}), true
		}
	}
	if !images {
		return agent.Text(message)
	}
	return parts
}
