package closing_test

import (
	"encoding/json"
	"testing"

	"turnlog/closing"
)

func TestB49_ACutHistoryAnswersEveryAnnouncedCall(t *testing.T) {
	const (
		user  = `{"role":"user","content":"go"}`
		calls = `{"type":"message","role":"assistant","content":"","tool_calls":[{"id":"c1","function":{"name":"f"}},{"id":"c2","function":{"name":"g"}}]}`
		one   = `{"type":"message","role":"tool","tool_call_id":"c1","content":"r"}`
		two   = `{"type":"message","role":"tool","tool_call_id":"c2","content":"r"}`
	)
	for name, tc := range map[string]struct {
		rows []string
		want []string
	}{
		"nothing":          {nil, nil},
		"before any call":  {[]string{user}, nil},
		"behind the calls": {[]string{user, calls}, []string{"c1 f", "c2 g"}},
		"between results":  {[]string{user, calls, one}, []string{"c2 g"}},
		"behind results":   {[]string{user, calls, one, two}, nil},
		"results alone":    {[]string{one, two}, nil},
		"odd rows":         {[]string{`[]`, `{"role":7}`, calls, two}, []string{"c1 f"}},
	} {
		t.Run(name, func(t *testing.T) {
			var rows []json.RawMessage
			for _, r := range tc.rows {
				rows = append(rows, json.RawMessage(r))
			}
			got := closing.Unanswered(rows)
			if len(got) != len(tc.want) {
				t.Fatalf("%d stand-ins: %s", len(got), got)
			}
			for i, raw := range got {
				var m map[string]any
				if err := json.Unmarshal(raw, &m); err != nil {
					t.Fatal(err)
				}
				if m["role"] != "tool" || m["stand_in"] != true || m["content"] == "" || m["outcome"] != nil || m["tool_call_id"].(string)+" "+m["name"].(string) != tc.want[i] {
					t.Errorf("stand-in %s, want %s", raw, tc.want[i])
				}
			}
		})
	}
}
