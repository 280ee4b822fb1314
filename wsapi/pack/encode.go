package pack

import (
	"bytes"
	"encoding/binary"
	"math"
	"strconv"
	"unicode/utf16"
	"unicode/utf8"
)

// AppendFromJSON appends text, one JSON value, to dst as MessagePack. Text
// that is not JSON gives ErrJSON, nesting beyond 1,000 gives ErrTooDeep.
func AppendFromJSON(dst, text []byte) ([]byte, error) {
	e := encoder{src: text}
	dst, err := e.value(dst, 0)
	if err != nil {
		return dst, err
	}
	if e.space(); e.pos != len(text) {
		return dst, ErrTrailing
	}
	return dst, nil
}

// AppendListHeader appends the header of a list of n values, which the caller
// appends next.
func AppendListHeader(dst []byte, n int) []byte {
	at := len(dst)
	return setCount(append(dst, 0), at, n, 0x90, 0xdc)
}

const encodeDepth = 1000

type encoder struct {
	src     []byte
	pos     int
	scratch []byte // of strings with escapes
}

func (e *encoder) space() {
	for e.pos < len(e.src) {
		switch e.src[e.pos] {
		case ' ', '\n', '\r', '\t':
			e.pos++
		default:
			return
		}
	}
}

// next skips white space and returns the byte there, 0 at the end.
func (e *encoder) next() byte {
	e.space()
	if e.pos == len(e.src) {
		return 0
	}
	return e.src[e.pos]
}

func (e *encoder) value(dst []byte, depth int) ([]byte, error) {
	if depth > encodeDepth {
		return dst, ErrTooDeep
	}
	switch c := e.next(); c {
	case '{':
		return e.object(dst, depth)
	case '[':
		return e.list(dst, depth)
	case '"':
		return e.text(dst)
	case 't':
		return e.literal(dst, "true", 0xc3)
	case 'f':
		return e.literal(dst, "false", 0xc2)
	case 'n':
		return e.literal(dst, "null", 0xc0)
	default:
		return e.number(dst)
	}
}

func (e *encoder) literal(dst []byte, word string, code byte) ([]byte, error) {
	if !bytes.HasPrefix(e.src[e.pos:], []byte(word)) {
		return dst, ErrJSON
	}
	e.pos += len(word)
	return append(dst, code), nil
}

// setCount writes the header of a container whose one-byte place is at; the
// content behind it moves when the count needs more room.
func setCount(dst []byte, at, n int, fix, wide byte) []byte {
	switch {
	case n < 16:
		dst[at] = fix | byte(n)
	case n <= math.MaxUint16:
		dst = append(dst, 0, 0)
		copy(dst[at+3:], dst[at+1:])
		dst[at] = wide
		binary.BigEndian.PutUint16(dst[at+1:], uint16(n))
	default:
		dst = append(dst, 0, 0, 0, 0)
		copy(dst[at+5:], dst[at+1:])
		dst[at] = wide + 1
		binary.BigEndian.PutUint32(dst[at+1:], uint32(n))
	}
	return dst
}

func (e *encoder) list(dst []byte, depth int) ([]byte, error) {
	at, n := len(dst), 0
	dst = append(dst, 0)
	e.pos++
	for {
		c := e.next()
		if c == ']' && n == 0 {
			break
		}
		var err error
		if dst, err = e.value(dst, depth+1); err != nil {
			return dst, err
		}
		n++
		if c = e.next(); c == ',' {
			e.pos++
			continue
		}
		if c != ']' {
			return dst, ErrJSON
		}
		break
	}
	e.pos++
	return setCount(dst, at, n, 0x90, 0xdc), nil
}

func (e *encoder) object(dst []byte, depth int) ([]byte, error) {
	at, n := len(dst), 0
	dst = append(dst, 0)
	e.pos++
	for {
		c := e.next()
		if c == '}' && n == 0 {
			break
		}
		if c != '"' {
			return dst, ErrJSON
		}
		var err error
		if dst, err = e.text(dst); err != nil {
			return dst, err
		}
		if e.next() != ':' {
			return dst, ErrJSON
		}
		e.pos++
		if dst, err = e.value(dst, depth+1); err != nil {
			return dst, err
		}
		n++
		if c = e.next(); c == ',' {
			e.pos++
			continue
		}
		if c != '}' {
			return dst, ErrJSON
		}
		break
	}
	e.pos++
	return setCount(dst, at, n, 0x80, 0xde), nil
}

// text appends the string whose opening quote is next.
func (e *encoder) text(dst []byte) ([]byte, error) {
	e.pos++
	rest := e.src[e.pos:]
	end := bytes.IndexByte(rest, '"')
	if end < 0 {
		return dst, ErrJSON
	}
	if bytes.IndexByte(rest[:end], '\\') < 0 {
		e.pos += end + 1
		return appendText(dst, rest[:end]), nil
	}
	e.scratch = e.scratch[:0]
	for {
		if e.pos >= len(e.src) {
			return dst, ErrJSON
		}
		c := e.src[e.pos]
		e.pos++
		if c == '"' {
			return appendText(dst, e.scratch), nil
		}
		if c != '\\' {
			e.scratch = append(e.scratch, c)
			continue
		}
		if err := e.escape(); err != nil {
			return dst, err
		}
	}
}

// escape decodes what follows a backslash into scratch.
func (e *encoder) escape() error {
	if e.pos >= len(e.src) {
		return ErrJSON
	}
	c := e.src[e.pos]
	e.pos++
	switch c {
	case 'n':
		c = '\n'
	case 't':
		c = '\t'
	case 'r':
		c = '\r'
	case 'b':
		c = '\b'
	case 'f':
		c = '\f'
	case '"', '\\', '/':
	case 'u':
		return e.unicode()
	default:
		return ErrJSON
	}
	e.scratch = append(e.scratch, c)
	return nil
}

func (e *encoder) unicode() error {
	r, ok := e.hex()
	if !ok {
		return ErrJSON
	}
	if utf16.IsSurrogate(r) {
		back := e.pos
		low := rune(-1)
		if bytes.HasPrefix(e.src[e.pos:], []byte(`\u`)) {
			e.pos += 2
			if low, ok = e.hex(); !ok {
				return ErrJSON
			}
		}
		if r = utf16.DecodeRune(r, low); r == utf8.RuneError {
			e.pos = back // a lone half; what follows stands for itself
		}
	}
	e.scratch = utf8.AppendRune(e.scratch, r)
	return nil
}

func (e *encoder) hex() (rune, bool) {
	if len(e.src)-e.pos < 4 {
		return 0, false
	}
	u, err := strconv.ParseUint(string(e.src[e.pos:e.pos+4]), 16, 32)
	e.pos += 4
	return rune(u), err == nil
}

func appendText(dst, s []byte) []byte {
	switch n := len(s); {
	case n < 32:
		dst = append(dst, 0xa0|byte(n))
	case n <= math.MaxUint8:
		dst = append(dst, 0xd9, byte(n))
	case n <= math.MaxUint16:
		dst = binary.BigEndian.AppendUint16(append(dst, 0xda), uint16(n))
	default:
		dst = binary.BigEndian.AppendUint32(append(dst, 0xdb), uint32(n))
	}
	return append(dst, s...)
}
