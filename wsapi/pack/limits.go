package pack

import (
	"encoding/json"
	"errors"
	"unicode/utf8"
)

// Limits bounds what a peer may send in one message.
type Limits struct {
	Depth    int // nesting of lists and maps; 0 = 100
	Elements int // list items and map members in all; 0 = 262,144
}

func (l Limits) withDefaults() Limits {
	if l.Depth == 0 {
		l.Depth = 100
	}
	if l.Elements == 0 {
		l.Elements = 1 << 18
	}
	return l
}

// What is refused. Each is a sentence fit for the peer.
var (
	ErrTruncated = errors.New("the message ends early")
	ErrTrailing  = errors.New("there is more than one value in the message")
	ErrTooDeep   = errors.New("the message is nested too deeply")
	ErrTooMany   = errors.New("the message has too many elements")
	ErrKey       = errors.New("map keys must be strings")
	ErrUTF8      = errors.New("strings must be valid UTF-8")
	ErrExtension = errors.New("the message has an extension type that is not supported")
	ErrReserved  = errors.New("the message has a reserved type byte")
	ErrUndefined = errors.New("the message is undefined")
	ErrJSON      = errors.New("the message is not valid JSON")
)

// CheckJSON says why text is not acceptable: invalid JSON, invalid UTF-8, or
// beyond the limits. It allocates nothing.
func CheckJSON(text []byte, limits Limits) error {
	limits = limits.withDefaults()
	if err := checkShape(text, limits); err != nil {
		return err
	}
	if !utf8.Valid(text) {
		return ErrUTF8
	}
	if !json.Valid(text) {
		return ErrJSON
	}
	return nil
}

// checkShape counts brackets and commas outside strings. It is exact for
// valid JSON, and what is invalid is refused by the parser afterwards.
func checkShape(text []byte, limits Limits) error {
	depth, elements, quoted := 0, 0, false
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case c == '\\' && quoted:
			i++
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '[' || c == '{':
			depth++
			elements++
			if depth > limits.Depth {
				return ErrTooDeep
			}
		case c == ']' || c == '}':
			depth--
		case c == ',':
			elements++
		}
		if elements > limits.Elements {
			return ErrTooMany
		}
	}
	return nil
}
