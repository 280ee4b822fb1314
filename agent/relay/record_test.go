package relay_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"turnlog/agent"
	"turnlog/agent/agenttest"
)

// kept are the messages among a turn's frames.
func kept(turn *agenttest.Turn) string {
	var out []string
	for _, f := range turn.Frames() {
		if strings.HasPrefix(string(f), `{"type":"message"`) {
			out = append(out, string(f))
		}
	}
	return strings.Join(out, "\n")
}

// spoken runs lines through a relay whose requests are answered at once.
func spoken(t *testing.T, info agent.Info, answer string, lines ...string) *agenttest.Turn {
	t.Helper()
	turn := agenttest.New(info)
	turn.Asking = func(context.Context, agent.Ask) (json.RawMessage, error) {
		if answer == "" {
			return nil, agent.ErrExpired
		}
		return json.RawMessage(answer), nil
	}
	r, _ := newRelay(turn)
	for _, line := range lines {
		say(t, r, line)
		r.Wait()
	}
	if err := r.Finish(t.Context()); err != nil {
		t.Fatal(err)
	}
	return turn
}

func chunk(text string) string { return `{"type":"chunk","content":"` + text + `"}` }

func TestToolCallsAndTheirResultsAreKeptAsMessages(t *testing.T) {
	const (
		call   = `{"type":"tool_call","ref":1,"name":"f","args":{"n":1e3}}`
		pair   = `{"type":"message","role":"assistant","content":"%s","tool_calls":[{"id":"request-1","type":"function","function":{"name":"f","arguments":"{\"n\":1e3}"}}]}` + "\n" + `{"type":"message","role":"tool","tool_call_id":"request-1","name":"f","content":"%s"}`
		own    = `{"type":"message","role":"assistant","content":"","tool_calls":[{"id":"mine"}]}`
		result = `{"type":"message","role":"tool","tool_call_id":"mine","content":"r"}`
	)
	after := "\n" + `{"type":"message","role":"assistant","content":"so"}`
	for name, tc := range map[string]struct {
		answer string
		lines  []string
		want   string
	}{
		"answered":               {`{"ok":true,"result":7}`, []string{chunk("look "), call, chunk("so")}, fmt.Sprintf(pair, "look ", "7") + after},
		"nothing more to say":    {`{"ok":true,"result":"x"}`, []string{call}, fmt.Sprintf(pair, "", "x")},
		"failed":                 {`{"ok":false,"error":"no"}`, []string{call, chunk("so")}, fmt.Sprintf(pair, "", "Error: no") + after},
		"expired":                {"", []string{call, chunk("so")}, fmt.Sprintf(pair, "", agent.NoResult) + after},
		"no arguments":           {`{"ok":true}`, []string{`{"type":"tool_call","name":"f"}`}, strings.Replace(fmt.Sprintf(pair, "", ""), `{\"n\":1e3}`, "{}", 1)},
		"an approval":            {`{"decision":"allow"}`, []string{`{"type":"tool_approval_request","tool_name":"f","args":{}}`, chunk("so")}, after[1:]},
		"kept by the agent":      {`{"ok":true,"result":7}`, []string{own, call, result, chunk("so")}, own + "\n" + result + after},
		"named by the agent":     {`{"ok":true,"result":7}`, []string{`{"type":"tool_call","name":"f","call_id":"mine"}`, chunk("so")}, after[1:]},
		"a message without them": {`{"ok":true,"result":7}`, []string{chunk("a"), `{"type":"message","role":"assistant","content":"a","tool_calls":[]}`, call}, `{"type":"message","role":"assistant","content":"a","tool_calls":[]}` + "\n" + fmt.Sprintf(pair, "", "7")},
	} {
		t.Run(name, func(t *testing.T) {
			if got := kept(spoken(t, agent.Info{}, tc.answer, tc.lines...)); got != tc.want {
				t.Errorf("got\n%s\nwant\n%s", got, tc.want)
			}
		})
	}
}

func TestResultsOfCallsSideBySideStayBehindTheirCalls(t *testing.T) {
	turn := agenttest.New(agent.Info{})
	var first = make(chan struct{})
	turn.Asking = func(ctx context.Context, ask agent.Ask) (json.RawMessage, error) {
		if ask.Name == "a" { // is answered behind b
			turn.Await(t, "the other result", func() bool { return strings.Contains(kept(turn), `"name":"b","content"`) })
			close(first)
		}
		return json.RawMessage(`{"ok":true,"result":"` + ask.Name + `"}`), nil
	}
	r, _ := newRelay(turn)
	say(t, r, chunk("both "), `{"type":"tool_call","name":"a"}`, `{"type":"tool_call","name":"b"}`)
	<-first
	r.Wait()
	lines := strings.Split(kept(turn), "\n")
	if len(lines) != 4 || !strings.Contains(lines[0], `"content":"both ","tool_calls":[{"id":"request-2"`) || !strings.Contains(lines[1], `"tool_call_id":"request-2"`) ||
		!strings.Contains(lines[2], `"content":"","tool_calls":[{"id":"request-1"`) || !strings.Contains(lines[3], `"tool_call_id":"request-1"`) {
		t.Errorf("kept\n%s", strings.Join(lines, "\n"))
	}
}

