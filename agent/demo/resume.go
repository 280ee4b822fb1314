package demo

import (
	"encoding/json"
	"strings"

	"turnlog/agent"
	"turnlog/frame"
)

const (
	answerMark = "answer:"
	steerMark  = "steer:"

	// maxAsides is what a checkpoint has room for; see agent.MaxCheckpoint.
	maxAsides = 32 << 10
)

// progress is how far a turn has come, and what a checkpoint holds.
type progress struct {
	Said    int     `json:"said"`             // chunks of the script
	Asked   int     `json:"asked,omitempty"`  // requests whose answer was repeated
	Asides  []aside `json:"asides,omitempty"` // chunks that the script does not foresee
	size    int
	hasText bool // an assistant message is already in the log
}

// aside is a chunk said between chunk After of the script and the next one.
type aside struct {
	After int    `json:"after"`
	Text  string `json:"text"`
}

func (p *progress) add(text string) {
	if strings.HasPrefix(text, answerMark) {
		p.Asked++
	}
	p.size += len(text) + 32
	if p.size <= maxAsides {
		p.Asides = append(p.Asides, aside{p.Said, text})
	}
}

// recall finds out how far the earlier attempts came: the frames that are still
// held count, the checkpoint stands in for those that are not.
func (s *script) recall(info agent.Info) progress {
	var saved progress
	if info.Attempt <= 1 || (len(info.Checkpoint) == 0 && len(info.Emitted) == 0) {
		return saved
	}
	if len(info.Checkpoint) > 0 && json.Unmarshal(info.Checkpoint, &saved) != nil {
		saved = progress{}
	}
	saved.Said = min(max(saved.Said, 0), s.count)
	contents, whole, hasText := said(info.Emitted)
	if whole {
		p, _ := s.follow(progress{}, contents)
		p.hasText = hasText
		return p
	}
	// Old frames were trimmed. Find where the held ones start: at the earliest
	// place that explains them and is not behind the checkpoint when they are through.
	for start := range s.count + 1 {
		p, ok := s.follow(progress{Said: start}, contents)
		if !ok || p.Said < saved.Said {
			continue
		}
		before := progress{Said: start}
		missing := -leading(p.Asides, start)
		for _, a := range saved.Asides {
			if a.After == start {
				missing++
			}
		}
		for _, a := range saved.Asides {
			switch {
			case a.After > start, a.After == start && missing <= 0:
				continue
			case a.After == start:
				missing--
			}
			before.Said = a.After
			before.add(a.Text)
		}
		before.Said = start
		p, _ = s.follow(before, contents)
		p.Asked = max(p.Asked, saved.Asked)
		p.hasText = hasText
		return p
	}
	return saved
}

// leading counts the asides right behind chunk start.
func leading(asides []aside, start int) (n int) {
	for n < len(asides) && asides[n].After == start {
		n++
	}
	return n
}

// follow walks chunks from p on; false when one of them does not fit.
func (s *script) follow(p progress, contents []string) (progress, bool) {
	var buf []byte
	for _, c := range contents {
		if p.Said < s.count {
			if buf = s.say(buf[:0], p.Said+1); string(buf) == c {
				p.Said++
				continue
			}
		}
		if !strings.HasPrefix(c, answerMark) && !strings.HasPrefix(c, steerMark) {
			return p, false
		}
		p.add(c)
	}
	return p, true
}

// said returns the contents of the chunks among frames, whether the first frame
// of the turn is still there, and whether its assistant message is.
func said(frames []json.RawMessage) (contents []string, whole, hasText bool) {
	for i, f := range frames {
		switch typ, _ := frame.Type(f); typ {
		case "turn_started":
			if n, _ := frame.Raw(f, "attempt"); i == 0 && string(n) == "1" {
				whole = true
			}
		case "chunk":
			if content, _ := frame.String(f, "content"); content != "" {
				contents = append(contents, content)
			}
		case "message":
			hasText = true
		}
	}
	return contents, whole, hasText
}
