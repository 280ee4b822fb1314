package agent

import "encoding/json"

// UsageReporter is implemented by turns that pass an agent's token usage on.
type UsageReporter interface {
	// ReportUsage sets what turn_finished has as usage, whatever the turn's
	// outcome: one JSON object of at most MaxUsage bytes. The last call counts.
	ReportUsage(usage json.RawMessage)
}

// MaxUsage is the largest usage in bytes; a larger one is left out.
const MaxUsage = 4 << 10

// ReportUsage reports usage to turn, or to the turn that it decorates (one with
// a method Unwrap() Turn). Turns that cannot pass it on are left alone.
func ReportUsage(turn Turn, usage json.RawMessage) {
	for turn != nil {
		if to, ok := turn.(UsageReporter); ok {
			to.ReportUsage(usage)
			return
		}
		decorator, ok := turn.(interface{ Unwrap() Turn })
		if !ok {
			return
		}
		turn = decorator.Unwrap()
	}
}
