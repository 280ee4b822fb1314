package httpapi

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"turnlog/httpapi/problem"
)

// form reads the fields of a body and collects what is wrong with them. null is
// the same as absent.
type form struct {
	text   json.RawMessage // the whole body
	fields map[string]json.RawMessage
	wrongs []problem.Field
}

func (f *form) wrong(field, why string) {
	f.wrongs = append(f.wrongs, problem.Field{Name: field, Detail: why})
}

// check is the problem of a form that is not in order, else nil.
func (f *form) check() error {
	if len(f.wrongs) == 0 {
		return nil
	}
	p := problem.Invalid(f.wrongs[0].Name, f.wrongs[0].Detail)
	p.Fields = f.wrongs
	return p
}

// given returns a field's value, nil when it is absent.
func (f *form) given(field string) json.RawMessage {
	raw := f.fields[field]
	if string(raw) == "null" {
		return nil
	}
	return raw
}

// into decodes a field that is given.
func (f *form) into(field string, v any, what string) bool {
	raw := f.given(field)
	if raw == nil {
		return false
	}
	if json.Unmarshal(raw, v) != nil {
		f.wrong(field, "must be "+what)
		return false
	}
	return true
}

// string reads an optional string.
func (f *form) string(field string) (s string) {
	f.into(field, &s, "a string")
	return s
}

// required reads a string that must not be empty.
func (f *form) required(field string) string {
	var s string
	if !f.into(field, &s, "a string") && f.given(field) != nil {
		return ""
	}
	if s == "" {
		f.wrong(field, "is required")
	}
	return s
}

// flag reads an optional boolean.
func (f *form) flag(field string) (b bool) {
	f.into(field, &b, "true or false")
	return b
}

// choice reads an optional string that is one of few.
func (f *form) choice(field string, of ...string) string {
	var s string
	if f.given(field) == nil {
		return ""
	}
	if json.Unmarshal(f.given(field), &s) != nil || !slices.Contains(of, s) {
		f.wrong(field, "must be one of "+strings.Join(of, ", "))
		return ""
	}
	return s
}

// content checks the content of a message: a string, or a non-empty list of blocks.
func (f *form) content() {
	raw := f.given("content")
	var blocks []map[string]json.RawMessage
	switch {
	case raw == nil:
		f.wrong("content", "is required")
	case raw[0] == '"':
	case json.Unmarshal(raw, &blocks) != nil || len(blocks) == 0 || slices.ContainsFunc(blocks, func(b map[string]json.RawMessage) bool { return b == nil }):
		f.wrong("content", "must be a string or a non-empty list of blocks")
	}
}

// mostManifest bounds a manifest of client tools.
const mostManifest = 4096

// manifest reads the list of tools that the client runs, nil without one.
func (f *form) manifest() json.RawMessage {
	var list []struct {
		Name string `json:"name"`
	}
	if !f.into("tools", &list, "a list of tools with names") {
		return nil
	}
	for _, tool := range list {
		if tool.Name == "" {
			f.wrong("tools", "must be a list of tools with names")
			return nil
		}
	}
	if len(list) > mostManifest {
		f.wrong("tools", "must have at most "+strconv.Itoa(mostManifest)+" tools")
		return nil
	}
	return f.given("tools")
}
