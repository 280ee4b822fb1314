package verify

import "fmt"

// Residue is what was left when everything was over and every viewer had gone.
type Residue struct {
	Unsettled string   // what did not come to rest in time
	Listed    int      // turns that list_chat_turns still told
	Keys      []string // that should be gone, or have no TTL and are not documented
	Channels  []string // subscribed by nobody alive
	Nodes     []Node
}

// Node is the state of a process at the end, and what it complained about.
type Node struct {
	Name       string
	Goroutines int
	RSS        int64 // bytes
	Stacks     string
	Complaints []string
	MaxRSS     int64 // what is still sane
	MaxRoutine int
}

func (r *Residue) check() (out []Finding) {
	add := func(k Kind, format string, args ...any) { out = append(out, Finding{k, fmt.Sprintf(format, args...)}) }
	if r.Unsettled != "" {
		add(LeftRunning, "not settled: %s", r.Unsettled)
	}
	if r.Listed > 0 {
		add(LeftRunning, "list_chat_turns tells of %d turns", r.Listed)
	}
	for _, k := range r.Keys {
		add(LeftBehind, "key %s", k)
	}
	for _, ch := range r.Channels {
		add(LeftBehind, "channel %s", ch)
	}
	for _, n := range r.Nodes {
		if n.Goroutines > n.MaxRoutine {
			add(Unhealthy, "%s has %d goroutines at rest:\n%.6000s", n.Name, n.Goroutines, n.Stacks)
		}
		if n.RSS > n.MaxRSS {
			add(Unhealthy, "%s holds %d MiB at rest", n.Name, n.RSS>>20)
		}
		for _, line := range n.Complaints {
			add(Unhealthy, "%s: %s", n.Name, line)
		}
	}
	return out
}
