package frame

import "unicode/utf8"

// Text gathers what an agent says, for the message at the end of its turn. It
// keeps at most Limit bytes as they count in JSON, cut between characters; the
// zero Limit keeps nothing. Not safe for concurrent use.
type Text struct {
	Limit int

	buf     []byte
	encoded int
	cut     bool
}

// Add appends text; once something had to be cut it does nothing.
func (t *Text) Add(text string) {
	if t.cut {
		return
	}
	for from := 0; from < len(text); {
		n, size := 1, 1
		switch c := text[from]; {
		case c >= utf8.RuneSelf:
			r, length := utf8.DecodeRuneInString(text[from:])
			n, size = length, utf8.RuneLen(r)
		case c == '"' || c == '\\' || c == '\n' || c == '\r' || c == '\t':
			size = 2
		case c < 0x20:
			size = 6
		}
		if t.encoded+size > t.Limit {
			t.buf, t.cut = append(t.buf, text[:from]...), true
			return
		}
		t.encoded += size
		from += n
	}
	t.buf = append(t.buf, text...)
}

// Empty says whether nothing was said.
func (t *Text) Empty() bool { return len(t.buf) == 0 && !t.cut }

// Cut says whether something had to be left out.
func (t *Text) Cut() bool { return t.cut }

// String returns the text so far.
func (t *Text) String() string { return string(t.buf) }

// Message returns the assistant message with the text so far.
func (t *Text) Message(partial bool) []byte { return Message(string(t.buf), t.cut, partial) }
