package openai_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"sync"
	"testing"

	"turnlog/agent"
	"turnlog/agent/openai"
	"turnlog/frame"
)

const manifest = `[{"name":"weather","description":"d","parameters":{"type":"object"}},{"name":"delete"}]`

// calling is a delta with a piece of a tool call.
func calling(index int, id, name, args string) string {
	quoted, _ := json.Marshal(args)
	return event(fmt.Sprintf(`{"tool_calls":[{"index":%d,"id":%q,"type":"function","function":{"name":%q,"arguments":%s}}]}`, index, id, name, quoted))
}

// rounds are the history rows that a turn has left.
func rows(frames []json.RawMessage) (out []json.RawMessage) {
	for _, f := range frames {
		if typ, _ := frame.Type(f); typ == "message" {
			out = append(out, f)
		}
	}
	return out
}

var ids = regexp.MustCompile(`"(tool_call_id|id)":"([0-9A-Za-z]{9})"`)

// named replaces ids by numbers in order of appearance.
func named(s string) string {
	known := make(map[string]string)
	return ids.ReplaceAllStringFunc(s, func(m string) string {
		parts := ids.FindStringSubmatch(m)
		if known[parts[2]] == "" {
			known[parts[2]] = fmt.Sprint("#", len(known)+1)
		}
		return `"` + parts[1] + `":"` + known[parts[2]] + `"`
	})
}

func TestB67_ToolCallsRunSideBySideWhateverTheirIds(t *testing.T) {
	p := newProvider(t,
		stream(text("Looking. "),
			calling(0, "call_0", "weather", ""), calling(1, "call_1", "weather", `{"ci`), calling(0, "", "", `{"city":"Zü`),
			calling(1, "", "", `ty":"東"}`), calling(0, "", "", `rich"}`), finish("tool_calls"), used(10, 5), done),
		stream(calling(0, "call_0", "weather", `{"city":"Oslo"}`), finish("tool_calls"), used(20, 5), done),
		stream(text("Sunny."), finish("stop"), used(30, 5), done))
	turn := newTurn("go", "", manifest)
	var together sync.WaitGroup
	together.Add(2)
	turn.Asking = func(_ context.Context, ask agent.Ask) (json.RawMessage, error) {
		args := string(ask.Fields["args"].(json.RawMessage))
		if !strings.Contains(args, "Oslo") { // the first two are open at once
			together.Done()
			together.Wait()
		}
		return json.RawMessage(`{"ok":true,"result":` + args + `}`), nil
	}
	if err := p.agent(t, openai.Options{}).Run(t.Context(), turn); err != nil {
		t.Fatal(err)
	}
	if got := p.request(2); named(got) != `[{"role":"user","content":"go"},`+
		`{"role":"assistant","content":"Looking. ","tool_calls":[{"id":"#1","type":"function","function":{"name":"weather","arguments":"{\"city\":\"Zürich\"}"}},`+
		`{"id":"#2","type":"function","function":{"name":"weather","arguments":"{\"city\":\"東\"}"}}]},`+
		`{"role":"tool","content":"{\"city\":\"Zürich\"}","tool_call_id":"#1"},{"role":"tool","content":"{\"city\":\"東\"}","tool_call_id":"#2"},`+
		`{"role":"assistant","content":null,"tool_calls":[{"id":"#3","type":"function","function":{"name":"weather","arguments":"{\"city\":\"Oslo\"}"}}]},`+
		`{"role":"tool","content":"{\"city\":\"Oslo\"}","tool_call_id":"#3"}]` {
		t.Errorf("third request %s", named(got))
	}
	asks := turn.Asks()
	if len(asks) != 3 || asks[0].Kind != agent.KindToolCall || string(asks[0].Fields["args"].(json.RawMessage)) != `{"city":"Zürich"}` {
		t.Errorf("asked %+v", asks)
	}
	if string(turn.Usage()) != `{"prompt_tokens":60,"completion_tokens":15,"total_tokens":75,"rounds":3,"model":"m-1"}` {
		t.Errorf("usage %s", turn.Usage())
	}
	if got := types(turn.Frames()); got != "chunk message:assistant message:tool message:tool message:assistant message:tool chunk message:assistant" {
		t.Error(got)
	}
	// What the turn left is sent again as it was said.
	next := newTurn("more", "", "")
	next.Rows = append([]json.RawMessage{[]byte(`{"role":"user","content":"go"}`)}, rows(turn.Frames())...)
	again := newProvider(t, stream(text("x"), finish("stop"), done))
	if err := again.agent(t, openai.Options{}).Run(t.Context(), next); err != nil {
		t.Fatal(err)
	}
	var messages []json.RawMessage
	_ = json.Unmarshal([]byte(again.request(0)), &messages)
	if got := named(again.request(0)); len(messages) != 8 || !strings.HasPrefix(got, strings.TrimSuffix(named(p.request(2)), "]")[:300]) {
		t.Errorf("history %s", got)
	}
}

