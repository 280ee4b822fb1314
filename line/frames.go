package line

import (
	"strconv"

	"turnlog/eventlog"
	"turnlog/frame"
)

// Header is the frame chat_resumed.
func Header(threadID string, h *eventlog.Header) []byte {
	b := make([]byte, 0, 320+len(threadID))
	b = append(b, `{"type":"chat_resumed"`...)
	b = text(b, `,"thread_id":`, threadID)
	b = text(b, `,"status":`, string(h.Status))
	b = number(b, `,"last_seq":`, h.LastSeq)
	b = number(b, `,"replay_count":`, h.ReplayCount)
	b = strconv.AppendBool(append(b, `,"replay_incomplete":`...), h.ReplayIncomplete)
	b = text(b, `,"epoch":`, h.Epoch)
	b = number(b, `,"first_seq":`, h.FirstSeq)
	b = text(b, `,"turn_id":`, h.TurnID)
	b = text(b, `,"outcome":`, string(h.Outcome))
	b = text(b, `,"on_disconnect":`, string(h.Policy))
	if !h.GraceDeadline.IsZero() {
		b = append(b, `,"grace_deadline":"`...)
		b = append(h.GraceDeadline.UTC().AppendFormat(b, "2006-01-02T15:04:05.000Z"), '"')
	}
	return append(b, '}')
}

// opened says that a tool call is open somewhere else.
func opened(id, name string) []byte {
	b := text([]byte(`{"type":"request_open"`), `,"request_id":`, id)
	b = append(b, `,"kind":"tool_call"`...)
	return append(text(b, `,"name":`, name), '}')
}

// closed says that a request was answered before the replay that holds it.
func closed(id string) []byte {
	return append(text([]byte(`{"type":"request_closed"`), `,"request_id":`, id), `,"reason":"answered"}`...)
}

// replayed is a request sent outside of the numbering. stored is an object
// with a type, and clean: it ends with its brace.
func replayed(threadID, turnID string, stored []byte) []byte {
	end := len(stored)
	for end > 0 && stored[end-1] != '}' {
		end--
	}
	end = max(end-1, 0)
	for end > 0 && space(stored[end-1]) {
		end--
	}
	b := append(make([]byte, 0, end+128+len(threadID)), stored[:end]...)
	b = text(b, `,"thread_id":`, threadID)
	b = text(b, `,"turn_id":`, turnID)
	return append(b, `,"replayed":true}`...)
}

func space(c byte) bool { return c == ' ' || c == '\n' || c == '\r' || c == '\t' }

// text and number append a member whose key is JSON already.
func text(b []byte, key, value string) []byte { return frame.AppendString(append(b, key...), value) }

func number(b []byte, key string, value int64) []byte {
	return strconv.AppendInt(append(b, key...), value, 10)
}
