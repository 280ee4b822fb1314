package chaos

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	"turnlog/chaos/verify"
)

// Nodes is how many nodes a run has.
const Nodes = 3

// Size says how much a generated schedule holds.
type Size struct {
	Length           time.Duration // of the storm
	Threads, Viewers int           // viewers includes one per thread who also speaks
}

// Schedule is everything that will be done, and when, from the start of the storm.
type Schedule struct {
	Seed      uint64
	Length    time.Duration
	Lease     time.Duration
	Heartbeat time.Duration
	Grace     time.Duration
	OwnerLost string // turn.on_owner_lost
	Viewers   []ViewerPlan
	Faults    []Fault
	Cuts      []int64 // after so many bytes connection n (modulo their number) is cut; negative = never
}

// ViewerPlan is one viewer of one thread, and what it says if it speaks.
type ViewerPlan struct {
	Name         string
	User, Thread string
	Client       bool // uses the public client package
	Lives        []Life
	Acts         []Act
}

// Life is one connection: where, how long it lasts, and how long the viewer stays away after it.
type Life struct {
	Node       int
	Stay, Away time.Duration
	Fresh      bool // without a cursor
	Goodbye    bool // closes instead of vanishing
}

// Verb of an Act.
type Verb string

// The verbs.
const (
	Say       Verb = "say"
	Stop      Verb = "stop"
	Steer     Verb = "steer"
	SetPolicy Verb = "set_policy"
)

// Act is a command of a viewer.
type Act struct {
	At     time.Duration
	Verb   Verb
	ID     string
	Busy   string
	Policy string
	Script verify.Script
}

// FaultKind names a fault.
type FaultKind string

// The faults. Kill, Term, Pause, Isolate, CutRedis, DropReplies, DropPublished and Slow hit one
// node; Outage, Refusal and ScriptFlush all of them; the last three a node's viewers.
const (
	Kill          FaultKind = "kill -9, restart"
	Term          FaultKind = "SIGTERM, restart"
	Pause         FaultKind = "SIGSTOP, SIGCONT"
	Isolate       FaultKind = "no way to Redis"
	CutRedis      FaultKind = "Redis connections cut"
	DropReplies   FaultKind = "Redis replies lost"
	DropPublished FaultKind = "published messages lost"
	Slow          FaultKind = "slow way to Redis"
	Outage        FaultKind = "Redis silent for all"
	Refusal       FaultKind = "Redis refuses all"
	ScriptFlush   FaultKind = "SCRIPT FLUSH"
	CutSockets    FaultKind = "sockets cut"
	HalfOpen      FaultKind = "sockets half open"
	HoldSockets   FaultKind = "sockets silent"
)

// Fault is one fault.
type Fault struct {
	At   time.Duration
	For  time.Duration
	Kind FaultKind
	Node int
	Rate float64 // of lost replies or messages
}

func (f Fault) end() time.Duration { return f.At + f.For }

func (s *Schedule) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "seed %d: %v, lease %v, heartbeat %v, grace %v, owner lost: %s, %d viewers\n", s.Seed, s.Length, s.Lease, s.Heartbeat, s.Grace, s.OwnerLost, len(s.Viewers))
	for _, f := range s.Faults {
		fmt.Fprintf(&b, "  %6.2fs for %5.2fs  %s", f.At.Seconds(), f.For.Seconds(), f.Kind)
		if f.Kind != Outage && f.Kind != Refusal && f.Kind != ScriptFlush {
			fmt.Fprintf(&b, ", node %d", f.Node)
		}
		if f.Rate > 0 {
			fmt.Fprintf(&b, ", %.0f %%", 100*f.Rate)
		}
		b.WriteByte('\n')
	}
	return b.String()
}

// Plans prints what the viewers of one thread ("user/thread") do.
func (s *Schedule) Plans(thread string) string {
	var b strings.Builder
	for _, v := range s.Viewers {
		if v.User+"/"+v.Thread != thread {
			continue
		}
		fmt.Fprintf(&b, "  %s:", v.Name)
		for _, a := range v.Acts {
			fmt.Fprintf(&b, " %.2fs %s", a.At.Seconds(), a.Verb)
			if a.Verb == Say {
				script, _ := json.Marshal(a.Script)
				fmt.Fprintf(&b, "(%s %s %s %s)", a.ID, a.Busy, a.Policy, script)
			}
		}
		b.WriteByte('\n')
	}
	return b.String()
}

// dice is a seeded source with words for what is drawn.
type dice struct{ *rand.Rand }

func newDice(seed, stream uint64) dice { return dice{rand.New(rand.NewPCG(seed, stream))} }

func (d dice) between(from, to time.Duration) time.Duration {
	return from + time.Duration(d.Int64N(int64(to-from)+1))
}

func (d dice) one(of ...string) string { return of[d.IntN(len(of))] }

func (d dice) chance(p float64) bool { return d.Float64() < p }
