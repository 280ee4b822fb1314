package frame

import (
	"errors"
	"unicode/utf8"
)

const (
	// MaxDepth is how deep a frame may nest, the frame itself included.
	MaxDepth = 128
	// MaxType is the longest "type" in bytes.
	MaxType = 128
)

// What Type, Strip and Check refuse.
var (
	ErrInvalid  = errors.New("not a frame: want one JSON object in valid UTF-8 with a non-empty string \"type\"")
	ErrTooLarge = errors.New("the frame is too large")
)

// Type validates b as a frame and returns its type. The only error is ErrInvalid.
func Type(b []byte) (string, error) {
	typ, _, err := inspect(b)
	return typ, err
}

// Strip returns b without the top-level keys chat_seq, thread_id and turn_id.
// When none of them is there it returns b itself (without surrounding white
// space), else a copy. The only error is ErrInvalid.
func Strip(b []byte) ([]byte, error) {
	_, stamped, err := inspect(b)
	if err != nil {
		return nil, err
	}
	return strip(b, stamped), nil
}

// Check is Type, Strip and a size limit in one pass. limit is in bytes and
// counts the stripped frame; 0 means no limit. Errors are ErrInvalid and
// ErrTooLarge.
func Check(b []byte, limit int) (typ string, clean []byte, err error) {
	// A frame beyond twice the limit is not worth scanning for keys to strip.
	if limit > 0 && len(b)/2 > limit {
		return "", nil, ErrTooLarge
	}
	typ, stamped, err := inspect(b)
	if err != nil {
		return "", nil, err
	}
	clean = strip(b, stamped)
	if limit > 0 && len(clean) > limit {
		return "", nil, ErrTooLarge
	}
	return typ, clean, nil
}

// String returns the string value of a top-level key; false when b is not a
// JSON object or the (last) value of that key is not a string.
func String(b []byte, key string) (string, bool) {
	raw, ok := Raw(b, key)
	if !ok || raw[0] != '"' {
		return "", false
	}
	return unquote(raw), true
}

// Raw returns the value of a top-level key as it stands in b (shared memory);
// false when b is not a JSON object or has no such key.
func Raw(b []byte, key string) ([]byte, bool) {
	s := scanner{b: b}
	var found []byte
	ok := s.object(func(_, keyStart, keyEnd, valStart, valEnd int) {
		if keyIs(b[keyStart:keyEnd], key) {
			found = b[valStart:valEnd:valEnd]
		}
	})
	return found, ok && found != nil
}

// Keys counts the top-level keys of b, which it does not validate further; 0 when
// b is not a JSON object.
func Keys(b []byte) int {
	s := scanner{b: b}
	count := 0
	if !s.object(func(int, int, int, int, int) { count++ }) {
		return 0
	}
	return count
}

func inspect(b []byte) (typ string, stamped bool, err error) {
	if !utf8.Valid(b) {
		return "", false, ErrInvalid
	}
	s := scanner{b: b, strict: true}
	var value []byte
	ok := s.object(func(_, keyStart, keyEnd, valStart, valEnd int) {
		switch key := b[keyStart:keyEnd]; {
		case keyIs(key, "type"):
			value = b[valStart:valEnd]
		case isStamp(key):
			stamped = true
		}
	})
	if !ok || len(value) < 3 || value[0] != '"' {
		return "", false, ErrInvalid
	}
	typ = typeName(value)
	if typ == "" || len(typ) > MaxType {
		return "", false, ErrInvalid
	}
	return typ, stamped, nil
}

func isStamp(key []byte) bool {
	return keyIs(key, "chat_seq") || keyIs(key, "thread_id") || keyIs(key, "turn_id")
}

// Without returns a copy of the JSON object b without a top-level key, the rest as
// it stands. What is no object is returned without surrounding white space.
func Without(b []byte, key string) []byte {
	if _, ok := Raw(b, key); !ok {
		return append([]byte(nil), trim(b)...)
	}
	return without(trim(b), func(name []byte) bool { return keyIs(name, key) })
}

// strip expects b to be valid.
func strip(b []byte, stamped bool) []byte {
	b = trim(b)
	if !stamped {
		return b
	}
	return without(b, isStamp)
}

// without expects b to be a JSON object without white space around it.
func without(b []byte, drop func(key []byte) bool) []byte {
	out := make([]byte, 1, len(b))
	out[0] = '{'
	s := scanner{b: b}
	s.object(func(_, keyStart, keyEnd, _, valEnd int) {
		if drop(b[keyStart:keyEnd]) {
			return
		}
		if len(out) > 1 {
			out = append(out, ',')
		}
		out = append(out, b[keyStart:valEnd]...)
	})
	return append(out, '}')
}

func trim(b []byte) []byte {
	for len(b) > 0 && isSpace(b[0]) {
		b = b[1:]
	}
	for len(b) > 0 && isSpace(b[len(b)-1]) {
		b = b[:len(b)-1]
	}
	return b
}

// common types are returned without allocating.
var common = func() map[string]string {
	m := make(map[string]string)
	for _, t := range []string{
		"chunk", "message", "turn_started", "turn_finished", "error", "generation_stopped",
		"tool_call", "tool_call_update", "tool_result_update", "planning_update", "task_update",
		"todo_update", "log_update", "job_update", "tool_approval_request", "plan_approval_request",
		"secret_request", "request_closed", "node_update", "output_update",
	} {
		m[t] = t
	}
	return m
}()

func typeName(quoted []byte) string {
	if t, ok := common[string(quoted[1:len(quoted)-1])]; ok {
		return t
	}
	return unquote(quoted)
}
