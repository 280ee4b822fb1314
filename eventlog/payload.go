package eventlog

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unsafe"
)

// A live payload is one line and, for frames, a counted body:
//
//	1 <epoch> <ordinal> <attempt> <first_seq> <turn_id> <n>\n
//	<len type> <len frame>\n<type><frame>        n times
//	r <request_id>\n                             the target of an open tool call left
//	d\n                                          the thread was deleted
//	e\n                                          the epoch changed: look again

// errPayload marks a live payload that this version does not understand.
var errPayload = errors.New("malformed live payload")

// maxPayloadFrames bounds what one payload may announce; an append carries far less.
const maxPayloadFrames = 1 << 16

// payload is the head of a live payload; the frames stay encoded in body
// until somebody needs them, because most payloads on the owner's node are repeats.
type payload struct {
	kind    byte // '1' frames, 'r' retarget, 'd' deleted, 'e' epoch changed
	epoch   string
	ordinal int64
	attempt int
	first   int64
	turnID  string
	count   int
	request string
	body    string
}

// parsePayload reads the head of a live payload. The strings of the result
// share the memory of p.
func parsePayload(p string) (payload, error) {
	head, body, ok := strings.Cut(p, "\n")
	if !ok || head == "" {
		return payload{}, errPayload
	}
	switch {
	case head == "d" || head == "e":
		return payload{kind: head[0]}, nil
	case strings.HasPrefix(head, "r ") && len(head) > 2:
		return payload{kind: 'r', request: head[2:]}, nil
	case !strings.HasPrefix(head, "1 "):
		return payload{}, fmt.Errorf("%w: unknown version or kind", errPayload)
	}
	out := payload{kind: '1', body: body}
	var fields [6]string
	rest := head[2:]
	for i := range fields {
		field, tail, more := strings.Cut(rest, " ")
		if field == "" || more != (i < len(fields)-1) {
			return payload{}, fmt.Errorf("%w: head has another number of fields", errPayload)
		}
		fields[i], rest = field, tail
	}
	out.epoch, out.turnID = fields[0], fields[4]
	var err [4]error
	out.ordinal, err[0] = strconv.ParseInt(fields[1], 10, 64)
	out.attempt, err[1] = strconv.Atoi(fields[2])
	out.first, err[2] = strconv.ParseInt(fields[3], 10, 64)
	out.count, err[3] = strconv.Atoi(fields[5])
	if e := errors.Join(err[:]...); e != nil {
		return payload{}, fmt.Errorf("%w: %w", errPayload, e)
	}
	if out.first < 1 || out.ordinal < 0 || out.attempt < 0 || out.count < 1 ||
		out.count > maxPayloadFrames || out.first > 1<<53-maxPayloadFrames {
		return payload{}, fmt.Errorf("%w: number out of range", errPayload)
	}
	return out, nil
}

// entries decodes the frames. They share the payload's memory, so they may be
// read, not modified, and are not for keeping.
func (p payload) entries() ([]Entry, error) {
	out := make([]Entry, 0, min(p.count, 1024))
	body := unsafe.Slice(unsafe.StringData(p.body), len(p.body)) // never written to
	kind := ""
	for at := 0; len(out) < p.count; {
		typeLen, next, ok := readLength(body, at, ' ')
		if !ok {
			return nil, fmt.Errorf("%w: frame %d has no lengths", errPayload, len(out))
		}
		frameLen, next, ok := readLength(body, next, '\n')
		if !ok || typeLen == 0 || frameLen == 0 || typeLen+frameLen > len(body)-next {
			return nil, fmt.Errorf("%w: frame %d is cut off", errPayload, len(out))
		}
		if t := body[next : next+typeLen]; string(t) != kind {
			kind = typeName(t) // runs of one type share one string
		}
		next += typeLen
		out = append(out, Entry{Type: kind, Frame: body[next : next+frameLen : next+frameLen]})
		at = next + frameLen
		if len(out) == p.count && at != len(body) {
			return nil, fmt.Errorf("%w: %d bytes too many", errPayload, len(body)-at)
		}
	}
	return out, nil
}

// typeName is the type as a string of its own, without an allocation for the
// types that streams are made of.
func typeName(t []byte) string {
	switch string(t) {
	case "chunk":
		return "chunk"
	case "thought":
		return "thought"
	case "message":
		return "message"
	}
	return string(t)
}

// readLength reads decimal digits up to the stop byte.
func readLength(b []byte, at int, stop byte) (value, next int, ok bool) {
	const most = 1 << 30
	start := at
	for ; at < len(b) && b[at] >= '0' && b[at] <= '9'; at++ {
		if value = value*10 + int(b[at]-'0'); value > most {
			return 0, 0, false
		}
	}
	if at == start || at >= len(b) || b[at] != stop {
		return 0, 0, false
	}
	return value, at + 1, true
}
