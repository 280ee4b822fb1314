package chaos

import (
	"time"

	"turnlog/chaos/verify"
)

// speaker is what a viewer has to say, in order; a command is repeated under the
// same id until it is answered.
type speaker struct {
	pen   *pen
	start time.Time
	acts  []Act
	subs  map[string]*verify.Submission
}

func newSpeaker(p *pen, start time.Time) *speaker {
	return &speaker{pen: p, start: start, acts: p.plan.Acts, subs: map[string]*verify.Submission{}}
}

// wait is how long until the next command; negative when there is none.
func (s *speaker) wait() time.Duration {
	if len(s.acts) == 0 {
		return -1
	}
	return max(0, time.Until(s.start.Add(s.acts[0].At)))
}

// command is the next one, as data for the wire. It is noted before it is sent.
func (s *speaker) command() (name string, data map[string]any) {
	a, thread := s.acts[0], s.pen.plan.Thread
	data = map[string]any{"thread_id": thread}
	if a.Verb == Stop {
		s.pen.book.edit(s.pen.plan.User, thread, func(t *verify.Thread) { t.Stops++ })
		return "stop", data
	}
	if a.Verb == SetPolicy {
		data["on_disconnect"], data["scope"] = "preserve", "turn"
		return "set_policy", data
	}
	data["id"], data["content"] = a.ID, "said "+a.ID
	sub := s.subs[a.ID]
	if sub == nil {
		sub = &verify.Submission{ID: a.ID, Text: "said " + a.ID, Script: a.Script, OnBusy: a.Busy, Policy: a.Policy}
		s.subs[a.ID] = sub
		s.pen.book.edit(s.pen.plan.User, thread, func(t *verify.Thread) {
			if a.Verb == Steer {
				t.Steers = append(t.Steers, sub)
			} else {
				t.Submissions = append(t.Submissions, sub)
			}
		})
	}
	if a.Verb == Steer {
		return "steer", data
	}
	data["demo"], data["on_busy"] = a.Script, a.Busy
	if a.Policy != "" {
		data["on_disconnect"] = a.Policy
	}
	return "chat_message", data
}

// answer is what matters of an acknowledgement.
type answer struct {
	failed    bool
	retryable bool
	turn      string
	queued    bool
}

// answered ends the command, unless it was refused for the moment.
func (s *speaker) answered(a answer) {
	if a.failed && a.retryable {
		return
	}
	if sub := s.subs[s.acts[0].ID]; sub != nil && !a.failed {
		s.pen.book.edit(s.pen.plan.User, s.pen.plan.Thread, func(*verify.Thread) {
			sub.Acked, sub.Queued = true, sub.Queued || a.queued
			if a.turn != "" && s.acts[0].Verb == Say {
				sub.TurnID = a.turn
			}
		})
	}
	s.acts = s.acts[1:]
}

// toolAnswer is what viewers answer to a tool call.
var toolAnswer = map[string]any{"found": 42}
