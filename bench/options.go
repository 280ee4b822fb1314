package bench

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

// The workloads.
const (
	Append   = "append"
	Live     = "live"
	Saturate = "saturate"
	Resume   = "resume"
	Detached = "detached"
)

// Workloads are all of them.
var Workloads = []string{Append, Live, Saturate, Resume, Detached}

// Where viewers are.
const (
	SameNode  = "same"
	OtherNode = "other"
)

// Options say what to measure and how much of it. Zero values mean the defaults.
type Options struct {
	Workload string

	Redis string   // URL; default: a redis-server of its own
	Nodes []string // base URLs of running nodes; default: nodes of its own
	// Program is the turnlog binary that own nodes are started from. Required
	// when Nodes is empty, except for append.
	Program string

	Threads   int           // threads at once; default 1,000, detached: 10,000
	Rate      float64       // live: frames per second and thread; default 10
	Bytes     int           // text per frame; default 100
	Duration  time.Duration // live, saturate, detached: length of a measurement; default 10 s, detached: 1 min
	Frames    int           // append: frames per round; default 500,000
	Rounds    int           // append: rounds of both sides; default 3
	Viewers   string        // live, saturate: SameNode or OtherNode (default)
	Missed    []int         // resume: how far behind; default 100, 2,000, 100,000
	Unbatched bool          // viewers do not ask for ?batch=1

	// Progress gets one line per step; nil: none.
	Progress func(string)
}

func (o Options) withDefaults() Options {
	if o.Workload == Detached {
		def(&o.Threads, detachedThreads)
		def(&o.Duration, detachedFor)
	}
	def(&o.Threads, 1000)
	def(&o.Rate, 10)
	def(&o.Bytes, 100)
	def(&o.Duration, 10*time.Second)
	def(&o.Frames, 500_000)
	def(&o.Rounds, 3)
	def(&o.Viewers, OtherNode)
	if len(o.Missed) == 0 {
		o.Missed = []int{100, 2000, 100_000}
	}
	if o.Progress == nil {
		o.Progress = func(string) {}
	}
	return o
}

func def[T comparable](v *T, d T) {
	var zero T
	if *v == zero {
		*v = d
	}
}

func (o Options) validate() error {
	positive := []struct {
		name string
		ok   bool
	}{
		{"threads", o.Threads > 0}, {"rate", o.Rate > 0 && o.Rate <= 1e6}, {"bytes", o.Bytes > 0 && o.Bytes <= 256<<10},
		{"duration", o.Duration >= 100*time.Millisecond}, {"frames", o.Frames > 0}, {"rounds", o.Rounds > 0},
	}
	for _, p := range positive {
		if !p.ok {
			return fmt.Errorf("bench: %s is out of range", p.name)
		}
	}
	for _, n := range o.Missed {
		if n <= 0 || n > 10_000_000 {
			return errors.New("bench: missed is out of range")
		}
	}
	switch {
	case o.Viewers != SameNode && o.Viewers != OtherNode:
		return fmt.Errorf("bench: viewers must be %s or %s, not %q", SameNode, OtherNode, o.Viewers)
	case o.Workload == Append:
	case !slices.Contains(Workloads, o.Workload):
		return fmt.Errorf("bench: there is no workload %q: use one of %s", o.Workload, strings.Join(Workloads, ", "))
	case len(o.Nodes) == 0 && o.Program == "":
		return errors.New("bench: no nodes to measure and no program to start them from")
	case len(o.Nodes) == 1 && (o.Workload == Live || o.Workload == Saturate) && o.Viewers == OtherNode:
		return errors.New("bench: viewers on another node need two nodes: name a second one, or ask for viewers on the same node")
	}
	return nil
}
