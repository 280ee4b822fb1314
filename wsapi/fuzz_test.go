package wsapi_test

import (
	"encoding/json"
	"testing"
	"unicode/utf8"

	"turnlog/wsapi"
)

// FuzzInboundJSON: a text message is valid JSON within bounds, or refused.
func FuzzInboundJSON(f *testing.F) {
	for _, seed := range []string{
		`{"command":"chat_message","data":{"thread_id":"t","content":"x"},"request_id":1}`,
		`{"type":"tool_result","tool_call_id":"c","ok":true}`, `{"command":"resume_chat","data":{"last_seq":1e999}}`,
		`[[[[`, `"\ud800"`, `{"command":5}`, `{"a":1,"a":2}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, message []byte) {
		text, err := wsapi.Decode(false, message)
		if err == nil && (!json.Valid(text) || !utf8.Valid(text)) {
			t.Fatalf("accepted %q", text)
		}
		wsapi.Dispatch(text)
	})
}

// FuzzInboundMsgpack: a binary message becomes valid JSON within bounds, or is
// refused, and whatever it says is answered.
func FuzzInboundMsgpack(f *testing.F) {
	for _, v := range []any{
		map[string]any{"command": "resume_chat", "data": map[string]any{"thread_id": "t", "last_seq": 5}},
		map[string]any{"type": "tool_result", "tool_call_id": "c"}, []any{1, nil, "x"},
	} {
		f.Add(packed(f, v))
	}
	f.Add([]byte{0xdd, 0xff, 0xff, 0xff, 0xff})
	f.Fuzz(func(t *testing.T, message []byte) {
		text, err := wsapi.Decode(true, message)
		if err != nil {
			return
		}
		if !json.Valid(text) || !utf8.Valid(text) {
			t.Fatalf("accepted %q", text)
		}
		wsapi.Dispatch(text)
	})
}
