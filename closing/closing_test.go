package closing_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"turnlog/closing"
	"turnlog/eventlog"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func stored(frames ...string) []eventlog.StoredFrame {
	out := make([]eventlog.StoredFrame, 0, len(frames))
	for i, f := range frames {
		var head struct{ Type string }
		if err := json.Unmarshal([]byte(f), &head); err != nil {
			panic(err)
		}
		out = append(out, eventlog.StoredFrame{Seq: int64(i + 1), Type: head.Type, Frame: []byte(f)})
	}
	return out
}

// brief names each entry: its type, and for messages what matters in them.
func brief(t *testing.T, entries []eventlog.Entry) string {
	t.Helper()
	var out []string
	for _, e := range entries {
		var f struct {
			Type, Role, Content, Outcome, Error, Message string
			ToolCallID                                   string `json:"tool_call_id"`
			ErrorType                                    string `json:"error_type"`
			Done, Partial, Truncated                     bool
			ToolCalls                                    []struct{ ID string } `json:"tool_calls"`
		}
		if err := json.Unmarshal(e.Frame, &f); err != nil {
			t.Fatalf("entry %s: %v", e.Frame, err)
		}
		if f.Type != e.Type {
			t.Errorf("entry type %q, frame type %q", e.Type, f.Type)
		}
		s := f.Type
		switch {
		case f.Role == "tool":
			s = "tool " + f.ToolCallID
		case f.Type == "message":
			s = "partial=" + f.Content
			for _, c := range f.ToolCalls {
				s += "+" + c.ID
			}
			if !f.Partial {
				t.Error("the message is not marked partial")
			}
			if f.Truncated {
				s += " truncated"
			}
		case f.Type == "error":
			s = "error " + f.ErrorType
		case f.Type == "chunk" && f.Done:
			s = "done"
		case f.Type == "turn_finished":
			s = "finished " + f.Outcome
		}
		out = append(out, s)
	}
	return strings.Join(out, ", ")
}

