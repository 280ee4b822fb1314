package client_test

import (
	"testing"

	"turnlog/client"
)

// FuzzDecode: whatever a server sends, decoding neither panics nor lets a
// thread deliver a number twice or out of order.
func FuzzDecode(f *testing.F) {
	for _, seed := range []string{
		`{"type":"chunk","thread_id":"t","chat_seq":1,"content":"x"}`,
		`[{"type":"a","chat_seq":2},{"type":"b","chat_seq":2}]`,
		`{"type":"x","chat_seq":1e400}`, `{"type":"x","chat_seq":-1}`, `{"type":"x","chat_seq":1.5}`,
		`{"error":"invalid_command","details":[1],"request_id":null}`, `{"message":{"a":1},"request_id":7}`,
		`[`, `[]`, ` `, `null`, `[null]`, `{"type":"turn_finished","outcome":"superseded"}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		frames, err := client.Decode(b)
		if err != nil {
			return
		}
		last := int64(0)
		for _, seq := range client.Feed(frames) {
			if seq <= last {
				t.Fatalf("delivered %d after %d", seq, last)
			}
			last = seq
		}
	})
}
