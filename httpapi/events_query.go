package httpapi

import (
	"net/http"
	"strconv"
	"strings"
	"unicode/utf8"

	"turnlog/eventlog"
	"turnlog/httpapi/problem"
)

// lastEventID is the header in which a browser says what it saw last.
const lastEventID = "Last-Event-ID"

// eventsQuery is what a client asks of an event stream.
type eventsQuery struct {
	cursor  eventlog.Cursor
	resumes bool // the client had a stream before and says where it was cut
	follow  bool // the stream goes on behind the end of the turn
	policy  eventlog.Policy
	tools   toolSet
}

// parseEventsQuery reads a request; what is wrong with it becomes a problem.
func parseEventsQuery(r *http.Request) (q eventsQuery, err error) {
	values := r.URL.Query()
	if q.cursor.Full, err = choice(values.Get("full"), "full", map[string]bool{"": false, "0": false, "1": true}); err != nil {
		return q, err
	}
	if q.follow, err = choice(values.Get("follow"), "follow", map[string]bool{"": false, "turn": false, "thread": true}); err != nil {
		return q, err
	}
	if q.policy, err = choice(values.Get("on_disconnect"), "on_disconnect", map[string]eventlog.Policy{
		"": eventlog.PolicyUnset, "cancel": eventlog.PolicyCancel, "grace": eventlog.PolicyGrace, "preserve": eventlog.PolicyPreserve,
	}); err != nil {
		return q, err
	}
	if q.tools, err = parseTools(values.Get("tools")); err != nil {
		return q, err
	}
	name, position := "after", values.Get("after")
	if id := r.Header.Get(lastEventID); id != "" {
		// A browser that connects again sends the same URL, so this is the newer position.
		name, position, q.resumes, q.cursor.Full = lastEventID, id, true, false
	}
	if position == "" {
		return q, nil
	}
	var ok bool
	if q.cursor.Epoch, q.cursor.LastSeq, ok = parsePosition(position); !ok {
		return q, problem.Invalid(name, "must be <epoch>:<chat_seq> or <chat_seq>")
	}
	return q, nil
}

func choice[T any](value, name string, of map[string]T) (T, error) {
	v, ok := of[value]
	if !ok {
		return v, problem.Invalid(name, "has none of the values it may have")
	}
	return v, nil
}

// longestEpoch bounds an epoch in a position, in bytes.
const longestEpoch = 128

// parsePosition reads the id of an event: <epoch>:<chat_seq>, or <chat_seq>
// alone from a client that knows no epochs.
func parsePosition(text string) (epoch string, seq int64, ok bool) {
	if at := strings.LastIndexByte(text, ':'); at >= 0 {
		epoch, text = text[:at], text[at+1:]
		if epoch == "" || len(epoch) > longestEpoch || !plainText(epoch) {
			return "", 0, false
		}
	}
	if text == "" || text[0] < '0' || text[0] > '9' {
		return "", 0, false
	}
	seq, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return "", 0, false
	}
	return epoch, seq, true
}

// plainText reports whether a string holds no control characters and is UTF-8.
func plainText(s string) bool {
	for _, c := range s {
		if c < ' ' || c == 0x7f {
			return false
		}
	}
	return utf8.ValidString(s)
}

// appendPosition writes what parsePosition reads.
func appendPosition(b []byte, epoch string, seq int64) []byte {
	if epoch != "" {
		b = append(append(b, epoch...), ':')
	}
	return strconv.AppendInt(b, seq, 10)
}

// toolSet is the tools that a client runs itself; the zero value runs none.
type toolSet struct {
	all   bool
	names map[string]struct{}
}

// mostTools bounds how many tools a client may name.
const mostTools = 1024

// parseTools reads ?tools=: names with commas between them, or * for every tool.
func parseTools(list string) (toolSet, error) {
	switch {
	case list == "":
		return toolSet{}, nil
	case list == "*":
		return toolSet{all: true}, nil
	case strings.Count(list, ",") >= mostTools:
		return toolSet{}, problem.Invalid("tools", "names more than "+strconv.Itoa(mostTools)+" tools")
	}
	names := make(map[string]struct{})
	for name := range strings.SplitSeq(list, ",") {
		if name == "" || !plainText(name) {
			return toolSet{}, problem.Invalid("tools", "must be * or names with commas between them")
		}
		names[name] = struct{}{}
	}
	return toolSet{names: names}, nil
}

func (t toolSet) any() bool { return t.all || len(t.names) > 0 }

func (t toolSet) has(name string) bool {
	_, ok := t.names[name]
	return ok || t.all
}