func TestToolCallQuirks(t *testing.T) {
	for name, tc := range map[string]struct {
		deltas []string
		asks   string
	}{
		"all with index 0":        {[]string{calling(0, "a", "weather", `{"n":1}`), calling(0, "b", "weather", `{"n":2}`)}, `{"n":1} {"n":2}`},
		"id repeated":             {[]string{calling(0, "a", "weather", `{"n"`), calling(0, "a", "weather", `:1}`)}, `{"n":1}`},
		"no id at all":            {[]string{calling(0, "", "weather", `{"n":1}`), calling(1, "", "weather", `{"n":2}`)}, `{"n":1} {"n":2}`},
		"no arguments":            {[]string{calling(0, "a", "weather", "")}, `{}`},
		"object as arguments":     {[]string{event(`{"tool_calls":[{"index":0,"id":"a","function":{"name":"weather","arguments":{"n":1}}}]}`)}, `{"n":1}`},
		"name in pieces":          {[]string{calling(0, "a", "weat", ""), calling(0, "", "her", `{}`)}, `{}`},
		"unknown tool":            {[]string{calling(0, "a", "rm", `{}`)}, ""},
		"arguments that are none": {[]string{calling(0, "a", "weather", `{"n":`)}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			p := newProvider(t, stream(append(tc.deltas, finish("tool_calls"), done)...), stream(text("ok"), finish("stop"), done))
			turn := newTurn("go", "", manifest)
			turn.Asking = func(context.Context, agent.Ask) (json.RawMessage, error) {
				return json.RawMessage(`{"ok":true,"result":1}`), nil
			}
			if err := p.agent(t, openai.Options{}).Run(t.Context(), turn); err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, ask := range turn.Asks() {
				got = append(got, string(ask.Fields["args"].(json.RawMessage)))
			}
			if strings.Join(got, " ") != tc.asks || turn.Message() != "ok" {
				t.Fatalf("asked %q; %s", got, turn.Frames())
			}
			if tc.asks == "" && !strings.Contains(p.request(1), `"content":"Error: `) {
				t.Errorf("the model was not told: %s", p.request(1))
			}
		})
	}
}

