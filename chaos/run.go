package chaos

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"turnlog/chaos/verify"
)

// Options say how to run a schedule.
type Options struct {
	Binary string // of turnlog
	Dir    string // scratch
	Raced  bool   // the binary has the race detector: it needs more memory
	Log    func(format string, args ...any)
}

// patience bounds. The design gives a node 30 s between two looks for turns that it
// does not run and viewers it does not have, and two looks to be sure.
const (
	settlePatience  = 75 * time.Second
	arrivePatience  = 20 * time.Second
	restPatience    = 75 * time.Second
	speechPatience  = 45 * time.Second
	healingPatience = 60 * time.Second
)

// viewer is what both kinds of viewers do.
type viewer interface {
	live(ctx context.Context)
	quiet() bool
}

// run is one run of a schedule.
type run struct {
	schedule *Schedule
	options  Options
	cluster  *cluster
	book     *book
	pens     []*pen
	calm     context.Context // done when the storm is over

	mu  sync.Mutex
	err error
}

// fail notes why the run itself went wrong, which is not a finding.
func (r *run) fail(err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.err = errors.Join(r.err, err)
}

// Record is a judged run.
type Record struct {
	History  *verify.History
	Findings []verify.Finding

	// Evidence is what the nodes logged about a thread ("user/thread").
	Evidence func(thread string) string
}

// Run carries out a schedule and judges what happened. The error says that the run
// itself was not possible. It blocks for the length of the storm and for what it takes
// to settle, at most some four minutes more.
func Run(ctx context.Context, s *Schedule, o Options) (*Record, error) {
	c, err := startCluster(o.Binary, o.Dir, s)
	if err != nil {
		return nil, err
	}
	defer c.close()
	calm, calmDown := context.WithCancel(ctx)
	defer calmDown()
	r := &run{schedule: s, options: o, cluster: c, book: newBook(s), calm: calm}
	history := &verify.History{Threads: r.book.order}

	viewing, leave := context.WithCancel(ctx)
	defer leave()
	start := time.Now()
	var wg sync.WaitGroup
	var viewers []viewer
	for _, plan := range s.Viewers {
		p := r.book.pen(plan)
		r.pens = append(r.pens, p)
		var v viewer = &wireViewer{run: r, pen: p, speaker: newSpeaker(p, start)}
		if plan.Client {
			v = &clientViewer{run: r, pen: p, speaker: newSpeaker(p, start)}
		}
		viewers = append(viewers, v)
		wg.Go(func() { v.live(viewing) })
	}
	st := &storm{cluster: c, schedule: s, start: start}
	st.run(ctx)
	o.Log("storm over after %.1fs", time.Since(start).Seconds())

	healing, cancel := context.WithTimeout(ctx, healingPatience)
	err = c.heal(healing)
	cancel()
	calmDown()
	if err == nil {
		err = r.settle(ctx, viewers, &history.Left)
		o.Log("settled after %.1fs", time.Since(start).Seconds())
	}
	leave()
	wg.Wait()
	if err == nil {
		err = r.rest(ctx, &history.Left)
		o.Log("at rest after %.1fs", time.Since(start).Seconds())
	}
	r.mu.Lock()
	err = errors.Join(err, r.err)
	r.mu.Unlock()
	if err != nil {
		return nil, fmt.Errorf("chaos run: %w", err)
	}
	declared := c.declared(s.Lease)
	o.Log("%d times a node was declared dead and came back", len(declared))
	history.Lethal, history.Drained = append(st.lethal, declared...), st.drained
	return &Record{History: history, Findings: verify.Check(history), Evidence: c.mentions}, nil
}
