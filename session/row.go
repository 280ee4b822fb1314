package session

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"maps"
	"slices"

	"turnlog/eventlog"
	"turnlog/frame"
)

// transportKeys of a submission's data say how it travels, not what is asked;
// a retry may change them.
var transportKeys = []string{
	"id", "thread_id", "turn_id", "request_id", "connection",
	"on_disconnect", "preserve_running_on_disconnect", "close_on_disconnect", "on_busy",
}

// messageRow returns the history row of a submission: {id?, role, content}.
func messageRow(message, data json.RawMessage, id string) (json.RawMessage, error) {
	src := message
	if len(src) == 0 {
		src = data
	}
	src = frame.Repair(src)
	var in map[string]json.RawMessage
	if err := json.Unmarshal(src, &in); err != nil || in == nil {
		return nil, &Refusal{Code: CodeInvalid, Message: "the message must be a JSON object"}
	}
	if c := bytes.TrimSpace(in["content"]); len(c) == 0 || bytes.Equal(c, []byte("null")) {
		return nil, &Refusal{Code: CodeInvalid, Message: "content is required"}
	}
	role := "user"
	if raw, ok := in["role"]; ok && string(raw) != "null" {
		if json.Unmarshal(raw, &role) != nil || role == "" {
			return nil, &Refusal{Code: CodeInvalid, Message: "role must be a non-empty string"}
		}
	}
	row := []byte{'{'}
	if id == "" {
		id, _ = frame.String(src, "id")
	}
	if id != "" {
		row = frame.AppendString(append(row, `"id":`...), id)
		row = append(row, ',')
	}
	row = frame.AppendString(append(row, `"role":`...), role)
	if len(message) > 0 { // a ready-made row keeps its other keys, in a fixed order
		for _, k := range sortedKeys(in, "id", "role", "content") {
			row = frame.AppendString(append(row, ','), k)
			row = append(append(row, ':'), in[k]...)
		}
	}
	row = append(append(row, `,"content":`...), in["content"]...)
	row = append(row, '}')
	probe := append(append([]byte(`{"type":"m","message":`), row...), '}')
	if _, err := frame.Type(probe); err != nil {
		return nil, &Refusal{Code: CodeInvalid, Message: "the message is nested too deeply or not valid UTF-8"}
	}
	return row, nil
}

// digest fingerprints what a submission asks for: content, role and agent
// keys. Key order, white space and transport keys do not matter.
func digest(row, data json.RawMessage, agentName string) string {
	h := sha256.New()
	h.Write(canonical(row, []string{"id"}))
	h.Write([]byte{0})
	h.Write(canonical(data, append([]string{"content", "role"}, transportKeys...)))
	h.Write([]byte{0})
	h.Write([]byte(agentName))
	return base64.RawURLEncoding.EncodeToString(h.Sum(nil)[:18])
}

// canonical re-encodes an object with sorted keys and untouched numbers,
// without the keys in drop.
func canonical(b json.RawMessage, drop []string) []byte {
	var m map[string]any
	dec := json.NewDecoder(bytes.NewReader(b))
	dec.UseNumber()
	if dec.Decode(&m) != nil {
		return nil
	}
	for _, k := range drop {
		delete(m, k)
	}
	out, _ := json.Marshal(m) // what was decoded can be encoded
	return out
}

// steerMessage is what the agent gets of a steer: the row of the submission.
func steerMessage(payload json.RawMessage) json.RawMessage {
	var sub eventlog.Submission
	if json.Unmarshal(payload, &sub) != nil {
		return nil
	}
	return sub.Message
}

// sortedKeys returns the keys of m without those in except.
func sortedKeys[V any](m map[string]V, except ...string) []string {
	keys := slices.Sorted(maps.Keys(m))
	return slices.DeleteFunc(keys, func(k string) bool { return slices.Contains(except, k) })
}
