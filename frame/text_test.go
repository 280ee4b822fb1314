package frame_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"turnlog/frame"
)

func TestTextIsCutBetweenCharactersAndFitsItsLimit(t *testing.T) {
	for name, piece := range map[string]string{
		"plain": "abc", "multi-byte": "é😀", "escapes": "\"\\\n", "control": "\x01\x02", "invalid": "\xff",
	} {
		t.Run(name, func(t *testing.T) {
			for limit := range 40 {
				text := frame.Text{Limit: limit}
				for range 20 {
					text.Add(piece)
				}
				said := text.String()
				if !text.Cut() || !strings.HasPrefix(strings.Repeat(piece, 20), said) {
					t.Fatalf("limit %d: %q", limit, said)
				}
				if name != "invalid" && !utf8.ValidString(said) {
					t.Fatalf("limit %d: cut inside a character: %q", limit, said)
				}
				if got := len(frame.AppendString(nil, said)) - 2; got > limit {
					t.Fatalf("limit %d: %d bytes in JSON", limit, got)
				}
			}
		})
	}
}

func TestTextKeepsEverythingBelowItsLimit(t *testing.T) {
	text := frame.Text{Limit: 100}
	if !text.Empty() {
		t.Fatal("not empty")
	}
	text.Add("Grüße, ")
	text.Add("Welt")
	if got := string(text.Message(false)); got != `{"type":"message","role":"assistant","content":"Grüße, Welt"}` {
		t.Fatal(got)
	}
}
