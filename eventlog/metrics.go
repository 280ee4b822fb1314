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
	// Refilled counts holes in the live stream that a range read filled.
	Refilled(frames int)
}

type noMetrics struct{}

var _ Metrics = noMetrics{}

func (noMetrics) Appended(int, int, time.Duration) {}
func (noMetrics) CommandFailed(string)             {}
func (noMetrics) Repaired(string)                  {}
func (noMetrics) Refilled(int)                     {}
