package demo

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"turnlog/agent"
)

const (
	maxFrames    = 100_000_000
	maxInterval  = time.Hour
	defaultCount = 10
	replyPace    = 60 * time.Millisecond
	replyWords   = 40 // of the user's message that are repeated
)

// options are the "demo" keys as a client sends them.
type options struct {
	Frames     *int      `json:"frames"`
	IntervalMS float64   `json:"interval_ms"`
	Bytes      int       `json:"bytes"`
	Text       string    `json:"text"`
	ToolCall   *toolCall `json:"tool_call"`
	Approval   *approval `json:"approval"`
	Checkpoint int       `json:"checkpoint_every"`
	FailAt     int       `json:"fail_at"`
	PanicAt    int       `json:"panic_at"`
	HangAt     int       `json:"hang_at"`
	IgnoreStop bool      `json:"ignore_stop"`
	Stamp      bool      `json:"stamp"`
}

type toolCall struct {
	Name string          `json:"name"`
	Args json.RawMessage `json:"args"`
	At   int             `json:"at"`
}

type approval struct {
	ToolName string `json:"tool_name"`
	At       int    `json:"at"`
}

// script is what a turn will say, before anything unforeseen.
type script struct {
	options
	words    []string // instead of numbers
	count    int
	interval time.Duration
	asks     []ask // in order
}

type ask struct {
	at int
	agent.Ask
}

func newScript(info agent.Info) (*script, error) {
	var data struct {
		Demo json.RawMessage `json:"demo"`
	}
	if len(info.Data) > 0 {
		if err := json.Unmarshal(info.Data, &data); err != nil {
			return nil, fmt.Errorf("demo: the submission's data is not an object: %w", err)
		}
	}
	if len(data.Demo) == 0 || string(data.Demo) == "null" {
		words := reply(agent.Text(info.Message))
		return &script{words: words, count: len(words), interval: replyPace}, nil
	}
	s := &script{}
	dec := json.NewDecoder(bytes.NewReader(data.Demo))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&s.options); err != nil {
		return nil, explain(err)
	}
	if err := s.validate(info.FrameLimit); err != nil {
		return nil, fmt.Errorf("demo.%w", err)
	}
	s.interval = time.Duration(s.IntervalMS * float64(time.Millisecond))
	s.count = defaultCount
	if s.Text != "" {
		s.words = strings.Fields(s.Text)
		s.count = len(s.words)
	}
	if s.Frames != nil && (s.Text == "" || *s.Frames < s.count) {
		s.count = *s.Frames
	}
	s.plan()
	return s, nil
}

// wants says what each option is, for people whose value is something else.
var wants = map[string]string{
	"":                   "an object such as {\"frames\": 50, \"interval_ms\": 20}",
	"frames":             fmt.Sprintf("a whole number from 0 to %d", maxFrames),
	"interval_ms":        fmt.Sprintf("a number from 0 to %d", maxInterval.Milliseconds()),
	"bytes":              "a whole number from 0",
	"text":               "a string",
	"tool_call":          "an object with name, args and at",
	"tool_call.name":     "a string",
	"tool_call.at":       "a whole number",
	"approval":           "an object with tool_name and at",
	"approval.tool_name": "a string",
	"approval.at":        "a whole number",
	"checkpoint_every":   "a whole number from 0",
	"fail_at":            "a whole number from 0",
	"panic_at":           "a whole number from 0",
	"hang_at":            "a whole number from 0",
	"ignore_stop":        "true or false",
	"stamp":              "true or false",
}

// explain turns a decoder's error into a sentence that names the option.
func explain(err error) error {
	var wrong *json.UnmarshalTypeError
	if errors.As(err, &wrong) {
		name := "demo"
		if wrong.Field != "" {
			name += "." + wrong.Field
		}
		want, known := wants[wrong.Field]
		if !known {
			want = "something else"
		}
		return fmt.Errorf("%s must be %s, not %s", name, want, wrong.Value)
	}
	if _, field, ok := strings.Cut(err.Error(), "unknown field "); ok {
		return fmt.Errorf("demo has no option %s; docs/agents.md lists them", field)
	}
	return fmt.Errorf("demo is not JSON: %w", err)
}

func (s *script) validate(frameLimit int) error {
	for name, n := range map[string]int{
		"bytes": s.Bytes, "checkpoint_every": s.Checkpoint,
		"fail_at": s.FailAt, "panic_at": s.PanicAt, "hang_at": s.HangAt,
	} {
		if n < 0 {
			return fmt.Errorf("%s must be a whole number from 0", name)
		}
	}
	switch {
	case s.Frames != nil && (*s.Frames < 0 || *s.Frames > maxFrames):
		return fmt.Errorf("frames must be a whole number from 0 to %d", maxFrames)
	case !(s.IntervalMS >= 0 && s.IntervalMS <= float64(maxInterval.Milliseconds())):
		return fmt.Errorf("interval_ms must be a number from 0 to %d", maxInterval.Milliseconds())
	case frameLimit > 0 && s.Bytes > frameLimit/2:
		return fmt.Errorf("bytes must be at most %d here, half of limits.frame_bytes", frameLimit/2)
	case s.ToolCall != nil && s.ToolCall.Name == "":
		return fmt.Errorf("tool_call needs a name")
	case s.Approval != nil && s.Approval.ToolName == "":
		return fmt.Errorf("approval needs a tool_name")
	}
	return nil
}

// plan puts the requests in order; those without a place come first, those
// behind the last chunk come last.
func (s *script) plan() {
	if s.ToolCall != nil {
		args := s.ToolCall.Args
		if args == nil {
			args = json.RawMessage("{}")
		}
		s.asks = append(s.asks, ask{s.place(s.ToolCall.At), agent.Ask{
			Kind: agent.KindToolCall, Name: s.ToolCall.Name, Fields: map[string]any{"name": s.ToolCall.Name, "args": args},
		}})
	}
	if s.Approval != nil {
		a := ask{s.place(s.Approval.At), agent.Ask{
			Kind: agent.KindToolApproval, Name: s.Approval.ToolName, Fields: map[string]any{"tool_name": s.Approval.ToolName},
		}}
		if len(s.asks) > 0 && a.at < s.asks[0].at {
			s.asks = []ask{a, s.asks[0]}
		} else {
			s.asks = append(s.asks, a)
		}
	}
}

func (s *script) place(at int) int { return min(max(at, 1), s.count+1) }

// say appends the content of chunk n to dst.
func (s *script) say(dst []byte, n int) []byte {
	if s.words != nil {
		dst = append(dst, s.words[n-1]...)
		return append(dst, ' ')
	}
	from := len(dst)
	dst = strconv.AppendInt(dst, int64(n), 10)
	dst = append(dst, ':')
	for rest := s.Bytes - (len(dst) - from); rest > 0; rest -= len(filler) {
		dst = append(dst, filler[:min(rest, len(filler))]...)
	}
	return append(dst, ' ')
}

const filler = "abcdefghijklmnopqrstuvwxyzabcdefghijklmnopqrstuvwxyzabcdefghijklmnopqrstuvwxyzabcdefghijklmnopqrstuvwxyz"

func reply(text string) []string {
	words := strings.Fields(text)
	if len(words) == 0 {
		return strings.Fields("Hello! You said nothing at all, so I have nothing to repeat.")
	}
	if len(words) > replyWords {
		words = append(words[:replyWords:replyWords], "...")
	}
	return strings.Fields("Hello! You said: \"" + strings.Join(words, " ") + "\". I am the demo agent: there is no model behind me, " +
		"but I keep talking while you are away. Drop the connection, come back, and you will not have missed a word.")
}
