package wire

import (
	"encoding/json"
	"fmt"
	"math"
	"time"

	"github.com/vmihailenco/msgpack/v5"
)

// Object is a decoded JSON or MessagePack object.
type Object = map[string]any

// Message is one recorded object.
type Message struct {
	Object
	Type   string // "" for acknowledgements
	Thread string
	Turn   string
	Seq    int64 // chat_seq, 0 = none
	At     time.Time
	Size   int // bytes of the WebSocket message that carried it
}

// Str is a string field, "" when it is none.
func (m Message) Str(key string) string { s, _ := m.Object[key].(string); return s }

// Int is a number field, 0 when it is none.
func (m Message) Int(key string) int64 { n, _ := integer(m.Object[key]); return n }

// Bool is a boolean field.
func (m Message) Bool(key string) bool { b, _ := m.Object[key].(bool); return b }

// Has says whether the field is there.
func (m Message) Has(key string) bool { _, ok := m.Object[key]; return ok }

// Ack says whether the message acknowledges the command with this request id.
func (m Message) Ack(requestID string) bool { return m.Type == "" && m.Str("request_id") == requestID }

// String is the message as JSON.
func (m Message) String() string {
	b, err := json.Marshal(m.Object)
	if err != nil {
		return fmt.Sprint(m.Object)
	}
	return string(b)
}

func integer(v any) (int64, bool) {
	switch n := v.(type) {
	case float64:
		return int64(n), n == math.Trunc(n)
	case int8:
		return int64(n), true
	case uint8:
		return int64(n), true
	case int16:
		return int64(n), true
	case uint16:
		return int64(n), true
	case int32:
		return int64(n), true
	case uint32:
		return int64(n), true
	case int64:
		return n, true
	case uint64:
		return int64(n), n <= math.MaxInt64
	}
	return 0, false
}

// decode reads one WebSocket message: an object, or with batching a list of them.
func decode(binary bool, b []byte) ([]Message, error) {
	var v any
	var err error
	if binary {
		err = msgpack.Unmarshal(b, &v)
	} else {
		err = json.Unmarshal(b, &v)
	}
	if err != nil {
		return nil, fmt.Errorf("undecodable message %.200q: %w", b, err)
	}
	list, ok := v.([]any)
	if !ok {
		list = []any{v}
	}
	now := time.Now()
	out := make([]Message, 0, len(list))
	for _, item := range list {
		o, ok := item.(map[string]any)
		if !ok {
			return nil, fmt.Errorf("message is no object: %.200q", b)
		}
		m := Message{Object: o, At: now, Size: len(b)}
		m.Type, m.Thread, m.Turn = m.Str("type"), m.Str("thread_id"), m.Str("turn_id")
		if raw, there := o["chat_seq"]; there {
			seq, whole := integer(raw)
			if !whole || seq <= 0 {
				return nil, fmt.Errorf("chat_seq is no position: %s", m)
			}
			m.Seq = seq
		}
		out = append(out, m)
	}
	return out, nil
}
