package eventlog

import "time"

// Metrics is told what the log does. Implementations must be safe for
// concurrent use and must not block.
type Metrics interface {
	// Appended counts frames that one append call wrote, and its duration.
	Appended(frames, bytes int, took time.Duration)
	// CommandFailed counts failed calls by operation.
	CommandFailed(op string)
	// Repaired counts repairs of a lost tail; how is "tail" or "epoch".
	Repaired(how string)
	// Fenced counts writers that lost their turn to somebody else.
	Fenced()
}

type noMetrics struct{}

var _ Metrics = noMetrics{}

func (noMetrics) Appended(int, int, time.Duration) {}
func (noMetrics) CommandFailed(string)             {}
func (noMetrics) Repaired(string)                  {}
func (noMetrics) Fenced()                          {}
