package verify

import (
	"strings"

	"turnlog/e2e/wire"
)

// spoken is what the demo agent says to a submission.
type spoken struct {
	script *Script
	words  []string // without a script
}

func (c *checker) script(t *ran) spoken {
	for _, s := range c.thread.Submissions {
		if s.ID == t.submission {
			return spoken{script: &s.Script}
		}
	}
	return spoken{words: strings.Fields("Hello! You said: \"" + strings.Join(strings.Fields(t.message), " ") +
		"\". I am the demo agent: there is no model behind me, but I keep talking while you are away. " +
		"Drop the connection, come back, and you will not have missed a word.")}
}

// chunk is the n-th one, "" behind the last.
func (s spoken) chunk(n int) string {
	switch {
	case n > s.count():
		return ""
	case s.script != nil:
		return wire.DemoChunk(n, s.script.Bytes)
	}
	return s.words[n-1] + " "
}

func (s spoken) count() int {
	if s.script != nil {
		return s.script.Frames
	}
	return len(s.words)
}

func (s spoken) asks() (n int) {
	if s.script == nil {
		return 0
	}
	if s.script.Tool != nil {
		n++
	}
	if s.script.Approval != nil {
		n++
	}
	return n
}
