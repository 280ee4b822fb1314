package wsapi

import (
	"encoding/json"
	"math"
	"slices"
	"strconv"
	"strings"

	"turnlog/eventlog"
)

// form reads the fields of a command and collects what is wrong with them.
// null is the same as absent everywhere.
type form struct {
	fields  map[string]json.RawMessage
	details object
}

func (f *form) bad() bool { return len(f.details) > 0 }

func (f *form) wrong(field, why string) {
	f.details = f.details.text(field, why)
}

// text reads an optional string.
func (f *form) text(field string) string {
	raw := f.fields[field]
	if !given(raw) {
		return ""
	}
	var s string
	if json.Unmarshal(raw, &s) != nil {
		f.wrong(field, "must be a string")
	}
	return s
}

// flag reads an optional boolean.
func (f *form) flag(field string) bool {
	raw := f.fields[field]
	if !given(raw) {
		return false
	}
	var b bool
	if json.Unmarshal(raw, &b) != nil {
		f.wrong(field, "must be true or false")
	}
	return b
}

// choice reads an optional string that is one of few.
func (f *form) choice(field string, of ...string) string {
	raw := f.fields[field]
	if !given(raw) {
		return ""
	}
	var s string
	if json.Unmarshal(raw, &s) != nil || !slices.Contains(of, s) {
		f.wrong(field, "must be one of "+strings.Join(of, ", "))
	}
	return s
}

// position reads a chat_seq: absent, not finite and negative are 0.
func (f *form) position(field string) int64 {
	raw := f.fields[field]
	if !given(raw) {
		return 0
	}
	if c := raw[0]; c != '-' && (c < '0' || c > '9') {
		f.wrong(field, "must be a number")
		return 0
	}
	n, err := strconv.ParseFloat(string(raw), 64)
	switch {
	case math.IsInf(n, 0) || math.IsNaN(n) || n < 0:
		return 0
	case err != nil:
		f.wrong(field, "must be a number")
		return 0
	case n > math.MaxInt64/2:
		return math.MaxInt64 / 2 // ahead of every log
	}
	return int64(n)
}

// object reads an optional object.
func (f *form) object(field string) map[string]json.RawMessage {
	raw := f.fields[field]
	if !given(raw) {
		return nil
	}
	var o map[string]json.RawMessage
	if json.Unmarshal(raw, &o) != nil {
		f.wrong(field, "must be an object")
	}
	return o
}

// content checks the required content of a message: a string, or a non-empty
// list of blocks.
func (f *form) content() {
	raw := f.fields["content"]
	var blocks []map[string]json.RawMessage
	switch {
	case !given(raw):
		f.wrong("content", "is required")
	case raw[0] == '"':
	case json.Unmarshal(raw, &blocks) != nil || len(blocks) == 0 || slices.ContainsFunc(blocks, isNil):
		f.wrong("content", "must be a string or a non-empty list of blocks")
	}
}

func isNil(block map[string]json.RawMessage) bool { return block == nil }

// longestRequestID bounds what is echoed.
const longestRequestID = 1024

// requestID reads what is to be echoed, whatever it is.
func (f *form) requestID() json.RawMessage {
	raw := f.fields["request_id"]
	if !given(raw) {
		return nil
	}
	if raw[0] == '{' || raw[0] == '[' || len(raw) > longestRequestID {
		f.wrong("request_id", "must be a string or a number of at most 1024 bytes")
		return nil
	}
	return raw
}

// asked is the policy that a command asks for.
type asked struct {
	policy eventlog.Policy

	// clash: cancel together with preserve.
	clash bool
}

// policy reads on_disconnect and its older spellings; the strongest one counts.
func (f *form) policy() asked {
	var all []eventlog.Policy
	if p := f.choice("on_disconnect", "cancel", "grace", "preserve"); p != "" {
		all = append(all, eventlog.Policy(p))
	}
	if f.flag("preserve_running_on_disconnect") {
		all = append(all, eventlog.PolicyPreserve)
	}
	if f.flag("close_on_disconnect") {
		all = append(all, eventlog.PolicyCancel)
	}
	a := asked{clash: slices.Contains(all, eventlog.PolicyCancel) && slices.Contains(all, eventlog.PolicyPreserve)}
	for _, p := range []eventlog.Policy{eventlog.PolicyCancel, eventlog.PolicyGrace, eventlog.PolicyPreserve} {
		if slices.Contains(all, p) {
			a.policy = p
		}
	}
	return a
}
