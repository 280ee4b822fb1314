package bench

import (
	"bytes"
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"
)

const (
	detachedThreads = 10_000           // turns by default
	detachedFor     = time.Minute      // long enough for a sweep of the reaper and two reconciliations
	threadsPerUser  = 16               // and so per connection
	detachDeadline  = time.Minute      // for the turns to begin waiting, to be detached, to end
	quiet           = 15 * time.Second // a node that just started leads and sweeps by then
)

// crowd is the turns that nobody watches.
type crowd struct {
	options Options
	store   *store
	node    *node
	run     int64
}

// runDetached measures a node that has nothing to do, then the same node with
// turns that wait while nobody watches, half of them preserved and half in their grace.
func runDetached(ctx context.Context, o Options, result *Result) error {
	s, err := openStore(ctx, o.Redis)
	if err != nil {
		return err
	}
	defer s.close()
	nodes, err := openNodes(ctx, o, s.url, 1, "--disconnect.grace", "24h")
	if err != nil {
		return err
	}
	defer endNodes(nodes)
	result.Versions["redis"] = s.info(ctx, "server")["redis_version"]
	result.Parameters["threads"], result.Parameters["seconds"] = o.Threads, o.Duration.Seconds()
	c := &crowd{options: o, store: s, node: nodes[0], run: time.Now().UnixNano()}

	o.Progress(fmt.Sprintf("measuring without turns for %s", o.Duration))
	idle, _, err := c.measure(ctx)
	if err != nil {
		return err
	}
	began := time.Now()
	o.Progress(fmt.Sprintf("starting %d turns and leaving them", o.Threads))
	if err := c.each(ctx, c.begin); err != nil {
		return err
	}
	if err := c.await(ctx, o.Threads, "detached"); err != nil {
		return err
	}
	result.Figures["started_turns_per_second"] = float64(o.Threads) / time.Since(began).Seconds()
	o.Progress(fmt.Sprintf("measuring with %d detached turns for %s", o.Threads, o.Duration))
	busy, commands, err := c.measure(ctx)
	if err != nil {
		return err
	}
	if err := c.await(ctx, o.Threads, "detached"); err != nil {
		return fmt.Errorf("after the measurement: %w", err)
	}
	busy["turns"] = float64(o.Threads)
	result.Steps = []map[string]float64{idle, busy}
	result.Commands = commands
	c.compare(result, idle, busy)

	o.Progress("stopping the turns")
	began = time.Now()
	if err := c.each(ctx, c.stop); err != nil {
		return err
	}
	if err := c.await(ctx, 0, "running"); err != nil {
		return err
	}
	result.Figures["stopped_turns_per_second"] = float64(o.Threads) / time.Since(began).Seconds()
	return nil
}

// measure looks at node and Redis for a while, after giving them time to
// settle. The commands are per second, by name, those that scripts call included.
func (c *crowd) measure(ctx context.Context) (step, commands map[string]float64, err error) {
	if err := pass(ctx, min(quiet, c.options.Duration), nil); err != nil {
		return nil, nil, err
	}
	pids := map[string]int{"node": c.node.pid, "redis": c.store.pid}
	redis, cpu, began := c.store.counters(ctx), cpuOf(pids), time.Now()
	if err := pass(ctx, c.options.Duration, nil); err != nil {
		return nil, nil, err
	}
	after, used, seconds := c.store.counters(ctx), cpuOf(pids), time.Since(began).Seconds()
	commands = after.since(redis, seconds)
	step = map[string]float64{
		"turns":                 0,
		"script_calls_per_s":    0,
		"redis_bytes_per_s":     (after.in + after.out - redis.in - redis.out) / seconds,
		"node_cpu_ms_per_s":     (used["node"] - cpu["node"]) * 1000 / seconds,
		"redis_cpu_ms_per_s":    (used["redis"] - cpu["redis"]) * 1000 / seconds,
		"node_resident_mib":     memoryKB(c.node.pid, "VmRSS") / 1024,
		"redis_used_memory_mib": c.store.info(ctx, "memory").number("used_memory") / (1 << 20),
	}
	for name, perSecond := range commands {
		step["redis_commands_per_s"] += perSecond
		if name == "eval" || name == "evalsha" {
			step["script_calls_per_s"] += perSecond
		}
	}
	return step, commands, nil
}

