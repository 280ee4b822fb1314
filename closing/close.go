package closing

import (
	"encoding/json"

	"turnlog/eventlog"
	"turnlog/frame"
)

// End says how the turn ends.
type End struct {
	Outcome   eventlog.Outcome
	Error     string          // reason for people; "" = a standard sentence
	ErrorType string          // error_type; "" = the outcome, or agent_error when failed
	Status    int             // status_code of the error; 0 = none
	Usage     json.RawMessage // token usage, passed on in turn_finished; nil without it
}

// reasons are told to viewers when End.Error is empty.
var reasons = map[eventlog.Outcome]string{
	eventlog.OutcomeFailed:    "The agent failed.",
	eventlog.OutcomeOwnerLost: "The server that ran this turn was lost.",
	eventlog.OutcomeTimedOut:  "The turn reached its maximum duration.",
	eventlog.OutcomeStalled:   "The turn made no progress for too long.",
	eventlog.OutcomeShutdown:  "The server was shut down before the turn was over.",
}

// StoppedMessage is the message of generation_stopped.
const StoppedMessage = "Generation stopped"

// Close returns the closing entries of the turn, turn_finished last. It does
// not change the Transcript.
func (t *Transcript) Close(end End) []eventlog.Entry {
	var out []eventlog.Entry
	if end.Outcome != eventlog.OutcomeCompleted {
		out = t.Leftovers(end.Outcome)
	}
	if end.Outcome == eventlog.OutcomeStopped && !t.stopped {
		out = append(out, entry("generation_stopped", frame.GenerationStopped(StoppedMessage)))
	}
	errMsg := end.Error
	if standard, ok := reasons[end.Outcome]; ok {
		if errMsg == "" {
			errMsg = standard
		}
		out = append(out, entry("error", frame.ErrorStatus(errMsg, errorType(end), end.Status)))
	}
	if end.Outcome != eventlog.OutcomeSuperseded {
		out = append(out, entry("chunk", frame.Done()))
	}
	return append(out, entry("turn_finished", frame.TurnFinished(string(end.Outcome), errMsg, end.Usage)))
}

func errorType(end End) string {
	switch {
	case end.ErrorType != "":
		return end.ErrorType
	case end.Outcome == eventlog.OutcomeFailed:
		return "agent_error"
	}
	return string(end.Outcome)
}

// Leftovers returns what history still needs when the turn ends early: the
// text so far as a partial message and a stand-in for every tool call without
// a result; nil when nothing is owed. After they were added with Add nothing
// is owed any more.
func (t *Transcript) Leftovers(outcome eventlog.Outcome) []eventlog.Entry {
	var out []eventlog.Entry
	var loose []call
	for _, c := range t.calls {
		if c.announced {
			out = append(out, standIn(c, outcome, endedEarly(outcome)))
		} else {
			loose = append(loose, c)
		}
	}
	if !t.text.Empty() || len(loose) > 0 {
		out = append(out, t.partial(outcome, loose))
	}
	for _, c := range loose {
		out = append(out, standIn(c, outcome, endedEarly(outcome)))
	}
	return out
}

func endedEarly(outcome eventlog.Outcome) string {
	return "The turn ended (" + string(outcome) + ") before this call returned a result. Its outcome is unknown."
}

type toolCall struct {
	ID       string       `json:"id"`
	Type     string       `json:"type"`
	Function toolFunction `json:"function"`
}

type toolFunction struct {
	Name      string `json:"name"`
	Arguments string `json:"arguments"`
}

func (t *Transcript) partial(outcome eventlog.Outcome, loose []call) eventlog.Entry {
	m := struct {
		Type      string           `json:"type"`
		Role      string           `json:"role"`
		Content   string           `json:"content"`
		ToolCalls []toolCall       `json:"tool_calls,omitempty"`
		Partial   bool             `json:"partial"`
		Outcome   eventlog.Outcome `json:"outcome"`
		Truncated bool             `json:"truncated,omitempty"`
	}{Type: "message", Role: "assistant", Content: t.text.String(), Partial: true, Outcome: outcome, Truncated: t.text.Cut()}
	for _, c := range loose {
		args := c.args
		if args == "" {
			args = "{}"
		}
		m.ToolCalls = append(m.ToolCalls, toolCall{ID: c.id, Type: "function", Function: toolFunction{Name: c.name, Arguments: args}})
	}
	return marshal(m)
}

func standIn(c call, outcome eventlog.Outcome, text string) eventlog.Entry {
	return marshal(struct {
		Type       string           `json:"type"`
		Role       string           `json:"role"`
		ToolCallID string           `json:"tool_call_id"`
		Name       string           `json:"name,omitempty"`
		Content    string           `json:"content"`
		StandIn    bool             `json:"stand_in"`
		Outcome    eventlog.Outcome `json:"outcome,omitempty"`
	}{"message", "tool", c.id, c.name, text, true, outcome})
}

// marshal never fails: its arguments hold strings, booleans and lists only.
func marshal(v any) eventlog.Entry {
	b, _ := json.Marshal(v)
	return entry("message", b)
}

func entry(typ string, b []byte) eventlog.Entry { return eventlog.Entry{Type: typ, Frame: b} }
