package bench

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"
)

const (
	// settle is how long a run goes on, at most, before the measurement begins.
	settle = 2 * time.Second
	// atOnce bounds how many connections are made at the same time.
	atOnce = 32
)

// stage is everything that live and saturate need while they run.
type stage struct {
	options Options
	store   *store
	nodes   []*node
	viewers []*viewer // one per thread
	pids    map[string]int
	measure atomic.Bool
}

// runLive measures both live and saturate, which only differ in the agents' pace.
func runLive(ctx context.Context, o Options, result *Result) (err error) {
	s := &stage{options: o}
	if s.store, err = openStore(ctx, o.Redis); err != nil {
		return err
	}
	defer s.store.close()
	count := 1
	if o.Viewers == OtherNode {
		count = 2
	}
	if s.nodes, err = openNodes(ctx, o, s.store.url, count); err != nil {
		return err
	}
	defer endNodes(s.nodes)
	s.describe(ctx, result)
	defer func() {
		for _, v := range s.viewers {
			v.close()
		}
	}()
	return s.play(ctx, result)
}

func (s *stage) describe(ctx context.Context, result *Result) {
	o := s.options
	result.Versions["redis"] = s.store.info(ctx, "server")["redis_version"]
	result.Parameters["threads"], result.Parameters["bytes"] = o.Threads, o.Bytes
	result.Parameters["viewers"], result.Parameters["batch"] = o.Viewers, !o.Unbatched
	result.Parameters["seconds"] = o.Duration.Seconds()
	if o.Workload == Live {
		result.Parameters["rate"] = o.Rate
	}
	s.pids = map[string]int{}
	for i, name := range []string{"owner", "viewer_node"}[:len(s.nodes)] {
		if pid := s.nodes[i].pid; pid > 0 {
			s.pids[name] = pid
		}
	}
	if s.store.pid > 0 {
		s.pids["redis"] = s.store.pid
	}
}

// play connects the viewers, starts the turns, measures for a while and leaves.
func (s *stage) play(ctx context.Context, result *Result) error {
	o := s.options
	run := time.Now().UnixNano()
	user := func(i int) string { return fmt.Sprintf("bench-%d-%d", run, i) }
	o.Progress(fmt.Sprintf("connecting %d viewers", o.Threads))
	viewerNode := s.nodes[len(s.nodes)-1]
	s.viewers = make([]*viewer, o.Threads)
	if err := s.each(ctx, func(ctx context.Context, i int) (err error) {
		if s.viewers[i], err = dial(ctx, viewerNode.url, user(i), !o.Unbatched, &s.measure); err != nil {
			return err
		}
		_, err = s.viewers[i].command(ctx, "follow", map[string]any{"thread_id": "bench"})
		return err
	}); err != nil {
		s.viewers = connected(s.viewers)
		return err
	}

	o.Progress("starting the turns")
	reading, stopReading := context.WithCancel(ctx)
	defer stopReading()
	failures := make(chan error, o.Threads)
	var readers sync.WaitGroup
	defer readers.Wait()
	defer stopReading()
	read := func(v *viewer) {
		readers.Go(func() {
			if err := v.follow(reading); err != nil {
				failures <- err
			}
		})
	}
	if err := s.each(ctx, func(ctx context.Context, i int) error {
		return s.submit(ctx, i, user(i), read)
	}); err != nil {
		return err
	}
	if err := pass(ctx, min(settle, o.Duration), failures); err != nil {
		return err
	}

	o.Progress(fmt.Sprintf("measuring for %s", o.Duration))
	before, cpu, redis, began := s.received(), cpuOf(s.pids), s.store.counters(ctx), time.Now()
	s.measure.Store(true)
	if err := pass(ctx, o.Duration, failures); err != nil {
		return err
	}
	s.measure.Store(false)
	frames, took := float64(s.received()-before), time.Since(began).Seconds()
	result.CPU = cpuOf(s.pids).perFrame(cpu, frames)
	s.redisFigures(ctx, result, redis, frames)
	stopReading()
	readers.Wait()
	s.sum(result, frames, took)
	return nil
}

// submit starts turn i: from its viewer when that is on the owner's node, else
// from a connection of its own that leaves at once.
func (s *stage) submit(ctx context.Context, i int, user string, read func(*viewer)) error {
	v := s.viewers[i]
	submitter, policy := v, "cancel"
	if s.options.Viewers == OtherNode {
		var err error
		if submitter, err = dial(ctx, s.nodes[0].url, user, true, nil); err != nil {
			return err
		}
		defer submitter.close()
		policy = "grace"
	}
	demo := map[string]any{"frames": 100_000_000, "bytes": s.options.Bytes, "stamp": true}
	if s.options.Workload == Live {
		demo["interval_ms"] = 1000 / s.options.Rate
	}
	if submitter != v {
		read(v) // its frames begin to come while the command is on its way
	}
	_, err := submitter.command(ctx, "chat_message", map[string]any{
		"thread_id": "bench", "content": "go", "on_disconnect": policy, "demo": demo,
	})
	if submitter == v && err == nil {
		read(v)
	}
	return err
}

// each runs f for every thread, some at a time.
func (s *stage) each(ctx context.Context, f func(ctx context.Context, i int) error) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(atOnce)
	for i := range s.options.Threads {
		group.Go(func() error { return f(ctx, i) })
	}
	return group.Wait()
}

func (s *stage) received() (n int64) {
	for _, v := range s.viewers {
		n += v.received.Load()
	}
	return n
}

func (s *stage) redisFigures(ctx context.Context, result *Result, before counters, frames float64) {
	after := s.store.counters(ctx)
	thousands := frames / 1000
	result.Commands = after.since(before, thousands)
	result.Figures["redis_in_bytes_per_frame"] = (after.in - before.in) / max(frames, 1)
	result.Figures["redis_out_bytes_per_frame"] = (after.out - before.out) / max(frames, 1)
}

// sum adds up what the viewers saw. They have stopped.
func (s *stage) sum(result *Result, frames, took float64) {
	var all histogram
	var missing, trimmed, repeated, silent float64
	for _, v := range s.viewers {
		all.merge(&v.latency)
		missing += float64(v.missing)
		trimmed += float64(v.trimmed)
		repeated += float64(v.repeated)
		if v.received.Load() == 0 {
			silent++
		}
	}
	result.Latency = all.percentiles()
	result.Figures["delivered_frames_per_second"] = frames / took
	result.Figures["missing_frames"], result.Figures["repeated_frames"] = missing, repeated
	result.Figures["trimmed_frames"], result.Figures["viewers_without_frames"] = trimmed, silent
	if s.options.Workload == Live {
		result.Figures["offered_frames_per_second"] = s.options.Rate * float64(s.options.Threads)
	}
	sum := 0.0
	for _, us := range result.CPU {
		sum += us
	}
	result.CPU["all"] = sum
}

// pass waits, unless a viewer fails meanwhile.
func pass(ctx context.Context, d time.Duration, failures <-chan error) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case err := <-failures:
		return errors.Join(errors.New("a viewer lost its connection"), err)
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func connected(all []*viewer) (open []*viewer) {
	for _, v := range all {
		if v != nil {
			open = append(open, v)
		}
	}
	return open
}
