package session

// Retry is for the fake log's writer, which must keep trying like the real one.
var Retry = retry

// NewTurnID and Digest are for tests of their form.
var (
	NewTurnID  = newTurnID
	Digest     = digest
	MessageRow = messageRow
	Preferred  = preferred
)

// NudgeAll is what a heartbeat does that succeeds again.
func (s *Service) NudgeAll() { s.nudgeAll() }
