package verify

import (
	"encoding/json"
	"slices"
	"strings"
)

// ran is one turn as the log tells it.
type ran struct {
	id         string
	submission string // id of its message
	message    string // content of its message
	policy     string
	attempts   int
	frames     int
	said       int // chunks of the script
	answers    int
	steers     []string
	text       strings.Builder // since the last assistant message
	all        strings.Builder
	messages   int
	open       map[string]bool // requests: open
	stopped    bool
	done       bool // the last frame was chunk done
	outcome    string
	last       *Frame
}

// turns walks the log, turn by turn.
func (c *checker) turns() {
	var now *ran
	byID := map[string]*ran{}
	for _, f := range c.thread.Log {
		t := byID[f.Turn]
		switch {
		case t == nil:
			if now != nil && now.outcome == "" {
				c.found(NoTerminal, "turn %s begins while %s has not ended: %s", f.Turn, now.id, f)
			}
			t = &ran{id: f.Turn, open: map[string]bool{}}
			byID[f.Turn] = t
			c.ran = append(c.ran, t)
			now = t
			if f.Type != "turn_started" {
				c.found(SecondWriter, "turn %s does not begin with turn_started: %s", f.Turn, f)
			}
		case t != now:
			c.found(SecondWriter, "a frame of an earlier turn between those of %s: %s", now.id, f)
		}
		c.frame(t, f)
	}
	for _, t := range c.ran {
		if t.outcome == "" {
			c.found(NoTerminal, "turn %s: its last frame is %s", t.id, t.last)
		}
	}
	if c.thread.Running {
		c.found(LeftRunning, "a turn runs at the end")
	}
}

func (c *checker) frame(t *ran, f *Frame) {
	wasDone := t.done
	t.frames++
	t.done, t.last = false, f
	if t.outcome != "" {
		if f.Type == "turn_finished" {
			c.found(DoubleTerminal, "turn %s ended as %s, then: %s", t.id, t.outcome, f)
		} else {
			c.found(AfterTerminal, "turn %s ended as %s, then: %s", t.id, t.outcome, f)
		}
		return
	}
	switch f.Type {
	case "turn_started":
		c.started(t, f)
	case "chunk":
		c.chunk(t, f)
	case "message":
		c.message(t, f)
	case "request_closed":
		id := f.str("request_id")
		if !t.open[id] {
			c.found(RequestNotClosed, "closed twice, or never opened: %s", f)
		}
		t.open[id] = false
	case "generation_stopped":
		if t.stopped {
			c.found(WrongContent, "turn %s was told twice that it was stopped: %s", t.id, f)
		}
		t.stopped = true
	case "turn_finished":
		t.outcome = f.str("outcome")
		c.finished(t, f, wasDone)
	}
	if key, request := requests[f.Type]; request {
		id := f.str(key)
		if _, there := t.open[id]; there || id == "" {
			c.found(RequestNotClosed, "opened twice: %s", f)
		}
		t.open[id] = true
	}
}

func (c *checker) started(t *ran, f *Frame) {
	attempt, _ := f.Object["attempt"].(float64)
	if int(attempt) != t.attempts+1 {
		c.found(SecondWriter, "turn %s: attempt %v after attempt %d", t.id, attempt, t.attempts)
	}
	t.attempts = int(attempt)
	t.policy = f.str("on_disconnect")
	if m, ok := f.Object["message"].(map[string]any); ok {
		t.submission, _ = m["id"].(string)
		t.message, _ = m["content"].(string)
	}
}

func (c *checker) chunk(t *ran, f *Frame) {
	content := f.str("content")
	if content == "" && f.flag("done") {
		t.done = true
		return
	}
	if t.stopped {
		c.found(WrongContent, "turn %s speaks after it was stopped: %s", t.id, f)
	}
	t.text.WriteString(content)
	t.all.WriteString(content)
	switch {
	case strings.HasPrefix(content, "answer:"):
		t.answers++
		if !json.Valid([]byte(strings.TrimPrefix(content, "answer:"))) {
			c.found(WrongContent, "turn %s: an answer that is no JSON: %s", t.id, f)
		}
	case strings.HasPrefix(content, "steer:"):
		t.steers = append(t.steers, strings.TrimSuffix(strings.TrimPrefix(content, "steer:"), " "))
	default:
		want := c.script(t).chunk(t.said + 1)
		if content != want {
			c.found(WrongContent, "turn %s: chunk %d should be %.60q: %s", t.id, t.said+1, want, f)
		}
		t.said++
	}
}

func (c *checker) message(t *ran, f *Frame) {
	if f.str("role") != "assistant" && f.str("role") != "" {
		return
	}
	t.messages++
	if got := f.str("content"); got != t.text.String() {
		c.found(WrongContent, "turn %s: its message is not what it said (%d bytes, not %d): %s", t.id, len(got), t.text.Len(), f)
	}
	t.text.Reset()
}

// finished checks the end against what the turn said and what happened to it.
func (c *checker) finished(t *ran, f *Frame, done bool) {
	for id, open := range t.open {
		if open {
			c.found(RequestNotClosed, "turn %s ended with %s open: %s", t.id, id, f)
		}
	}
	if done == (t.outcome == "superseded") {
		c.found(WrongContent, "turn %s: chunk done before its end: %v, outcome %s", t.id, done, t.outcome)
	}
	if t.stopped != (t.outcome == "stopped") && !(t.stopped && slices.Contains([]string{"superseded", "owner_lost", "shutdown", "detached"}, t.outcome)) {
		c.found(WrongContent, "turn %s: generation_stopped %v, outcome %s", t.id, t.stopped, t.outcome)
	}
	if t.text.Len() > 0 {
		c.found(WrongContent, "turn %s ended as %s with %d bytes of text in no message", t.id, t.outcome, t.text.Len())
	}
	s := c.script(t)
	if t.outcome == "completed" {
		switch {
		case t.said != s.count():
			c.found(WrongContent, "turn %s completed after %d of %d chunks", t.id, t.said, s.count())
		case t.answers != s.asks():
			c.found(WrongContent, "turn %s completed with %d of %d answers", t.id, t.answers, s.asks())
		case t.messages != 1:
			c.found(WrongContent, "turn %s completed with %d messages", t.id, t.messages)
		}
	}
	c.outcome(t, s, f)
}

// outcome: something in the run explains how the turn ended.
func (c *checker) outcome(t *ran, s spoken, f *Frame) {
	ok := false
	switch t.outcome {
	case "completed":
		ok = s.script == nil || s.script.FailAt == 0
	case "failed":
		ok = s.script != nil && s.script.FailAt > 0 && t.said == s.script.FailAt-1
	case "stopped":
		ok = c.thread.Stops > 0
	case "superseded":
		ok = len(c.thread.Submissions) > 1
	case "detached":
		ok = t.policy != "preserve"
	case "owner_lost":
		ok = len(c.history.Lethal) > 0
	case "shutdown":
		ok = c.history.Drained
	}
	if !ok {
		c.found(WrongOutcome, "turn %s (policy %s, %d chunks said): %s", t.id, t.policy, t.said, f)
	}
}
