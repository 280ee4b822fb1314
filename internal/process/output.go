package process

import (
	"bytes"
	"fmt"
	"regexp"
	"sync"
	"time"
)

// OutputLimit is how many bytes of an output are kept.
const OutputLimit = 64 << 20

// Output collects what a process writes and wakes whoever waits for a line.
type Output struct {
	limit int

	mu      sync.Mutex
	kept    []byte
	dropped int64 // bytes before kept
	ended   bool  // nothing more comes
	changed chan struct{}
}

func newOutput(limit int) *Output { return &Output{limit: limit, changed: make(chan struct{})} }

// Write implements io.Writer.
func (o *Output) Write(b []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.kept = append(o.kept, b...)
	if over := len(o.kept) - o.limit; over > 0 {
		o.drop(max(over, o.limit/2))
	}
	o.wake()
	return len(b), nil
}

// drop forgets at least n bytes, up to the end of a line when there is one.
func (o *Output) drop(n int) {
	if line := bytes.IndexByte(o.kept[n:], '\n'); line >= 0 {
		n += line + 1
	}
	o.kept = append(o.kept[:0], o.kept[n:]...)
	o.dropped += int64(n)
}

func (o *Output) wake() {
	close(o.changed)
	o.changed = make(chan struct{})
}

// end says that nothing more comes.
func (o *Output) end() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.ended = true
	o.wake()
}

// String is what is kept.
func (o *Output) String() string { return o.Since(0) }

// Mark is the present end of the output, for Since.
func (o *Output) Mark() int64 {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.dropped + int64(len(o.kept))
}

// Since is what was written after a mark and is kept.
func (o *Output) Since(mark int64) string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return string(o.kept[min(max(mark-o.dropped, 0), int64(len(o.kept))):])
}

// Await waits for a match of pattern, and gives up when patience or the process
// has ended.
func (o *Output) Await(patience time.Duration, pattern *regexp.Regexp) ([]string, error) {
	timeout := time.NewTimer(patience)
	defer timeout.Stop()
	for {
		found, ended, changed := o.look(pattern)
		switch {
		case found != nil:
			return found, nil
		case ended:
			return nil, fmt.Errorf("the process ended before %q:\n%s", pattern, o)
		}
		select {
		case <-changed:
		case <-timeout.C:
			return nil, fmt.Errorf("no %q within %v:\n%s", pattern, patience, o)
		}
	}
}

func (o *Output) look(pattern *regexp.Regexp) (found []string, ended bool, changed <-chan struct{}) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, match := range pattern.FindSubmatch(o.kept) {
		found = append(found, string(match))
	}
	return found, o.ended, o.changed
}
