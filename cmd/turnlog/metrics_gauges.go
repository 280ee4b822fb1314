package main

import (
	"context"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"turnlog/embedded"
	"turnlog/eventlog"
)

// gauges are read when somebody scrapes, and cost nothing otherwise.
func (m *metrics) gauges(n *embedded.Node) {
	gauge := func(name, help string, read func() float64) {
		m.registry.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: name, Help: help}, read))
	}
	gauge("turnlog_viewers", "Viewers on this node, one per connection and thread.", func() float64 {
		viewers, _ := n.Hub().Viewers()
		return float64(viewers)
	})
	gauge("turnlog_followed_threads", "Threads that these viewers follow.", func() float64 {
		_, threads := n.Hub().Viewers()
		return float64(threads)
	})
	gauge("turnlog_connections", "Open WebSocket connections.", func() float64 { return float64(n.Sockets().Connections()) })
	gauge("turnlog_reaper_leads", "1 on the node whose reaper leads, else 0.", func() float64 {
		if n.Reaper().Leads() {
			return 1
		}
		return 0
	})
	m.registry.MustRegister(&turnGauges{tally: func() (map[eventlog.Policy]eventlog.Tally, error) { return tally(n) }})
}

// tally counts this node's turns where viewers of all nodes are known: in Redis.
func tally(n *embedded.Node) (map[eventlog.Policy]eventlog.Tally, error) {
	// A scrape has no context of its own here; this bounds it.
	ctx, cancel := context.WithTimeout(context.Background(), tallyTimeout)
	defer cancel()
	return n.Log().TallyTurns(ctx, n.Sessions().Node())
}

const (
	tallyTimeout = 2 * time.Second
	tallyEvery   = 5 * time.Second // however often somebody scrapes
)

var (
	runningDesc  = prometheus.NewDesc("turnlog_turns_running", "Running turns that this node owns, by policy; absent while Redis does not answer.", []string{"policy"}, nil)
	detachedDesc = prometheus.NewDesc("turnlog_turns_detached", "Of these, turns that nobody watches on any node.", []string{"policy"}, nil)
)

// turnGauges counts turns at most every tallyEvery.
type turnGauges struct {
	tally func() (map[eventlog.Policy]eventlog.Tally, error)

	mu   sync.Mutex
	at   time.Time
	last map[eventlog.Policy]eventlog.Tally // nil: Redis did not answer
}

var _ prometheus.Collector = (*turnGauges)(nil)

// Describe implements prometheus.Collector.
func (*turnGauges) Describe(to chan<- *prometheus.Desc) {
	to <- runningDesc
	to <- detachedDesc
}

// Collect implements prometheus.Collector.
func (g *turnGauges) Collect(to chan<- prometheus.Metric) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.at.IsZero() || time.Since(g.at) >= tallyEvery {
		g.last, _ = g.tally() // counted by turnlog_redis_failures_total; the gauges are absent
		g.at = time.Now()
	}
	for policy, n := range g.last {
		to <- prometheus.MustNewConstMetric(runningDesc, prometheus.GaugeValue, float64(n.Running), string(policy))
		to <- prometheus.MustNewConstMetric(detachedDesc, prometheus.GaugeValue, float64(n.Detached), string(policy))
	}
}
