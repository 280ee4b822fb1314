package agent_test

import (
	"encoding/json"
	"testing"

	"turnlog/agent"
)

func TestWhatAModelIsToldOfAnAnswer(t *testing.T) {
	for answer, want := range map[string]string{
		`{"ok":true,"result":7}`:              "7",
		`{"ok":true,"result":"text"}`:         "text",
		`{"ok":true,"result":{"a":[1e400]}}`:  `{"a":[1e400]}`,
		`{"ok":true}`:                         "",
		`{"ok":true,"result":null}`:           "",
		`{"result":[1]}`:                      "[1]",
		`{"ok":false,"error":"no"}`:           "Error: no",
		`{"ok":false}`:                        "Error: the tool failed",
		`{"error":"no"}`:                      "Error: no",
		`{"ok":false,"result":1,"error":"x"}`: "Error: x",
		`{}`:                                  "Error: the client's answer has neither a result nor an error.",
		`{"decision":"allow"}`:                "Error: the client's answer has neither a result nor an error.",
		`[]`:                                  "Error: the client's answer could not be read.",
		``:                                    "Error: the client's answer could not be read.",
	} {
		if got := agent.ResultText(json.RawMessage(answer), 1000); got != want {
			t.Errorf("%s: %q, want %q", answer, got, want)
		}
	}
	for limit, want := range []string{"", "", "é", "é", "é€"[:2], "é€"} {
		if want != "é€" {
			want += " [cut: the result is too long]"
		}
		if got := agent.ResultText(json.RawMessage(`{"ok":true,"result":"é€"}`), limit); got != want {
			t.Errorf("cut at %d: %q, want %q", limit, got, want)
		}
	}
}