func TestWhatIsSaidBehindAMessageIsKeptToo(t *testing.T) {
	got := kept(spoken(t, agent.Info{}, "", chunk("a"), `{"type":"message","role":"assistant","content":"mine"}`, chunk("b")))
	if want := `{"type":"message","role":"assistant","content":"mine"}` + "\n" + `{"type":"message","role":"assistant","content":"b"}`; got != want {
		t.Errorf("kept\n%s", got)
	}
}

func TestMessagesFitTheirLimitWhateverIsCalled(t *testing.T) {
	const limit = 4000
	call := `{"type":"tool_call","name":"f","args":{"x":"` + strings.Repeat(`\\`, 700) + `"}}`
	turn := spoken(t, agent.Info{FrameLimit: limit}, `{"ok":true,"result":"`+strings.Repeat("y", limit/2)+`"}`,
		chunk(strings.Repeat("é", 900)), chunk(strings.Repeat("é", 900)), call)
	lines := strings.Split(kept(turn), "\n")
	if len(lines) != 2 || !strings.Contains(lines[0], `"arguments":"{}"`) || !strings.HasSuffix(lines[0], `"truncated":true}`) || !strings.Contains(lines[1], "too long") {
		t.Errorf("kept %d messages: %.300s", len(lines), lines)
	}
}

func TestB49_ALaterAttemptKeepsWhatTheEarlierOnesSaid(t *testing.T) {
	const (
		started = `{"type":"turn_started","attempt":1}`
		call    = `{"type":"tool_call","tool_call_id":"req_1","name":"f"}`
		ours    = `{"type":"message","role":"assistant","content":"a ","tool_calls":[{"id":"req_1","type":"function","function":{"name":"f","arguments":"{}"}}]}`
		result  = `{"type":"message","role":"tool","tool_call_id":"req_1","name":"f","content":"r"}`
		again   = `{"type":"tool_call","name":"f"}`
	)
	message := func(text, more string) string {
		return `{"type":"message","role":"assistant","content":"` + text + `"` + more + `}`
	}
	pair := func(text string) string {
		return message(text, `,"tool_calls":[{"id":"request-1","type":"function","function":{"name":"f","arguments":"{}"}}]`) + "\n" + `{"type":"message","role":"tool","tool_call_id":"request-1","name":"f","content":"7"}`
	}
	for name, tc := range map[string]struct {
		emitted, lines []string
		want           string
	}{
		"text":                       {[]string{started, chunk("a "), `{"type":"chunk","content":"hm","thinking":true}`, chunk("b ")}, []string{chunk("c")}, message("a b c", "")},
		"nothing new":                {[]string{started, chunk("a")}, nil, message("a", "")},
		"two attempts":               {[]string{started, chunk("a "), started, chunk("b ")}, []string{chunk("c")}, message("a b c", "")},
		"a message":                  {[]string{started, chunk("a "), message("a ", "")}, []string{chunk("b")}, message("b", "")},
		"the beginning is not held":  {[]string{chunk("b ")}, []string{chunk("c")}, message("b c", `,"truncated":true`)},
		"but of a message":           {[]string{chunk("b "), message("a b ", "")}, []string{chunk("c")}, message("c", "")},
		"a call":                     {[]string{started, chunk("a "), call, ours, result, chunk("b ")}, []string{again}, pair("b ")},
		"a call that was never over": {[]string{started, chunk("a "), call}, []string{again}, pair("a ")},
		"calls of its own": {
			[]string{started, `{"type":"message","role":"assistant","content":"","tool_calls":[{"id":"mine"}]}`, call, `{"type":"message","role":"tool","tool_call_id":"mine","content":"r"}`},
			[]string{again, chunk("c")}, message("c", ""),
		},
	} {
		t.Run(name, func(t *testing.T) {
			info := agent.Info{Attempt: 2}
			for _, f := range tc.emitted {
				info.Emitted = append(info.Emitted, json.RawMessage(f))
			}
			if got := kept(spoken(t, info, `{"ok":true,"result":7}`, tc.lines...)); got != tc.want {
				t.Errorf("got\n%s\nwant\n%s", got, tc.want)
			}
		})
	}
}
