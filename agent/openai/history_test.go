package openai_test

import (
	"encoding/json"
	"strings"
	"testing"

	"turnlog/agent/agenttest"

	"turnlog/agent"
	"turnlog/agent/openai"
)

// sent runs a turn with this history and returns the messages of its request.
func sent(t *testing.T, o openai.Options, message string, rows ...string) string {
	t.Helper()
	p := newProvider(t, stream(text("ok"), finish("stop"), done))
	turn := agenttest.New(agent.Info{Message: json.RawMessage(message)})
	for _, r := range rows {
		turn.Rows = append(turn.Rows, json.RawMessage(r))
	}
	if err := p.agent(t, o).Run(t.Context(), turn); err != nil {
		t.Fatal(err)
	}
	return p.request(0)
}

func TestB49_HistoryCanAlwaysBeSentAgain(t *testing.T) {
	const call = `{"role":"assistant","content":"","tool_calls":[{"id":"a","type":"function","function":{"name":"f","arguments":"{}"}},{"id":"b","name":"g","args":{"x":1}}]}`
	const sentCall = `{"role":"assistant","content":null,"tool_calls":[{"id":"a","type":"function","function":{"name":"f","arguments":"{}"}},{"id":"b","type":"function","function":{"name":"g","arguments":"{\"x\":1}"}}]}`
	const hi, now = `{"role":"user","content":"hi"}`, `{"role":"user","content":"now"}`
	unknown := func(id string) string {
		return `{"role":"tool","content":"This call returned no result. Its outcome is unknown.","tool_call_id":"` + id + `"}`
	}
	for name, tc := range map[string]struct{ rows, want []string }{
		"nothing":             {nil, nil},
		"plain":               {[]string{hi, `{"role":"assistant","content":"yes","partial":true}`}, []string{hi, `{"role":"assistant","content":"yes"}`}},
		"unanswered calls":    {[]string{hi, call}, []string{hi, sentCall, unknown("a"), unknown("b")}},
		"one answered":        {[]string{hi, call, `{"role":"tool","tool_call_id":"b","content":"2"}`, hi}, []string{hi, sentCall, `{"role":"tool","content":"2","tool_call_id":"b"}`, unknown("a"), hi}},
		"answer too late":     {[]string{hi, call, hi, `{"role":"tool","tool_call_id":"a","content":"2"}`}, []string{hi, sentCall, unknown("a"), unknown("b"), hi}},
		"answer without call": {[]string{hi, `{"role":"tool","tool_call_id":"a","content":"2"}`}, []string{hi}},
		"answered twice":      {[]string{hi, call, `{"role":"tool","tool_call_id":"a","content":"1"}`, `{"role":"tool","tool_call_id":"a","content":"2"}`, `{"role":"tool","tool_call_id":"b","content":{"x":1}}`}, []string{hi, sentCall, `{"role":"tool","content":"1","tool_call_id":"a"}`, `{"role":"tool","content":"{\"x\":1}","tool_call_id":"b"}`}},
		"begins with an end":  {[]string{`{"role":"assistant","content":"yes"}`, hi}, []string{hi}},
		"odd rows":            {[]string{hi, `[]`, `{"role":"robot","content":"x"}`, `{"role":"assistant","content":""}`, `{"role":"user","content":[]}`}, []string{hi}},
	} {
		t.Run(name, func(t *testing.T) {
			want := "[" + strings.Join(append(tc.want, now), ",") + "]"
			if got := sent(t, openai.Options{}, now, tc.rows...); got != want {
				t.Errorf("got  %s\nwant %s", got, want)
			}
		})
	}
}

func TestHistoryKeepsWithinItsBudget(t *testing.T) {
	long := `{"role":"user","content":"` + strings.Repeat("x", 400) + `"}`
	const call = `{"role":"assistant","content":"","tool_calls":[{"id":"a","type":"function","function":{"name":"f","arguments":"{}"}}]}`
	const tool, hi, yes, now = `{"role":"tool","tool_call_id":"a","content":"2"}`, `{"role":"user","content":"hi"}`, `{"role":"assistant","content":"yes"}`, `{"role":"user","content":"now"}`
	for name, tc := range map[string]struct {
		options openai.Options
		rows    []string
		want    string
	}{
		"all":                    {openai.Options{}, []string{long, yes, hi}, "[" + long + "," + yes + "," + hi + "," + now + "]"},
		"tokens":                 {openai.Options{HistoryTokens: 100}, []string{long, yes, hi}, "[" + hi + "," + now + "]"},
		"messages":               {openai.Options{HistoryMessages: 2}, []string{long, yes, hi, yes}, "[" + hi + "," + yes + "," + now + "]"},
		"none":                   {openai.Options{HistoryMessages: -1}, []string{long, yes, hi}, "[" + now + "]"},
		"no bound":               {openai.Options{HistoryTokens: -1}, []string{long}, "[" + long + "," + now + "]"},
		"calls are never parted": {openai.Options{HistoryTokens: 40}, []string{hi, call, tool, hi}, "[" + hi + "," + now + "]"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := sent(t, tc.options, now, tc.rows...); got != tc.want {
				t.Errorf("got  %s\nwant %s", got, tc.want)
			}
		})
	}
}

func TestImagesAndBlocksOfTheUser(t *testing.T) {
	for in, want := range map[string]string{
		`{"role":"user","content":[{"type":"text","text":"a"},{"type":"text","text":"b"}]}`:                              `[{"role":"user","content":"a\nb"}]`,
		`{"role":"user","content":[{"type":"text","text":"a"},{"type":"image","image":{"uri":"https://x/y.png"}}]}`:      `[{"role":"user","content":[{"type":"text","text":"a"},{"type":"image_url","image_url":{"url":"https://x/y.png"}}]}]`,
		`{"role":"user","content":[{"type":"image_url","image_url":{"url":"data:image/png;base64,AA"}},{"type":"x"}]}`:   `[{"role":"user","content":[{"type":"image_url","image_url":{"url":"data:image/png;base64,AA"}}]}]`,
		`{"role":"user","content":[{"type":"text","text":"a"},{"type":"image_url","image_url":"file:///etc/passwd"}]}`:   `[{"role":"user","content":"a"}]`,
		`{"role":"user","content":[{"type":"text","text":"a"},{"type":"image","image":{"uri":"file:///etc/passwd"}},5]}`: `[{"role":"user","content":"a"}]`,
	} {
		if got := sent(t, openai.Options{}, in); got != want {
			t.Errorf("%s became %s", in, got)
		}
	}
}
