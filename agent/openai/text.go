package openai

import (
	"strconv"
	"strings"
	"unicode/utf8"
)

// joiner puts text together that a provider has cut anywhere: within the bytes of
// a character, or between the escaped halves of a surrogate pair.
type joiner struct{ held []byte }

// add takes a JSON string literal, as it stood in the stream, and returns the
// text that is whole. null and other values are no text.
func (j *joiner) add(literal string) string {
	j.held = appendLiteral(j.held, literal)
	return j.take(false)
}

// end returns what was held back: nothing will complete it, so it is U+FFFD.
func (j *joiner) end() string { return j.take(true) }

func (j *joiner) take(final bool) string {
	var out strings.Builder
	b := j.held
	for len(b) > 0 {
		if r, n := utf8.DecodeRune(b); r != utf8.RuneError || n > 1 {
			out.WriteRune(r)
			b = b[n:]
			continue
		}
		if half, ok := surrogate(b); ok {
			if low, ok := surrogate(b[3:]); ok && half < 0xdc00 && low >= 0xdc00 {
				out.WriteRune((half-0xd800)<<10 | (low - 0xdc00) + 0x10000)
				b = b[6:]
				continue
			}
			if half < 0xdc00 && !final && len(b) == 3 {
				break
			}
			out.WriteRune(utf8.RuneError)
			b = b[3:]
			continue
		}
		if !final && !utf8.FullRune(b) {
			break
		}
		out.WriteRune(utf8.RuneError)
		b = b[1:]
	}
	j.held = append(j.held[:0], b...)
	return out.String()
}

// surrogate decodes half a pair as appendLiteral writes it.
func surrogate(b []byte) (rune, bool) {
	if len(b) < 3 || b[0] != 0xed || b[1]&0xe0 != 0xa0 || b[2]&0xc0 != 0x80 {
		return 0, false
	}
	return 0xd000 | rune(b[1]&0x3f)<<6 | rune(b[2]&0x3f), true
}

// appendLiteral appends the bytes of a JSON string literal. Escaped halves of
// pairs become three bytes that no UTF-8 text has.
func appendLiteral(dst []byte, literal string) []byte {
	if len(literal) < 2 || literal[0] != '"' {
		return dst
	}
	in := literal[1 : len(literal)-1]
	for i := 0; i < len(in); i++ {
		if in[i] != '\\' || i+1 == len(in) {
			dst = append(dst, in[i])
			continue
		}
		i++
		switch c := in[i]; c {
		case 'n':
			dst = append(dst, '\n')
		case 't':
			dst = append(dst, '\t')
		case 'r':
			dst = append(dst, '\r')
		case 'b':
			dst = append(dst, '\b')
		case 'f':
			dst = append(dst, '\f')
		case 'u':
			if i+5 > len(in) {
				return dst
			}
			n, err := strconv.ParseUint(in[i+1:i+5], 16, 16)
			if err != nil {
				return dst
			}
			i += 4
			dst = appendUnit(dst, rune(n))
		default:
			dst = append(dst, c)
		}
	}
	return dst
}

func appendUnit(dst []byte, r rune) []byte {
	if r >= 0xd800 && r < 0xe000 {
		return append(dst, 0xed, 0x80|byte(r>>6)&0x3f, 0x80|byte(r)&0x3f)
	}
	return utf8.AppendRune(dst, r)
}

// pieces cuts text between characters into parts of at most limit bytes.
func pieces(text string, limit int) []string {
	var out []string
	for len(text) > limit {
		n := limit
		for n > 0 && !utf8.RuneStart(text[n]) {
			n--
		}
		out = append(out, text[:n])
		text = text[n:]
	}
	return append(out, text)
}
