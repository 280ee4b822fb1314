package closing

import (
	"encoding/json"
	"math"

	"turnlog/eventlog"
	"turnlog/frame"
)

// MaxCalls bounds the unanswered tool calls that a Transcript remembers.
const MaxCalls = 256

// Transcript is what a turn has said and not yet settled.
type Transcript struct {
	text    frame.Text
	calls   []call
	stopped bool // generation_stopped is logged
}

// call is a tool call without a result.
type call struct {
	id, name, args string
	announced      bool // by an assistant message, not only by a tool_call frame
}

// NewTranscript returns an empty Transcript that keeps at most limit bytes of
// text as they count in JSON (0 = all of it); half of limits.frame_bytes is meant.
func NewTranscript(limit int) *Transcript {
	if limit <= 0 {
		limit = math.MaxInt
	}
	return &Transcript{text: frame.Text{Limit: limit}}
}

// AddStored adds frames as the log holds them, oldest first.
func (t *Transcript) AddStored(frames []eventlog.StoredFrame) {
	for _, f := range frames {
		t.Add(f.Type, f.Frame)
	}
}

// Add adds one frame. It keeps no reference to it.
func (t *Transcript) Add(typ string, b []byte) {
	switch typ {
	case "chunk":
		t.chunk(b)
	case "message":
		t.message(b)
	case "tool_call":
		t.toolCall(b)
	case "request_closed":
		t.requestClosed(b)
	case "generation_stopped":
		t.stopped = true
	}
}

// Stopped says whether the turn has logged generation_stopped.
func (t *Transcript) Stopped() bool { return t.stopped }

func (t *Transcript) chunk(b []byte) {
	if raw, ok := frame.Raw(b, "thinking"); ok && string(raw) == "true" {
		return
	}
	if kind, ok := frame.String(b, "content_type"); ok && kind != "" && kind != "text" {
		return
	}
	if s, ok := frame.String(b, "content"); ok {
		t.text.Add(s)
	}
}

func (t *Transcript) message(b []byte) {
	var m struct {
		Role       string `json:"role"`
		ToolCallID string `json:"tool_call_id"`
		ToolCalls  []struct {
			ID       string          `json:"id"`
			Name     string          `json:"name"`
			Args     json.RawMessage `json:"args"`
			Function struct {
				Name string `json:"name"`
			} `json:"function"`
		} `json:"tool_calls"`
	}
	// A message with fields of unexpected shapes still covers the text.
	_ = json.Unmarshal(b, &m)
	switch m.Role {
	case "tool":
		t.settle(m.ToolCallID)
	case "", "assistant":
		t.text = frame.Text{Limit: t.text.Limit}
		for _, c := range m.ToolCalls {
			name := c.Name
			if name == "" {
				name = c.Function.Name
			}
			t.announce(call{id: c.ID, name: name, announced: true})
		}
	}
}

func (t *Transcript) toolCall(b []byte) {
	// An agent whose provider gave the call an id of its own names it as call_id;
	// it is then the call that the assistant message has announced.
	if id, ok := frame.String(b, "call_id"); ok && t.find(id) >= 0 {
		return
	}
	id, _ := frame.String(b, "tool_call_id")
	name, _ := frame.String(b, "name")
	args, _ := frame.Raw(b, "args")
	t.announce(call{id: id, name: name, args: string(args)})
}

func (t *Transcript) requestClosed(b []byte) {
	id, _ := frame.String(b, "request_id")
	if reason, _ := frame.String(b, "reason"); reason == "answered" {
		t.settle(id)
	}
}

func (t *Transcript) announce(c call) {
	if c.id == "" || len(t.calls) >= MaxCalls {
		return
	}
	if i := t.find(c.id); i >= 0 {
		t.calls[i].announced = t.calls[i].announced || c.announced
		return
	}
	t.calls = append(t.calls, c)
}

func (t *Transcript) settle(id string) {
	if i := t.find(id); i >= 0 {
		t.calls = append(t.calls[:i], t.calls[i+1:]...)
	}
}

func (t *Transcript) find(id string) int {
	for i := range t.calls {
		if t.calls[i].id == id {
			return i
		}
	}
	return -1
}
