package bench

import (
	"context"
	"fmt"
	"sort"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"
	"github.com/redis/go-redis/v9"

	"turnlog/eventlog"
	"turnlog/frame"
)

const (
	plainLanes    = 2    // connections of the plain side, as the log has lanes
	plainPipeline = 1000 // commands per pipeline
	appendFrames  = 2000 // held per stream, as replay.max_frames does
	loadedThreads = 16   // turns admitted at once
)

// side is one of the two that append compares.
type side struct {
	name   string
	run    func(ctx context.Context, frames int) error
	rates  []float64
	cpu    []float64 // microseconds of Redis per frame
	calls  float64
	frames float64
}

// runAppend measures fenced appends and plain XADD in turns, round by round, and
// compares the medians.
func runAppend(ctx context.Context, o Options, result *Result) error {
	s, err := openStore(ctx, o.Redis)
	if err != nil {
		return err
	}
	defer s.close()
	result.Versions["redis"] = s.info(ctx, "server")["redis_version"]
	result.Parameters["threads"], result.Parameters["bytes"] = o.Threads, o.Bytes
	result.Parameters["frames"], result.Parameters["rounds"] = o.Frames, o.Rounds
	log, err := eventlog.Open(ctx, s.client, eventlog.Options{ReplayMaxFrames: appendFrames})
	if err != nil {
		return err
	}
	defer log.Close()
	payload := frame.Chunk(strings.Repeat("x", o.Bytes))
	writers, clean, err := admit(ctx, log, o)
	defer clean()
	if err != nil {
		return err
	}
	fenced := &side{name: "fenced", run: func(ctx context.Context, n int) error { return emitAll(ctx, writers, payload, n) }}
	plain := &side{name: "plain", run: func(ctx context.Context, n int) error { return addAll(ctx, s.client, o.Threads, payload, n) }}
	defer dropPlain(s.client, o.Threads)
	for round := range o.Rounds {
		for _, one := range []*side{fenced, plain} {
			o.Progress(fmt.Sprintf("round %d: %d frames, %s", round+1, o.Frames, one.name))
			if err := one.measure(ctx, s, o.Frames); err != nil {
				return fmt.Errorf("%s: %w", one.name, err)
			}
		}
	}
	result.Figures["fenced_frames_per_second"], result.Figures["plain_frames_per_second"] = median(fenced.rates), median(plain.rates)
	result.Figures["ratio"] = median(fenced.rates) / median(plain.rates)
	result.Figures["frames_per_call"] = fenced.frames / max(fenced.calls, 1)
	result.CPU = map[string]float64{"redis_fenced": median(fenced.cpu), "redis_plain": median(plain.cpu)}
	return nil
}

func (d *side) measure(ctx context.Context, s *store, frames int) error {
	before, commands, began := cpuSeconds(s.pid), s.counters(ctx), time.Now()
	if err := d.run(ctx, frames); err != nil {
		return err
	}
	took := time.Since(began).Seconds()
	d.rates = append(d.rates, float64(frames)/took)
	d.cpu = append(d.cpu, (cpuSeconds(s.pid)-before)*1e6/float64(frames))
	d.calls += s.counters(ctx).since(commands, 1)["evalsha"]
	d.frames += float64(frames)
	return nil
}

func median(values []float64) float64 {
	sorted := append([]float64(nil), values...)
	sort.Float64s(sorted)
	return sorted[len(sorted)/2]
}

// admit starts a turn on every thread and returns their writers; clean removes
// the threads again.
func admit(ctx context.Context, log *eventlog.Log, o Options) (writers []*eventlog.Writer, clean func(), err error) {
	run := strconv.FormatInt(time.Now().UnixNano(), 36)
	nodeID := "bench-" + run
	threads := make([]eventlog.Thread, o.Threads)
	clean = func() {
		// The run's context may have ended; removing the threads still has to be done.
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Minute)
		defer cancel()
		for _, w := range writers {
			w.Abandon()
		}
		for _, t := range threads {
			if t.ID != "" {
				_, _ = log.Delete(ctx, t)
			}
		}
		_ = log.Resign(ctx, nodeID)
	}
	if alive, err := log.Heartbeat(ctx, nodeID); err != nil || !alive {
		return nil, clean, fmt.Errorf("register as a node: alive %v, %w", alive, err)
	}
	for i := range threads {
		threads[i] = eventlog.Thread{User: fmt.Sprintf("bench-%s-%d", run, i/loadedThreads), ID: strconv.Itoa(i)}
		id, err := uuid.NewV7()
		if err != nil {
			return writers, clean, err
		}
		a, err := log.Begin(ctx, eventlog.Begin{
			Thread: threads[i], Node: nodeID,
			Submission: eventlog.Submission{TurnID: id.String(), Message: []byte(`{"role":"user","content":"go"}`), Policy: eventlog.PolicyPreserve, Headless: true},
		})
		if err != nil {
			return writers, clean, err
		}
		if a.Verdict != eventlog.VerdictStarted {
			return writers, clean, fmt.Errorf("a turn was not admitted: %s", a.Verdict)
		}
		fence := eventlog.Fence{Thread: threads[i], TurnID: a.TurnID, Attempt: a.Attempt, Owner: nodeID}
		writers = append(writers, log.NewWriter(fence, a, eventlog.WriterOptions{}))
	}
	return writers, clean, nil
}

// emitAll lets every turn emit its share as fast as it can, from a goroutine of
// its own, and waits until all of it is in the log.
func emitAll(ctx context.Context, writers []*eventlog.Writer, payload []byte, frames int) error {
	errs := make(chan error, len(writers))
	for i, w := range writers {
		go func() {
			share := frames*(i+1)/len(writers) - frames*i/len(writers)
			for range share {
				if err := w.Emit(ctx, eventlog.Entry{Type: "chunk", Frame: payload}); err != nil {
					errs <- err
					return
				}
			}
			errs <- w.Flush(ctx)
		}()
	}
	var first error
	for range writers {
		if err := <-errs; err != nil && first == nil {
			first = err
		}
	}
	return first
}

func plainKey(thread int) string { return "turnlog-bench:" + strconv.Itoa(thread) }

// addAll is the limit: the same entries by pipelined XADD, without any fence.
func addAll(ctx context.Context, client *redis.Client, threads int, payload []byte, frames int) error {
	keys := make([]string, threads)
	for i := range keys {
		keys[i] = plainKey(i)
	}
	var lanes sync.WaitGroup
	errs := make(chan error, plainLanes)
	for lane := range plainLanes {
		lanes.Go(func() {
			for from := lane * plainPipeline; from < frames; from += plainLanes * plainPipeline {
				pipe := client.Pipeline()
				for i := from; i < min(from+plainPipeline, frames); i++ {
					cmd := redis.NewCmd(ctx, "xadd", keys[i%threads], "maxlen", "~", appendFrames, "*",
						"turn", 1, "type", "chunk", "pos", i*len(payload), "frame", payload)
					_ = pipe.Process(ctx, cmd) // only queues
				}
				if _, err := pipe.Exec(ctx); err != nil {
					errs <- err
					return
				}
			}
		})
	}
	lanes.Wait()
	select {
	case err := <-errs:
		return err
	default:
		return nil
	}
}

func dropPlain(client *redis.Client, threads int) {
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second) // also when the run was interrupted
	defer cancel()
	pipe := client.Pipeline()
	for i := range threads {
		pipe.Unlink(ctx, plainKey(i))
	}
	_, _ = pipe.Exec(ctx)
}
