package wsapi

import (
	"strconv"
	"time"

	"turnlog/frame"
)

// object builds a flat JSON object with its keys in the order they are added.
// Keys are plain ASCII.
type object []byte

func (o object) key(k string) object {
	if len(o) == 0 {
		o = append(o, '{')
	} else {
		o = append(o, ',')
	}
	o = append(o, '"')
	o = append(o, k...)
	return append(o, '"', ':')
}

func (o object) text(k, v string) object { return frame.AppendString(o.key(k), v) }

func (o object) number(k string, v int64) object { return strconv.AppendInt(o.key(k), v, 10) }

func (o object) flag(k string, v bool) object { return strconv.AppendBool(o.key(k), v) }

// raw adds a value that is JSON already.
func (o object) raw(k string, v []byte) object { return append(o.key(k), v...) }

// quoted adds a member whose key and value are JSON already.
func (o object) quoted(key, v []byte) object {
	if len(o) == 0 {
		o = append(o, '{')
	} else {
		o = append(o, ',')
	}
	return append(append(append(o, key...), ':'), v...)
}

func (o object) null(k string) object { return append(o.key(k), "null"...) }

func (o object) time(k string, t time.Time) object {
	return append(t.UTC().AppendFormat(append(o.key(k), '"'), "2006-01-02T15:04:05.000Z"), '"')
}

func (o object) end() []byte {
	if len(o) == 0 {
		return []byte("{}")
	}
	return append(o, '}')
}

// extend appends further members to a frame, which is a JSON object.
func extend(b []byte) object {
	n := len(b)
	for n > 0 && b[n-1] != '}' {
		n--
	}
	o := make(object, 0, n+128)
	if n > 1 {
		o = append(o, b[:n-1]...)
	}
	// An object without members gets its first one.
	trimmed := len(o)
	for trimmed > 0 && (o[trimmed-1] == ' ' || o[trimmed-1] == '\n' || o[trimmed-1] == '\t' || o[trimmed-1] == '\r') {
		trimmed--
	}
	if trimmed <= 1 {
		return o[:0]
	}
	return o[:trimmed]
}
