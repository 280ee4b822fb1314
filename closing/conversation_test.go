package closing_test

import (
	"encoding/json"
	"strings"
	"testing"

	"turnlog/closing"
)

func raw(rows ...string) []json.RawMessage {
	out := make([]json.RawMessage, len(rows))
	for i, r := range rows {
		out[i] = json.RawMessage(r)
	}
	return out
}

func TestB49_AConversationCanBeSentToAModelAgain(t *testing.T) {
	const (
		user  = `{"role":"user","content":"go"}`
		calls = `{"type":"message","role":"assistant","content":"","tool_calls":[{"id":"c1","function":{"name":"f"}},{"id":"c2","name":"g"}]}`
		asked = `{"role":"assistant","content":"","tool_calls":[{"id":"c1","function":{"name":"f"}},{"id":"c2","name":"g"}]}`
		text  = `{"type":"message","role":"assistant","content":"so"}`
		told  = `{"role":"assistant","content":"so"}`
	)
	result := func(id string) string {
		return `{"type":"message","role":"tool","tool_call_id":"` + id + `","content":"r"}`
	}
	given := func(id string) string { return `{"role":"tool","tool_call_id":"` + id + `","content":"r"}` }
	missing := func(id, name string) string {
		return `{"role":"tool","tool_call_id":"` + id + `","name":"` + name + `","content":"History holds no result of this call. Its outcome is unknown.","stand_in":true}`
	}
	for name, tc := range map[string]struct{ rows, want []json.RawMessage }{
		"nothing":                  {nil, nil},
		"before any call":          {raw(user, text), raw(user, told)},
		"cut behind the calls":     {raw(user, calls), raw(user, asked, missing("c1", "f"), missing("c2", "g"))},
		"cut between results":      {raw(user, calls, result("c1")), raw(user, asked, given("c1"), missing("c2", "g"))},
		"whole":                    {raw(user, calls, result("c1"), result("c2"), text), raw(user, asked, given("c1"), given("c2"), told)},
		"results in another order": {raw(calls, result("c2"), result("c1")), raw(asked, given("c1"), given("c2"))},
		"left open by its agent":   {raw(calls, result("c2"), text, user), raw(asked, missing("c1", "f"), given("c2"), told, user)},
		"a word in between":        {raw(calls, result("c1"), user, result("c2")), raw(asked, given("c1"), given("c2"), user)},
		"results alone":            {raw(result("c1"), user, result("c2")), raw(user)},
		"answered twice":           {raw(calls, result("c1"), result("c1"), result("c2")), raw(asked, given("c1"), given("c2"))},
		"ids used again": {
			raw(calls, result("c1"), calls, result("c1"), result("c2")),
			raw(asked, given("c1"), missing("c2", "g"), asked, given("c1"), given("c2")),
		},
		"no role":   {raw(`{"type":"message","content":"x"}`, `{"role":null,"n":1e3}`, `{}`), raw(`{"role":"assistant","content":"x"}`, `{"role":"assistant","n":1e3}`, `{"role":"assistant"}`)},
		"odd roles": {raw(`{"role":5,"content":"x"}`, `{"role":"","content":"x"}`, `{"role":"weird"}`), raw(`{"role":"weird"}`)},
		"odd rows":  {raw(`[]`, `7`, `null`, ``, `{"role":`, user), raw(user)},
		"odd calls": {
			raw(`{"role":"assistant","tool_calls":"x"}`, `{"role":"assistant","tool_calls":[7,{"id":5},{},{"id":"a"},{"id":"a"}]}`, `{"role":"tool","tool_call_id":5}`),
			raw(`{"role":"assistant","tool_calls":"x"}`, `{"role":"assistant","tool_calls":[7,{"id":5},{},{"id":"a"},{"id":"a"}]}`,
				`{"role":"tool","tool_call_id":"a","content":"History holds no result of this call. Its outcome is unknown.","stand_in":true}`),
		},
	} {
		t.Run(name, func(t *testing.T) {
			got := closing.Conversation(tc.rows)
			if show(got) != show(tc.want) {
				t.Errorf("got\n%s\nwant\n%s", show(got), show(tc.want))
			}
			if again := closing.Conversation(got); show(again) != show(got) {
				t.Errorf("of its own result it makes\n%s", show(again))
			}
		})
	}
}

func show(rows []json.RawMessage) string {
	var lines []string
	for _, r := range rows {
		lines = append(lines, string(r))
	}
	return strings.Join(lines, "\n")
}
