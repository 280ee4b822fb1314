package identity

import (
	"bytes"
	"encoding/json"
	"io"
	"unicode/utf8"
)

// strictObject reads a JSON object whose members are there once each and whose names count
// as they are written: encoding/json would take the last of two and "SUB" for "sub", so
// that two readers of one token could see two users.
func strictObject(text []byte) (map[string]json.RawMessage, error) {
	if !utf8.Valid(text) {
		return nil, reasonMalformed
	}
	dec := json.NewDecoder(bytes.NewReader(text))
	if t, err := dec.Token(); err != nil || t != json.Delim('{') {
		return nil, reasonMalformed
	}
	members := make(map[string]json.RawMessage)
	for dec.More() {
		name, err := dec.Token()
		if err != nil {
			return nil, reasonMalformed
		}
		key, ok := name.(string)
		if _, twice := members[key]; !ok || twice {
			return nil, reasonMalformed
		}
		var value json.RawMessage
		if dec.Decode(&value) != nil {
			return nil, reasonMalformed
		}
		if !bytes.Equal(value, []byte("null")) { // null is the same as absent
			members[key] = value
		} else {
			members[key] = nil
		}
	}
	if _, err := dec.Token(); err != nil {
		return nil, reasonMalformed
	}
	if _, err := dec.Token(); err != io.EOF {
		return nil, reasonMalformed
	}
	return members, nil
}

// text reads an optional string; ok is false for anything else.
func text(raw json.RawMessage) (s string, ok bool) {
	if raw == nil {
		return "", true
	}
	return s, raw[0] == '"' && json.Unmarshal(raw, &s) == nil
}