func (c *crowd) compare(result *Result, idle, busy map[string]float64) {
	turns := float64(c.options.Threads)
	more := func(key string) float64 { return busy[key] - idle[key] }
	result.Figures["redis_commands_per_turn_and_minute"] = more("redis_commands_per_s") * 60 / turns
	result.Figures["script_calls_per_turn_and_minute"] = more("script_calls_per_s") * 60 / turns
	result.Figures["node_cpu_us_per_turn_and_minute"] = more("node_cpu_ms_per_s") * 1000 * 60 / turns
	result.Figures["node_resident_kib_per_turn"] = more("node_resident_mib") * 1024 / turns
	result.Figures["redis_kib_per_turn"] = more("redis_used_memory_mib") * 1024 / turns
}

// begin starts the turns of one user over one connection and leaves. Each says
// one chunk and then waits: for an approval, or for nothing. They are paced,
// because an unpaced demo agent keeps 16 KiB for its next chunks.
func (c *crowd) begin(ctx context.Context, user string, first, count int) error {
	v, err := dial(ctx, c.node.url, user, true, nil)
	if err != nil {
		return err
	}
	defer v.close()
	for i := range count {
		data := map[string]any{"thread_id": threadOf(first + i), "content": "go", "on_disconnect": "preserve"}
		data["demo"] = map[string]any{"frames": 2, "interval_ms": 1, "bytes": c.options.Bytes, "approval": map[string]any{"tool_name": "wait", "at": 2}}
		if (first+i)%2 == 1 {
			data["on_disconnect"] = "grace"
			data["demo"] = map[string]any{"frames": 2, "interval_ms": 1, "bytes": c.options.Bytes, "hang_at": 2}
		}
		if _, err := v.command(ctx, "chat_message", data); err != nil {
			return err
		}
	}
	return nil
}

func (c *crowd) stop(ctx context.Context, user string, first, count int) error {
	v, err := dial(ctx, c.node.url, user, true, nil)
	if err != nil {
		return err
	}
	defer v.close()
	for i := range count {
		if _, err := v.command(ctx, "stop", map[string]any{"thread_id": threadOf(first + i)}); err != nil {
			return err
		}
	}
	return nil
}

// await asks each user's list until as many turns are there as wanted: running, or detached.
func (c *crowd) await(ctx context.Context, want int, how string) error {
	ctx, cancel := context.WithTimeoutCause(ctx, detachDeadline, fmt.Errorf("not %d turns were %s within %s", want, how, detachDeadline))
	defer cancel()
	key := []byte(`"type":"chat_turn_active"`)
	if how == "detached" {
		key = []byte(`"detached":true`)
	}
	for {
		var seen atomic.Int64
		err := c.each(ctx, func(ctx context.Context, user string, _, _ int) error {
			n, err := c.list(ctx, user, key)
			seen.Add(int64(n))
			return err
		})
		switch {
		case ctx.Err() != nil:
			return fmt.Errorf("%w: %d of them", context.Cause(ctx), seen.Load())
		case err != nil:
			return err
		case int(seen.Load()) == want:
			return nil
		}
		if err := pass(ctx, 100*time.Millisecond, nil); err != nil {
			return fmt.Errorf("%w: %d of them", err, seen.Load())
		}
	}
}

// list counts what list_chat_turns says of key.
func (c *crowd) list(ctx context.Context, user string, key []byte) (n int, err error) {
	v, err := dial(ctx, c.node.url, user, true, nil)
	if err != nil {
		return 0, err
	}
	defer v.close()
	if err := v.send(ctx, "list_chat_turns", nil); err != nil {
		return 0, err
	}
	for {
		message, err := v.next(ctx)
		if err != nil {
			return 0, err
		}
		n += bytes.Count(message, key)
		if acknowledgement(message) != nil {
			return n, nil
		}
	}
}

// each runs f for every user, some at a time.
func (c *crowd) each(ctx context.Context, f func(ctx context.Context, user string, first, count int) error) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(atOnce)
	for first := 0; first < c.options.Threads; first += threadsPerUser {
		user := fmt.Sprintf("bench-%d-%d", c.run, first/threadsPerUser)
		group.Go(func() error { return f(ctx, user, first, min(threadsPerUser, c.options.Threads-first)) })
	}
	return group.Wait()
}

func threadOf(i int) string { return fmt.Sprintf("bench-%d", i%threadsPerUser) }
