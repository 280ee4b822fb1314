package eventlog

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
)

// A stored submission is one header line that scripts read, the message, and
// the rest as JSON:
//
//	1 <turn_id> <id> <digest> <policy> <conn> <headless> <max ms> <stall ms> <attempts> <bytes of message>\n
//	<message><submission without its message>
//
// "=" stands for an empty field; everything else is percent-encoded.
const submissionVersion = "1"

// encodeSubmission fails with ErrBadID when one of its ids cannot be part of a key.
func encodeSubmission(s Submission) (string, error) {
	if _, err := EncodeID(s.TurnID); err != nil {
		return "", fmt.Errorf("turn id: %w", err)
	}
	if s.ID != "" {
		if _, err := EncodeID(s.ID); err != nil {
			return "", fmt.Errorf("message id: %w", err)
		}
	}
	message := s.Message
	if len(message) == 0 {
		message = json.RawMessage("{}")
	}
	s.Message = json.RawMessage("null")
	var rest bytes.Buffer
	enc := json.NewEncoder(&rest)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(s); err != nil {
		return "", fmt.Errorf("encode submission: %w", err)
	}
	headless := 0
	if s.Headless {
		headless = 1
	}
	return fmt.Sprintf("%s %s %s %s %s %s %d %d %d %d %d\n", submissionVersion,
		field(s.TurnID), field(s.ID), field(s.Digest), field(string(s.Policy)), field(s.Conn), headless,
		s.MaxDuration.Milliseconds(), s.StallAfter.Milliseconds(), max(s.Attempts, 1), len(message)) +
		string(message) + rest.String(), nil
}

func field(s string) string {
	if s == "" {
		return "="
	}
	return escape(s)
}

func decodeSubmission(stored string) (Submission, error) {
	head, body, ok := strings.Cut(stored, "\n")
	fields := strings.Fields(head)
	if !ok || len(fields) != 11 || fields[0] != submissionVersion {
		return Submission{}, fmt.Errorf("stored submission: unknown format %q", head)
	}
	var n int
	if _, err := fmt.Sscanf(fields[10], "%d", &n); err != nil || n < 0 || n > len(body) {
		return Submission{}, fmt.Errorf("stored submission: bad length %q", fields[10])
	}
	var s Submission
	if err := json.Unmarshal([]byte(body[n:]), &s); err != nil {
		return Submission{}, fmt.Errorf("stored submission: %w", err)
	}
	s.Message = json.RawMessage(body[:n])
	return s, nil
}
