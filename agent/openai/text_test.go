package openai_test

import (
	"encoding/json"
	"testing"
	"unicode/utf8"

	"turnlog/agent/openai"
)

// FuzzJoiner: text cut anywhere into literals comes out as it was, and whatever
// comes in, what comes out is UTF-8.
func FuzzJoiner(f *testing.F) {
	f.Add("aé世😀\x00\n\"", 3, `"\ud83d`)
	f.Add("\\u12", 1, `"\u`)
	f.Fuzz(func(t *testing.T, text string, at int, raw string) {
		if got := openai.Joined(raw, raw); !utf8.ValidString(got) {
			t.Fatalf("%q became %q", raw, got)
		}
		if !utf8.ValidString(text) {
			return
		}
		at = max(0, min(at, len(text)))
		whole, err := json.Marshal(text)
		if err != nil {
			t.Fatal(err)
		}
		if got := openai.Joined(string(whole)); got != text {
			t.Fatalf("%q became %q", text, got)
		}
		for _, c := range text { // raw bytes can be cut without their escapes
			if c < ' ' || c == '"' || c == '\\' {
				return
			}
		}
		if got := openai.Joined(`"`+text[:at]+`"`, `"`+text[at:]+`"`); got != text {
			t.Fatalf("%q cut at %d became %q", text, at, got)
		}
	})
}
