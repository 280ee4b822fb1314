package closing_test

import (
	"fmt"
	"testing"

	"turnlog/closing"
)

// BenchmarkConversation is a history of 100 messages, every fourth of which calls
// a tool whose result is behind it.
func BenchmarkConversation(b *testing.B) {
	var rows []string
	for n := 0; len(rows) < 100; n++ {
		rows = append(rows,
			`{"role":"user","content":"and what about the next one of these questions?"}`,
			fmt.Sprintf(`{"type":"message","role":"assistant","content":"I look.","tool_calls":[{"id":"c%d","type":"function","function":{"name":"f","arguments":"{\"n\":1}"}}]}`, n),
			fmt.Sprintf(`{"type":"message","role":"tool","tool_call_id":"c%d","name":"f","content":"a result of some length, as results have"}`, n),
			`{"type":"message","role":"assistant","content":"It is this one, with a sentence that says why it is."}`)
	}
	messages := raw(rows...)
	b.ReportAllocs()
	for b.Loop() {
		if got := closing.Conversation(messages); len(got) != len(messages) {
			b.Fatal(len(got))
		}
	}
}
