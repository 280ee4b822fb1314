package doctor

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"turnlog/eventlog"
)

// Options say how to look. Partitions and Explicit are those of the configuration.
type Options struct {
	Pings      int           // default 50
	Timeout    time.Duration // of each command, default 5 s
	Partitions int           // default 64
	Explicit   bool
}

func (o Options) withDefaults() Options {
	if o.Pings <= 0 {
		o.Pings = 50
	}
	if o.Timeout <= 0 {
		o.Timeout = 5 * time.Second
	}
	if o.Partitions <= 0 {
		o.Partitions = 64
	}
	return o
}

// collector gathers facts, one after the other.
type collector struct {
	rdb   *redis.Client
	o     Options
	facts Facts
}

// Collect asks Redis, and only reads. An error is one of ctx; all others are facts.
func Collect(ctx context.Context, rdb *redis.Client, o Options) (Facts, error) {
	c := &collector{rdb: rdb, o: o.withDefaults()}
	if err := c.bounded(ctx, func(ctx context.Context) error { return rdb.Ping(ctx).Err() }); err != nil {
		c.facts.Unreachable = err.Error()
		return c.facts, ctx.Err()
	}
	for _, look := range []func(context.Context){c.info, c.config, c.pings, c.clock, c.rights, c.scripts, c.subscribe, c.sentinels, c.fleet} {
		if look(ctx); ctx.Err() != nil {
			return c.facts, ctx.Err()
		}
	}
	return c.facts, nil
}

// bounded makes one call with the timeout of a command.
func (c *collector) bounded(ctx context.Context, call func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, c.o.Timeout)
	defer cancel()
	return call(ctx)
}

func (c *collector) info(ctx context.Context) {
	_ = c.bounded(ctx, func(ctx context.Context) error { // refused is a fact, too
		text, err := c.rdb.Info(ctx).Result()
		if err == nil {
			c.facts.Info = parseInfo(text)
		}
		return err
	})
	for name := range c.facts.Info {
		if number, found := strings.CutPrefix(name, "db"); found && number != "" && strings.Trim(number, "0123456789") == "" {
			c.facts.Databases++
		}
	}
}

// settings are the values of CONFIG that are judged.
var settings = []string{
	"appendfsync", "save", "stop-writes-on-bgsave-error", "maxmemory-policy", "client-output-buffer-limit",
	"stream-node-max-entries", "stream-node-max-bytes", "proto-max-bulk-len", "maxclients",
}

func (c *collector) config(ctx context.Context) {
	_ = c.bounded(ctx, func(ctx context.Context) error {
		for _, name := range settings {
			values, err := c.rdb.ConfigGet(ctx, name).Result()
			if err != nil {
				return err
			}
			if c.facts.Config == nil {
				c.facts.Config = map[string]string{}
			}
			for key, value := range values {
				c.facts.Config[key] = value
			}
		}
		return nil
	})
}

func (c *collector) pings(ctx context.Context) {
	for range c.o.Pings {
		begin := time.Now()
		err := c.bounded(ctx, func(ctx context.Context) error { return c.rdb.Ping(ctx).Err() })
		switch {
		case ctx.Err() != nil:
			return
		case err != nil:
			c.facts.Failed++
		default:
			c.facts.Pings = append(c.facts.Pings, time.Since(begin))
		}
	}
	slices.Sort(c.facts.Pings)
}

// clock compares clocks by the quickest of a few answers.
func (c *collector) clock(ctx context.Context) {
	c.facts.Clock = Clock{Name: "this machine"}
	var quickest time.Duration
	for range 5 {
		begin := time.Now()
		var redisNow time.Time
		err := c.bounded(ctx, func(ctx context.Context) (err error) {
			redisNow, err = c.rdb.Time(ctx).Result()
			return err
		})
		took := time.Since(begin)
		if err != nil {
			c.facts.Clock.Error = err.Error()
			return
		}
		if quickest == 0 || took < quickest {
			quickest = took
			c.facts.Clock.Ahead, c.facts.Clock.Give = begin.Add(took/2).Sub(redisNow), took/2+time.Millisecond
		}
	}
}

func (c *collector) scripts(ctx context.Context) {
	_ = c.bounded(ctx, func(ctx context.Context) error {
		if err := c.rdb.Eval(ctx, "return 1", []string{scratchKey}).Err(); err != nil {
			c.facts.Eval = err.Error()
		}
		return nil
	})
	all := eventlog.Scripts()
	shas := make([]string, len(all))
	for i, s := range all {
		shas[i] = s.SHA
	}
	c.facts.Scripts, c.facts.Loaded = len(all), -1
	_ = c.bounded(ctx, func(ctx context.Context) error {
		exist, err := c.rdb.ScriptExists(ctx, shas...).Result()
		if err != nil {
			return err
		}
		c.facts.Loaded = 0
		for _, loaded := range exist {
			if loaded {
				c.facts.Loaded++
			}
		}
		return nil
	})
}

// scratchChannel is a channel that nobody publishes on.
const scratchChannel = "turnlog:node:doctor"

func (c *collector) subscribe(ctx context.Context) {
	err := c.bounded(ctx, func(ctx context.Context) error {
		ps := c.rdb.Subscribe(ctx, scratchChannel)
		defer ps.Close()
		_, err := ps.Receive(ctx)
		return err
	})
	if err != nil {
		c.facts.Subscribe = err.Error()
	}
}

// sentinelChannel is where every Sentinel that watches a server listens.
const sentinelChannel = "__sentinel__:hello"

func (c *collector) sentinels(ctx context.Context) {
	_ = c.bounded(ctx, func(ctx context.Context) error {
		n, err := c.rdb.PubSubNumSub(ctx, sentinelChannel).Result()
		c.facts.Sentinels = n[sentinelChannel]
		return err
	})
}

// fleet reads what the nodes have left about themselves.
func (c *collector) fleet(ctx context.Context) {
	p := &c.facts.Partitions
	p.Configured, p.Explicit = c.o.Partitions, c.o.Explicit
	var err error
	if p.Stored, err = eventlog.StoredPartitions(ctx, c.rdb, c.o.Timeout); err != nil {
		if !strings.Contains(err.Error(), "no node has ever used it") {
			p.Error = err.Error()
			return
		}
		c.facts.Fleet.Known = true
		return
	}
	log, err := eventlog.Open(ctx, c.rdb, eventlog.Options{Partitions: p.Stored, CommandTimeout: c.o.Timeout})
	if err != nil {
		return // the check of what refuses it tells
	}
	defer log.Close()
	nodes, err := log.NodeReports(ctx)
	if err != nil {
		return
	}
	reaper, err := log.Reaper(ctx)
	if err != nil {
		return
	}
	c.facts.Fleet = fleetOf(nodes, reaper.Node)
}

func fleetOf(nodes []eventlog.NodeReport, leader string) Fleet {
	f := Fleet{Known: true, Leader: leader}
	for _, n := range nodes {
		switch n.State() {
		case "alive":
			f.Alive++
		case "late":
			f.Late++
			continue
		default:
			continue
		}
		if v := n.Info.Version; v != "" && !slices.Contains(f.Versions, v) {
			f.Versions = append(f.Versions, v)
		}
	}
	slices.Sort(f.Versions)
	return f
}

// String makes a clock readable in test failures.
func (c Clock) String() string {
	return fmt.Sprintf("%s %s ± %s %s", c.Name, c.Ahead, c.Give, c.Error)
}
