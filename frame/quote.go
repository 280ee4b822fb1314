package frame

import (
	"bytes"
	"unicode/utf16"
	"unicode/utf8"
)

// keyIs compares a quoted key of a valid object with a plain one.
func keyIs(quoted []byte, key string) bool {
	inner := quoted[1 : len(quoted)-1]
	if len(inner) < len(key) {
		return false
	}
	if string(inner) == key {
		return true
	}
	return len(inner) > len(key) && bytes.IndexByte(inner, '\\') >= 0 && unquote(quoted) == key
}

// unquote decodes a quoted string that a scanner has accepted. What is not
// UTF-8, and halves of surrogate pairs, become U+FFFD.
func unquote(quoted []byte) string {
	in := quoted[1 : len(quoted)-1]
	if bytes.IndexByte(in, '\\') < 0 && utf8.Valid(in) {
		return string(in)
	}
	out := make([]byte, 0, len(in))
	for i := 0; i < len(in); {
		if in[i] != '\\' {
			r, n := utf8.DecodeRune(in[i:])
			out = utf8.AppendRune(out, r)
			i += n
			continue
		}
		if in[i+1] != 'u' {
			out = append(out, plainEscape(in[i+1]))
			i += 2
			continue
		}
		r := hex4(in, i+2)
		n := 6
		if utf16.IsSurrogate(r) {
			if r = utf16.DecodeRune(r, lowAfter(in, i)); r != utf8.RuneError {
				n = 12
			}
		}
		out = utf8.AppendRune(out, r)
		i += n
	}
	return string(out)
}

func plainEscape(c byte) byte {
	switch c {
	case 'b':
		return '\b'
	case 'f':
		return '\f'
	case 'n':
		return '\n'
	case 'r':
		return '\r'
	case 't':
		return '\t'
	}
	return c
}

const hexDigits = "0123456789abcdef"

// AppendString appends s as a JSON string. Only what JSON demands is escaped,
// so multi-byte text stays as it is; what is not UTF-8 becomes U+FFFD.
func AppendString(dst []byte, s string) []byte {
	if !utf8.ValidString(s) {
		s = string([]rune(s)) // each wrong byte becomes U+FFFD
	}
	return AppendQuoted(dst, s)
}

// AppendQuoted is AppendString for what is known to be UTF-8.
func AppendQuoted[S string | []byte](dst []byte, s S) []byte {
	dst = append(dst, '"')
	from := 0
	for i := range len(s) {
		c := s[i]
		if !special[c] {
			continue
		}
		dst = append(dst, s[from:i]...)
		from = i + 1
		switch c {
		case '"', '\\':
			dst = append(dst, '\\', c)
		case '\n':
			dst = append(dst, '\\', 'n')
		case '\r':
			dst = append(dst, '\\', 'r')
		case '\t':
			dst = append(dst, '\\', 't')
		default:
			dst = append(dst, '\\', 'u', '0', '0', hexDigits[c>>4], hexDigits[c&15])
		}
	}
	dst = append(dst, s[from:]...)
	return append(dst, '"')
}

// Repair returns b with everything replaced that no UTF-8 text can hold: bytes
// that are not UTF-8 become U+FFFD, escaped halves of surrogate pairs \ufffd.
// It returns b itself when there is nothing to replace, else a copy.
func Repair(b []byte) []byte {
	if !utf8.Valid(b) {
		b = bytes.ToValidUTF8(b, []byte("\ufffd"))
	}
	copied := false
	for i := 0; i+1 < len(b); {
		if b[i] != '\\' {
			i++
			continue
		}
		if b[i+1] != 'u' || !utf16.IsSurrogate(hex4(b, i+2)) {
			i += 2
			continue
		}
		if utf16.DecodeRune(hex4(b, i+2), lowAfter(b, i)) != utf8.RuneError {
			i += 12
			continue
		}
		if !copied {
			b, copied = bytes.Clone(b), true
		}
		copy(b[i+2:], "fffd")
		i += 6
	}
	return b
}
