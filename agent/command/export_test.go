package command

// Splitter exposes the splitter to its fuzz target.
type Splitter struct{ s *splitter }

// NewSplitter returns one with small limits.
func NewSplitter(maxObject, maxText int, object func([]byte) (bool, error), text func([]byte) error) *Splitter {
	return &Splitter{&splitter{maxObject: maxObject, maxText: maxText, object: object, text: text}}
}

// Write is splitter.write.
func (s *Splitter) Write(p []byte) error { return s.s.write(p) }

// Flush is splitter.flush.
func (s *Splitter) Flush(final bool) error { return s.s.flush(final) }

// Held is how many bytes it holds back.
func (s *Splitter) Held() int { return len(s.s.buf) }

// NewStderr and its methods expose the log of stderr.
var NewStderr = newStderrLog

// End is stderrLog.end.
func (l *stderrLog) End() string { return l.end() }

// Environment is environment.
var Environment = environment
