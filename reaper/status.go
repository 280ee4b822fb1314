package reaper

import (
	"maps"
	"sync"
	"time"

	"turnlog/eventlog"
)

// Status is what operators see of a node's reaper.
type Status struct {
	Leads    bool      // at its last look
	LastPass time.Time // end of its last round that led and did not fail, by this node's clock; zero = none yet
	Err      error     // of its last look; nil = it did not fail

	// Since the start of this node:
	NodesBuried     int
	TurnsEnded      map[eventlog.Outcome]int
	RequestsExpired int
}

// Status tells how the reaper of this node fares. Safe for concurrent use.
func (r *Reaper) Status() Status {
	s := r.done.read()
	s.Leads = r.Leads()
	return s
}

// tally counts what is done, and passes it on.
type tally struct {
	Metrics
	mu     sync.Mutex
	status Status
}

var _ Metrics = (*tally)(nil)

func newTally(metrics Metrics) *tally {
	return &tally{Metrics: metrics, status: Status{TurnsEnded: make(map[eventlog.Outcome]int)}}
}

// NodeBuried implements Metrics.
func (t *tally) NodeBuried() {
	t.change(func(s *Status) { s.NodesBuried++ })
	t.Metrics.NodeBuried()
}

// TurnReaped implements Metrics.
func (t *tally) TurnReaped(outcome eventlog.Outcome) {
	t.change(func(s *Status) { s.TurnsEnded[outcome]++ })
	t.Metrics.TurnReaped(outcome)
}

// RequestExpired implements Metrics.
func (t *tally) RequestExpired() {
	t.change(func(s *Status) { s.RequestsExpired++ })
	t.Metrics.RequestExpired()
}

// looked notes the end of a look.
func (t *tally) looked(led bool, err error) {
	t.change(func(s *Status) {
		s.Err = err
		if led && err == nil {
			s.LastPass = time.Now()
		}
	})
}

func (t *tally) change(f func(*Status)) {
	t.mu.Lock()
	defer t.mu.Unlock()
	f(&t.status)
}

func (t *tally) read() Status {
	t.mu.Lock()
	defer t.mu.Unlock()
	s := t.status
	s.TurnsEnded = maps.Clone(s.TurnsEnded)
	return s
}
