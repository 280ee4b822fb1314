package relay

import (
	"bytes"
	"encoding/json"

	"turnlog/agent"
	"turnlog/frame"
)

// hasType reports whether a line is a JSON object with the key "type", however
// deep it nests: that is what makes it a frame and its faults errors.
func hasType(line []byte) bool {
	if _, ok := frame.Raw(line, "type"); ok {
		return true
	}
	return mayBeDeep(line) && walk(line, func(key string) bool { return key == "type" })
}

// mayBeDeep is a cheap check for more nesting than a frame may have.
func mayBeDeep(line []byte) bool {
	return bytes.Count(line, []byte("{"))+bytes.Count(line, []byte("[")) > frame.MaxDepth
}

// walk reports whether a line is one JSON object with a top-level key that
// fits. Unlike encoding/json's Unmarshal and the scanner of frames it has no
// limit of depth, and no recursion.
func walk(line []byte, fits func(key string) bool) bool {
	dec := json.NewDecoder(bytes.NewReader(line))
	dec.UseNumber()
	depth, isKey, found := 0, false, false
	for {
		token, err := dec.Token()
		if err != nil {
			return false
		}
		switch token {
		case json.Delim('{'), json.Delim('['):
			if depth++; depth == 1 {
				if token != json.Delim('{') {
					return false
				}
				isKey = true
				continue
			}
		case json.Delim('}'), json.Delim(']'):
			if depth--; depth == 0 {
				return found && dec.InputOffset() == int64(len(line))
			}
			if depth == 1 {
				isKey = true // the value is over
			}
			continue
		}
		if depth != 1 {
			continue
		}
		if key, ok := token.(string); ok && isKey {
			found = found || fits(key)
			isKey = false
		} else {
			isKey = true
		}
	}
}

// whyInvalid says what is wrong with an object that has a type and is no frame.
func (o *Relay) whyInvalid(line []byte) error {
	value, ok := frame.Raw(line, "type")
	typ, isText := frame.String(line, "type")
	switch {
	case !ok:
		return o.refuse(" an object that nests deeper than %d levels", frame.MaxDepth)
	case !isText || typ == "":
		return o.refuse(" an object whose \"type\" is %s; a frame's type is a non-empty string, and an object without \"type\" is text", short(value))
	case len(typ) > frame.MaxType:
		return o.refuse(" a frame whose \"type\" has %d bytes; %d are allowed", len(typ), frame.MaxType)
	}
	return agent.ErrInvalidFrame
}

// short cuts a value for a message.
func short(value []byte) string {
	const most = 40
	if len(value) <= most {
		return string(value)
	}
	return string(bytes.ToValidUTF8(value[:most], nil)) + "..."
}