func TestApprovalsBeforeNamedTools(t *testing.T) {
	denied := "The user denied this call; it was not carried out."
	for name, tc := range map[string]struct {
		approve  []string
		decision string
		data     string
		rows     string
		kinds    string
		told     string
	}{
		"allowed":        {[]string{"delete"}, "allow", "", "", "tool_approval tool_call", "gone"},
		"denied":         {[]string{"*"}, "deny", "", "", "tool_approval", denied},
		"unreadable":     {[]string{"delete"}, "", "", "", "tool_approval", denied},
		"not needed":     {[]string{"weather"}, "", "", "", "tool_call", "gone"},
		"mode auto":      {[]string{"delete"}, "", `{"permission_mode":"auto"}`, "", "tool_call", "gone"},
		"whole chat":     {[]string{"delete"}, "", "", `{"role":"tool","tool_call_id":"x","name":"delete","content":"1","approval":"allow_for_chat"}`, "tool_call", "gone"},
		"for the future": {[]string{"delete"}, "allow_for_chat", "", "", "tool_approval tool_call", "gone"},
	} {
		t.Run(name, func(t *testing.T) {
			p := newProvider(t, stream(calling(0, "call_0", "delete", `{}`), finish("tool_calls"), done), stream(text("ok"), finish("stop"), done))
			turn := newTurn("go", tc.data, manifest)
			if tc.rows != "" {
				turn.Rows = []json.RawMessage{[]byte(tc.rows)}
			}
			turn.Asking = func(_ context.Context, ask agent.Ask) (json.RawMessage, error) {
				if ask.Kind == agent.KindToolApproval {
					return json.RawMessage(`{"decision":"` + tc.decision + `"}`), nil
				}
				return json.RawMessage(`{"ok":true,"result":"gone"}`), nil
			}
			if err := p.agent(t, openai.Options{Approve: tc.approve}).Run(t.Context(), turn); err != nil {
				t.Fatal(err)
			}
			var kinds []string
			for _, ask := range turn.Asks() {
				kinds = append(kinds, ask.Kind)
			}
			if got := strings.Join(kinds, " "); got != tc.kinds || !strings.Contains(p.request(1), `"content":"`+tc.told+`"`) {
				t.Errorf("asked %s, told %s", got, p.request(1))
			}
			if kept := strings.Contains(fmt.Sprintf("%s", turn.Frames()), "allow_for_chat"); kept != (tc.decision == "allow_for_chat") {
				t.Errorf("%s", turn.Frames())
			}
		})
	}
}

func TestResultsOfAllKindsReachTheModel(t *testing.T) {
	for name, tc := range map[string]struct {
		payload string
		err     error
		told    string
	}{
		"text":        {`{"ok":true,"result":"é"}`, nil, `"é"`},
		"object":      {`{"ok":true,"result":{"a":[1]}}`, nil, `"{\"a\":[1]}"`},
		"nothing":     {`{"ok":true}`, nil, `""`},
		"error":       {`{"ok":false,"error":"no"}`, nil, `"Error: no"`},
		"mute error":  {`{"ok":false}`, nil, `"Error: the tool failed"`},
		"odd":         {`[]`, nil, `"Error: the client's answer could not be read."`},
		"expired":     {``, agent.ErrExpired, `"Error: no client returned a result in time. The outcome of the call is unknown."`},
		"large":       {`{"ok":true,"result":"` + strings.Repeat("é", 1000) + `"}`, nil, `[cut: the result is too long]"`},
		"other error": {``, errors.New("broken"), ""},
	} {
		t.Run(name, func(t *testing.T) {
			p := newProvider(t, stream(calling(0, "call_0", "delete", `{}`), finish("tool_calls"), done), stream(text("ok"), finish("stop"), done))
			turn := newTurnWithLimit("go", manifest, 4000)
			turn.Asking = func(context.Context, agent.Ask) (json.RawMessage, error) { return json.RawMessage(tc.payload), tc.err }
			err := p.agent(t, openai.Options{}).Run(t.Context(), turn)
			if tc.told == "" {
				if err == nil || err.Error() != "broken" {
					t.Fatal(err)
				}
				return
			}
			if err != nil || !strings.Contains(p.request(1), tc.told) {
				t.Fatalf("%v, told %s", err, p.request(1))
			}
		})
	}
}

func TestRoundsAreBounded(t *testing.T) {
	again := stream(calling(0, "call_0", "delete", `{}`), finish("tool_calls"), done)
	p := newProvider(t, again, again, again)
	turn := newTurn("go", "", manifest)
	turn.Asking = func(context.Context, agent.Ask) (json.RawMessage, error) { return json.RawMessage(`{"ok":true}`), nil }
	wantFault(t, p.agent(t, openai.Options{MaxRounds: 3}).Run(t.Context(), turn), "too_many_rounds", 0)
	if p.asked() != 3 || len(turn.Asks()) != 2 || types(turn.Frames()) != "message:assistant message:tool message:assistant message:tool" {
		t.Errorf("asked %d: %s", p.asked(), turn.Frames())
	}
}
