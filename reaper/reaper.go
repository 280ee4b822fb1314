package reaper

import (
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"sync/atomic"
	"time"

	"turnlog/eventlog"
)

// Membership is what the reaper needs to know and say about nodes.
type Membership interface {
	LeadReaper(ctx context.Context, node string, term int64) (newTerm int64, leads bool, err error)
	Nodes(ctx context.Context) ([]eventlog.NodeState, error)
	DeclareDead(ctx context.Context, node string) (bool, error)
	Bury(ctx context.Context, node string) ([]eventlog.Thread, error)
}

// Deadlines is how the reaper finds and ends turns.
type Deadlines interface {
	DueThreads(ctx context.Context, limit int) ([]eventlog.Thread, error)
	Reap(ctx context.Context, r eventlog.Reap) (eventlog.Reaped, error)
	Frames(ctx context.Context, t eventlog.Thread, after, until int64, limit, maxBytes int) ([]eventlog.StoredFrame, error)
}

// Log is the part of eventlog.Log that a reaper uses.
type Log interface {
	Membership
	Deadlines
	Sweeper
}

var _ Log = (*eventlog.Log)(nil)

// Metrics counts what was done. Implementations must be safe for concurrent use.
type Metrics interface {
	NodeBuried()
	TurnReaped(outcome eventlog.Outcome)
	RequestExpired()
}

// Options of a Reaper. Zero values mean the defaults.
type Options struct {
	// Node names this node at this moment: a node that was declared dead
	// goes on under a new id. Required.
	Node func() string

	// Trust tells whether this node may act on the absence of others. Required.
	Trust *Trust

	Tick      time.Duration // pause between looks (default 500 ms), jittered by a tenth
	Sweep     time.Duration // pause between sweeps over all running turns (default 1 min); longer than the lease
	Batch     int           // due threads per partition and look (default 128)
	TextLimit int           // bytes of partial text kept (default 512 KiB)

	Logger  *slog.Logger // default: discards
	Metrics Metrics      // default: none
}

func (o Options) withDefaults() Options {
	if o.Tick == 0 {
		o.Tick = 500 * time.Millisecond
	}
	if o.Sweep == 0 {
		o.Sweep = time.Minute
	}
	if o.Batch == 0 {
		o.Batch = 128
	}
	if o.TextLimit == 0 {
		o.TextLimit = 512 << 10
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.Metrics == nil {
		o.Metrics = noMetrics{}
	}
	return o
}

func (o Options) validate() error {
	switch {
	case o.Node == nil:
		return fmt.Errorf("reaper: Options.Node is required")
	case o.Trust == nil:
		return fmt.Errorf("reaper: Options.Trust is required")
	case o.Tick < 0 || o.Sweep < 0 || o.Batch < 0 || o.TextLimit < 0:
		return fmt.Errorf("reaper: Tick, Sweep, Batch and TextLimit must not be negative")
	}
	return nil
}

type noMetrics struct{}

func (noMetrics) NodeBuried()                 {}
func (noMetrics) TurnReaped(eventlog.Outcome) {}
func (noMetrics) RequestExpired()             {}

// Reaper is one node's candidate for the leading reaper.
type Reaper struct {
	log  Log
	opt  Options
	term int64
	node string // under which the term was given

	swept    time.Time // start of the last sweep
	suspects map[eventlog.Orphan]bool

	leads atomic.Bool
	done  *tally
}

// Leads reports whether this node led at its last look. Safe for concurrent use.
func (r *Reaper) Leads() bool { return r.leads.Load() }

// New returns a Reaper; Run does the work.
func New(log Log, o Options) (*Reaper, error) {
	if err := o.validate(); err != nil {
		return nil, err
	}
	o = o.withDefaults()
	done := newTally(o.Metrics)
	o.Metrics = done
	return &Reaper{log: log, opt: o, done: done}, nil
}

// Run looks again and again until ctx ends. It always returns nil: a failed
// look is logged once per kind of failure and tried again.
func (r *Reaper) Run(ctx context.Context) error {
	var last string
	for {
		err := r.RunOnce(ctx)
		switch {
		case ctx.Err() != nil:
			return nil
		case err == nil:
			last = ""
		case err.Error() != last:
			last = err.Error()
			r.opt.Logger.Warn("reaper look failed", slog.Any("error", err))
		}
		pause := r.opt.Tick + rand.N(r.opt.Tick/5+1) - r.opt.Tick/10
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(pause):
		}
	}
}

// RunOnce makes one look: nothing unless this node leads. Not for concurrent use.
func (r *Reaper) RunOnce(ctx context.Context) error {
	leads, err := r.lead(ctx)
	if err == nil && leads {
		err = r.round(ctx)
	}
	r.done.looked(leads, err)
	return err
}

// round does the work of a reaper that leads.
func (r *Reaper) round(ctx context.Context) error {
	nodes, err := r.log.Nodes(ctx)
	if err != nil {
		return err
	}
	if err := r.buryNodes(ctx, nodes); err != nil {
		return err
	}
	if err := r.sweep(ctx, nodes); err != nil {
		return err
	}
	due, err := r.log.DueThreads(ctx, r.opt.Batch)
	if err != nil {
		return err
	}
	return r.reapAll(ctx, due)
}

func (r *Reaper) lead(ctx context.Context) (bool, error) {
	node := r.opt.Node()
	if node != r.node { // the term belonged to an id that is no more
		r.node, r.term = node, 0
	}
	term, leads, err := r.log.LeadReaper(ctx, node, r.term)
	r.leads.Store(leads && err == nil)
	if err != nil {
		return false, fmt.Errorf("lead: %w", err)
	}
	if leads && term != r.term {
		r.term = term
		r.opt.Logger.Info("reaper leads", slog.String("node", node), slog.Int64("term", term))
	}
	if !leads {
		r.term = 0
	}
	return leads, nil
}
