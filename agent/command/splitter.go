package command

import (
	"bytes"
	"unicode/utf8"

	"turnlog/agent"
)

// splitter cuts a program's output into object lines and text. It holds back
// the beginning of a character or of an object until the rest is there.
type splitter struct {
	maxObject int                             // longest object line
	maxText   int                             // longest piece of text
	object    func(line []byte) (bool, error) // false: it is text after all
	text      func(piece []byte) error        // called with whole characters, as far as they are any

	buf     []byte
	scanned int  // buf holds no newline before this
	midLine bool // the beginning of this line went out as text
	later   bool // the first line is over
}

// bom is what some programs put in front of all that they print.
var bom = []byte("\ufeff")

// body is a line without the mark that may stand before the first one.
func (s *splitter) body(line []byte) []byte {
	if s.later {
		return line
	}
	return bytes.TrimPrefix(line, bom)
}

// write takes the next bytes of the output.
func (s *splitter) write(p []byte) error {
	s.buf = append(s.buf, p...)
	rest := s.buf
	for {
		n := bytes.IndexByte(rest[s.scanned:], '\n')
		if n < 0 {
			break
		}
		n += s.scanned + 1
		s.scanned = 0
		if err := s.line(rest[:n]); err != nil {
			return err
		}
		rest, s.midLine, s.later = rest[n:], false, true
	}
	if !s.midLine && isObject(s.body(rest)) {
		if len(rest) > s.maxObject {
			return agent.ErrFrameTooLarge
		}
	} else if whole := len(rest) - len(rest)%s.maxText; whole > 0 {
		n, err := s.pieces(rest[:whole], false)
		if err != nil {
			return err
		}
		rest, s.midLine = rest[n:], true
	}
	s.buf = append(s.buf[:0], rest...)
	s.scanned = len(s.buf)
	return nil
}

// pending says whether flush(false) would pass something on.
func (s *splitter) pending() bool {
	return (s.midLine || !isObject(s.body(s.buf))) && wholeRunes(s.buf) > 0
}

// flush passes on text whose line has not ended; at the end of the output
// (final) also what was held back.
func (s *splitter) flush(final bool) error {
	if len(s.buf) == 0 || (!final && !s.pending()) {
		return nil
	}
	if final {
		rest := s.buf
		s.buf, s.scanned = nil, 0
		return s.line(rest)
	}
	n, err := s.pieces(s.buf, false)
	s.buf = append(s.buf[:0], s.buf[n:]...)
	s.scanned, s.midLine = len(s.buf), true
	return err
}

func (s *splitter) line(line []byte) error {
	if body := s.body(line); !s.midLine && isObject(body) {
		taken, err := s.object(bytes.TrimSpace(body))
		if taken || err != nil {
			return err
		}
	}
	_, err := s.pieces(line, true)
	return err
}

// pieces passes text on, cut between characters, and returns how much of it;
// final says that no more bytes will complete its last character.
func (s *splitter) pieces(text []byte, final bool) (int, error) {
	total := len(text)
	for len(text) > 0 {
		n := min(len(text), s.maxText)
		if n < len(text) || !final {
			n = wholeRunes(text[:n])
		}
		if n == 0 {
			break
		}
		if err := s.text(text[:n]); err != nil {
			return total - len(text), err
		}
		text = text[n:]
	}
	return total - len(text), nil
}

// wholeRunes is the length of b without the beginning of a character at its end.
func wholeRunes(b []byte) int {
	for back := 1; back < utf8.UTFMax && back <= len(b); back++ {
		if c := b[len(b)-back]; utf8.RuneStart(c) {
			if !utf8.FullRune(b[len(b)-back:]) {
				return len(b) - back
			}
			break
		}
	}
	return len(b)
}

// maxIndent is how much white space may stand before an object.
const maxIndent = 64

// isObject says whether a line begins, or may yet begin, like a JSON object.
func isObject(line []byte) bool {
	inner := bytes.TrimLeft(line, " \t\r")
	if len(inner) == 0 {
		return len(line) <= maxIndent
	}
	if inner[0] != '{' {
		return false
	}
	inner = bytes.TrimLeft(inner[1:], " \t\r\n")
	return len(inner) == 0 || inner[0] == '"' || inner[0] == '}'
}
