package doctor

import (
	"strconv"
	"strings"
	"time"
)

// Facts are what Collect found. The zero value of most fields means: not known.
type Facts struct {
	Unreachable string // why Redis does not answer; "" = it does

	Info   map[string]string // fields of INFO, nil = it is refused
	Config map[string]string // of CONFIG GET, nil = it is refused

	Pings  []time.Duration // round trips, sorted; those that failed are not among them
	Failed int             // pings without an answer

	Clock Clock  // of this machine
	Node  *Clock // of a node that was asked, nil = none was

	Rights    []Right
	Subscribe string // why no channel can be subscribed; "" = it works
	Eval      string // why no script runs; "" = it works
	Scripts   int    // the log's scripts
	Loaded    int    // of these, those that Redis has; -1 = not known

	Sentinels  int64 // that watch this server
	Databases  int   // with keys in them
	Partitions Partitions
	Fleet      Fleet
}

// Clock is how far a clock is ahead of Redis.
type Clock struct {
	Name  string
	Ahead time.Duration
	Give  time.Duration // give or take
	Error string        // why it is not known
}

// Right is whether Redis lets this user call a command.
type Right struct {
	Command  string
	Refused  string // Redis's answer; "" = it may
	Optional bool   // nodes run without it
}

// Partitions are how the log was created, and how a node with this configuration would.
type Partitions struct {
	Stored     int    // 0 = no node has ever used this Redis
	Configured int    // of the settings
	Explicit   bool   // the setting was given, and is not only the default
	Error      string // the data has another format
}

// Fleet is who uses this Redis.
type Fleet struct {
	Known    bool
	Alive    int
	Late     int // leases that are past
	Versions []string
	Leader   string // node that leads the reaper, "" = nobody
}

// text is a field of INFO.
func (f Facts) text(field string) string { return f.Info[field] }

// number is a field of INFO that is a number, 0 where it is missing.
func (f Facts) number(field string) int64 {
	n, _ := strconv.ParseInt(f.Info[field], 10, 64)
	return n
}

// setting is a value of CONFIG GET as a number; ok is false where it is not known.
func (f Facts) setting(name string) (n int64, ok bool) {
	n, err := strconv.ParseInt(f.Config[name], 10, 64)
	return n, err == nil
}

// parseInfo reads the answer to INFO.
func parseInfo(text string) map[string]string {
	fields := map[string]string{}
	for line := range strings.Lines(text) {
		if name, value, found := strings.Cut(strings.TrimSpace(line), ":"); found && !strings.HasPrefix(name, "#") {
			fields[name] = value
		}
	}
	return fields
}
