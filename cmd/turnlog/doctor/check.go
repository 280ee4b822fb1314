package doctor

// Status is how a check came out.
type Status string

// The statuses.
const (
	OK   Status = "ok"
	Warn Status = "warn"
	Fail Status = "fail"
)

// Check is one thing that was looked at.
type Check struct {
	Name   string `json:"name"`
	Status Status `json:"status"`
	Found  string `json:"found"`
	Means  string `json:"means"`        // why it matters
	Do     string `json:"do,omitempty"` // what helps; "" when nothing is wrong
}

// rank orders statuses by severity.
func (s Status) rank() int {
	switch s {
	case Fail:
		return 2
	case Warn:
		return 1
	}
	return 0
}

// ExitCode is 0, 1 or 2 for ok, warn or fail.
func (s Status) ExitCode() int { return s.rank() }

// worse makes the check at least that severe; what to do is added.
func (c *Check) worse(s Status, do string) {
	if s.rank() > c.Status.rank() {
		c.Status = s
	}
	if c.Do != "" {
		c.Do += " "
	}
	c.Do += do
}

// unknown says that the server does not tell.
func (c *Check) unknown(command string) {
	c.Found = "not known: this user may not call " + command
}

// Judge makes checks of facts, in the order in which they are read best.
func Judge(f Facts) []Check {
	if f.Unreachable != "" {
		return []Check{unreachable(f)}
	}
	checks := []Check{
		version(f), topology(f), persistence(f), memory(f), eviction(f), latency(f), clock(f),
		scripts(f), rights(f), pubsub(f), streams(f), clients(f), partitions(f), fleet(f),
	}
	for i := range checks {
		if checks[i].Status == "" {
			checks[i].Status = OK
		}
	}
	return checks
}

// Worst is the severest status of all.
func Worst(checks []Check) Status {
	worst := OK
	for _, c := range checks {
		if c.Status.rank() > worst.rank() {
			worst = c.Status
		}
	}
	return worst
}