func TestB49_ClosingEntries(t *testing.T) {
	const (
		hello = `{"type":"chunk","content":"hello "}`
		world = `{"type":"chunk","content":"wörld"}`
		calls = `{"type":"message","role":"assistant","content":"x","tool_calls":[{"id":"call_0","type":"function","function":{"name":"f","arguments":"{}"}},{"id":"call_1"}]}`
		tool0 = `{"type":"message","role":"tool","tool_call_id":"call_0","content":"r"}`
		ask   = `{"type":"tool_call","tool_call_id":"req_a","name":"f","args":{"n":[]}}`
	)
	tests := []struct {
		name    string
		outcome eventlog.Outcome
		limit   int
		frames  []string
		want    string
	}{
		{"completed leaves nothing behind", eventlog.OutcomeCompleted, 0, []string{hello}, "done, finished completed"},
		{"empty turn that failed", eventlog.OutcomeFailed, 0, nil, "error agent_error, done, finished failed"},
		{"text so far", eventlog.OutcomeDetached, 0, []string{hello, world}, "partial=hello wörld, done, finished detached"},
		{"text covered by a message", eventlog.OutcomeDetached, 0, []string{hello, `{"type":"message","role":"assistant","content":"hello "}`, world}, "partial=wörld, done, finished detached"},
		{"everything covered", eventlog.OutcomeStalled, 0, []string{hello, `{"type":"message","content":"hello "}`}, "error stalled, done, finished stalled"},
		{"thinking and pictures are not text", eventlog.OutcomeTimedOut, 0, []string{`{"type":"chunk","content":"hm","thinking":true}`, `{"type":"chunk","content":"b64","content_type":"image"}`}, "error timed_out, done, finished timed_out"},
		{"explicit text", eventlog.OutcomeDetached, 0, []string{`{"type":"chunk","content":"a","content_type":"text","thinking":false}`}, "partial=a, done, finished detached"},
		{"cut between characters", eventlog.OutcomeDetached, 8, []string{hello, world, hello}, "partial=hello w truncated, done, finished detached"},
		{"a message starts the count anew", eventlog.OutcomeDetached, 3, []string{hello, `{"type":"message","content":"hello "}`, `{"type":"chunk","content":"ab"}`}, "partial=ab, done, finished detached"},
		{"announced calls", eventlog.OutcomeOwnerLost, 0, []string{calls, tool0}, "tool call_1, error owner_lost, done, finished owner_lost"},
		{"stand-ins directly follow their announcement", eventlog.OutcomeOwnerLost, 0, []string{calls, hello}, "tool call_0, tool call_1, partial=hello , error owner_lost, done, finished owner_lost"},
		{"provider reuses ids", eventlog.OutcomeDetached, 0, []string{calls, tool0, calls}, "tool call_1, tool call_0, done, finished detached"},
		{"unanswered request", eventlog.OutcomeDetached, 0, []string{hello, ask}, "partial=hello +req_a, tool req_a, done, finished detached"},
		{"answered request", eventlog.OutcomeDetached, 0, []string{ask, `{"type":"request_closed","request_id":"req_a","reason":"answered"}`}, "done, finished detached"},
		{"expired request", eventlog.OutcomeDetached, 0, []string{ask, `{"type":"request_closed","request_id":"req_a","reason":"expired"}`}, "partial=+req_a, tool req_a, done, finished detached"},
		{"request for an announced call", eventlog.OutcomeDetached, 0, []string{calls, tool0, `{"type":"tool_call","tool_call_id":"req_b","call_id":"call_1","name":"f"}`}, "tool call_1, done, finished detached"},
		{"stopped, not logged yet", eventlog.OutcomeStopped, 0, []string{hello}, "partial=hello , generation_stopped, done, finished stopped"},
		{"stopped, already logged", eventlog.OutcomeStopped, 0, []string{`{"type":"generation_stopped","message":"m","job_id":null}`}, "done, finished stopped"},
		{"B122 superseded shows no done", eventlog.OutcomeSuperseded, 0, []string{hello}, "partial=hello , finished superseded"},
		{"shutdown", eventlog.OutcomeShutdown, 0, nil, "error shutdown, done, finished shutdown"},
		{"odd frames", eventlog.OutcomeDetached, 0, []string{`{"type":"message","role":7}`, `{"type":"tool_call"}`, `{"type":"chunk","content":[1]}`, `{"type":"request_closed"}`}, "done, finished detached"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			tr := closing.NewTranscript(tt.limit)
			tr.AddStored(stored(tt.frames...))
			got := brief(t, tr.Close(closing.End{Outcome: tt.outcome}))
			if got != tt.want {
				t.Errorf("got  %s\nwant %s", got, tt.want)
			}
			if again := brief(t, tr.Close(closing.End{Outcome: tt.outcome})); again != got {
				t.Errorf("closing twice differs: %s", again)
			}
		})
	}
}

func TestB49_LeftoversSettleTheTranscript(t *testing.T) {
	tr := closing.NewTranscript(0)
	tr.AddStored(stored(`{"type":"chunk","content":"a"}`, `{"type":"tool_call","tool_call_id":"req_a","name":"f"}`))
	for _, e := range tr.Leftovers(eventlog.OutcomeStopped) {
		tr.Add(e.Type, e.Frame)
	}
	if left := tr.Leftovers(eventlog.OutcomeStopped); left != nil {
		t.Errorf("still owed: %s", brief(t, left))
	}
}

func TestB45_ErrorAndUsageAreTold(t *testing.T) {
	entries := closing.NewTranscript(0).Close(closing.End{Outcome: eventlog.OutcomeFailed, Error: "no \"luck\"", Usage: json.RawMessage(`{"tokens":3}`)})
	last := string(entries[len(entries)-1].Frame)
	if want := `{"type":"turn_finished","outcome":"failed","error":"no \"luck\"","usage":{"tokens":3}}`; last != want {
		t.Errorf("got  %s\nwant %s", last, want)
	}
	if first := string(entries[0].Frame); !strings.Contains(first, `no \"luck\"`) {
		t.Errorf("the error frame does not say why: %s", first)
	}
}

func TestMaxCallsBoundsMemory(t *testing.T) {
	tr := closing.NewTranscript(0)
	for i := range 3 * closing.MaxCalls {
		tr.Add("tool_call", fmt.Appendf(nil, `{"type":"tool_call","tool_call_id":"req_%d"}`, i))
	}
	if n := len(tr.Leftovers(eventlog.OutcomeStopped)); n != closing.MaxCalls+1 {
		t.Errorf("%d entries, want %d stand-ins and a message", n, closing.MaxCalls+1)
	}
}
