package wire

import (
	"fmt"
	"strings"
)

// Check verifies one thread's messages on one socket: headers come before their
// frames; under a header the replay is dense, counted right and starts where the
// header says; between two headers chat_seq is strictly +1; requests replayed
// without a number are marked. It returns every violation.
func Check(frames []Message) []string {
	var bad []string
	last := int64(-1) // -1 = the next number is free
	for i, m := range frames {
		switch {
		case m.Type == "chat_resumed":
			bad = append(bad, checkHeader(frames, i)...)
			last = -1
			if m.Str("status") != "unknown" {
				last = m.Int("last_seq")
				if m.Int("replay_count") > 0 {
					last = m.Int("first_seq") - 1
				}
			}
		case m.Seq == 0:
		case last >= 0 && m.Seq != last+1:
			bad = append(bad, fmt.Sprintf("message %d: chat_seq %d after %d: %s", i, m.Seq, last, m.Type))
			last = m.Seq
		default:
			last = m.Seq
		}
	}
	return bad
}

func checkHeader(frames []Message, at int) (bad []string) {
	h := frames[at]
	for _, key := range []string{"status", "last_seq", "replay_count", "replay_incomplete", "epoch", "first_seq", "turn_id", "outcome", "on_disconnect"} {
		if !h.Has(key) {
			bad = append(bad, fmt.Sprintf("message %d: header without %s: %s", at, key, h))
		}
	}
	if h.Has("chat_seq") {
		bad = append(bad, fmt.Sprintf("message %d: numbered header: %s", at, h))
	}
	count, first := h.Int("replay_count"), h.Int("first_seq")
	if count > 0 && first+count-1 != h.Int("last_seq") {
		bad = append(bad, fmt.Sprintf("message %d: %d frames from %d do not end at last_seq: %s", at, count, first, h))
	}
	return bad
}

// Story is what one viewer was told about one thread, put together from all its
// sockets as a correct client does: by number and epoch.
type Story struct {
	Thread string
	Epoch  string
	Cursor int64 // highest chat_seq
	first  int64
	frames map[int64]Message

	// Incomplete counts headers that announced a hole, Headers all of them.
	Incomplete, Headers int
}

// NewStory is empty.
func NewStory(thread string) *Story { return &Story{Thread: thread, frames: map[int64]Message{}} }

// Add takes one socket's messages of the thread and returns every violation.
func (s *Story) Add(messages []Message) []string {
	frames := make([]Message, 0, len(messages))
	for _, m := range messages {
		if m.Thread == s.Thread && m.Type != "" {
			frames = append(frames, m)
		}
	}
	bad := Check(frames)
	for _, m := range frames {
		if m.Type == "chat_resumed" {
			s.header(m)
			continue
		}
		if m.Seq == 0 {
			continue
		}
		if old, seen := s.frames[m.Seq]; seen {
			if old.String() != m.String() {
				bad = append(bad, fmt.Sprintf("chat_seq %d changed: %s then %s", m.Seq, old, m))
			}
			continue
		}
		if s.Cursor != 0 && m.Seq != s.Cursor+1 {
			bad = append(bad, fmt.Sprintf("chat_seq %d after %d: %s", m.Seq, s.Cursor, m))
		}
		if s.first == 0 {
			s.first = m.Seq
		}
		s.Cursor = m.Seq
		s.frames[m.Seq] = m
	}
	return bad
}

func (s *Story) header(m Message) {
	s.Headers++
	if m.Bool("replay_incomplete") {
		s.Incomplete++
	}
	if m.Str("status") == "unknown" {
		return
	}
	restart := s.Epoch != "" && m.Str("epoch") != s.Epoch
	s.Epoch = m.Str("epoch")
	if restart {
		s.frames, s.Cursor, s.first = map[int64]Message{}, 0, 0
	}
	if m.Bool("replay_incomplete") && m.Int("replay_count") > 0 && m.Int("first_seq") > s.Cursor+1 {
		s.Cursor = m.Int("first_seq") - 1
	}
}

// Frames are the numbered frames in order.
func (s *Story) Frames() []Message {
	if s.first == 0 {
		return nil
	}
	out := make([]Message, 0, len(s.frames))
	for n := s.first; n <= s.Cursor; n++ {
		if m, ok := s.frames[n]; ok {
			out = append(out, m)
		}
	}
	return out
}

// Text is the visible text of the given turn; "" = of all.
func (s *Story) Text(turn string) string { return Text(s.Frames(), turn) }

// Text joins the chunks of a turn ("" = of all).
func Text(frames []Message, turn string) string {
	var b strings.Builder
	for _, m := range frames {
		if m.Type == "chunk" && (turn == "" || m.Turn == turn) {
			b.WriteString(m.Str("content"))
		}
	}
	return b.String()
}

// Finished is the outcome of a turn, "" while it runs. More than one end is an error.
func (s *Story) Finished(turn string) (outcome string, err error) {
	n := 0
	for _, m := range s.Frames() {
		if m.Type == "turn_finished" && (turn == "" || m.Turn == turn) {
			outcome = m.Str("outcome")
			n++
		}
	}
	if n > 1 && turn != "" {
		return outcome, fmt.Errorf("turn %s ended %d times", turn, n)
	}
	return outcome, nil
}
