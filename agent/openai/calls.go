package openai

import (
	"crypto/rand"
	"encoding/json"
	"errors"

	sdk "github.com/openai/openai-go/v3"

	"turnlog/agent"
)

// maxCalls bounds the tool calls of one answer.
const maxCalls = 128

// call is one tool call of the model, under an id of our own.
type call struct {
	id   string
	name string
	args string
}

// calls gathers the tool calls of an answer from their deltas.
type calls struct {
	list  []*calling
	at    map[int64]*calling // newest call by the provider's index
	limit int                // of all arguments together, in bytes
	size  int
}

type calling struct {
	provider string // the provider's id, which it may use again for the next call
	name     string
	args     joiner
	text     []byte
}

func (c *calls) add(d sdk.ChatCompletionChunkChoiceDeltaToolCall) error {
	now := c.at[d.Index]
	// Some providers give every call the index 0, and only ids tell them apart.
	if now == nil || (d.ID != "" && now.provider != "" && d.ID != now.provider) {
		if len(c.list) == maxCalls {
			return &agent.Error{Message: "The model called too many tools at once.", Type: "invalid_answer"}
		}
		now = &calling{}
		if c.at == nil {
			c.at = make(map[int64]*calling)
		}
		c.at[d.Index] = now
		c.list = append(c.list, now)
	}
	if d.ID != "" {
		now.provider = d.ID
	}
	if d.Function.Name != now.name { // some repeat the name in each delta
		now.name += d.Function.Name
	}
	raw := d.Function.JSON.Arguments.Raw()
	piece := now.args.add(raw)
	if len(raw) > 0 && raw[0] == '{' { // an object instead of its text
		piece = raw
	}
	now.text = append(now.text, piece...)
	if c.size += len(piece); c.size > c.limit {
		return &agent.Error{Message: "The arguments of the model's tool calls are too large.", Type: "invalid_answer"}
	}
	return nil
}

// done returns the calls, in order of appearance.
func (c *calls) done() []call {
	out := make([]call, 0, len(c.list))
	for _, k := range c.list {
		args := string(append(k.text, k.args.end()...))
		if args == "" {
			args = "{}"
		}
		out = append(out, call{id: newCallID(), name: k.name, args: args})
	}
	return out
}

// newCallID makes an id of nine letters and digits, the strictest shape that
// providers ask for.
func newCallID() string {
	const digits = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
	var b [9]byte
	_, _ = rand.Read(b[:]) // never fails
	for i := range b {
		b[i] = digits[int(b[i])%len(digits)]
	}
	return string(b[:])
}

var errNoObject = errors.New("the arguments are not a JSON object")

// object returns the arguments as a client gets them.
func (c call) object() (json.RawMessage, error) {
	var probe map[string]json.RawMessage
	if json.Unmarshal([]byte(c.args), &probe) != nil || probe == nil {
		return nil, errNoObject
	}
	return json.RawMessage(c.args), nil
}
