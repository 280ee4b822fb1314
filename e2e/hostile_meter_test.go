//go:build soak

package e2e_test

import (
	"bufio"
	"context"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// reading is what a node and its Redis take at one time.
type reading struct {
	rss, heap, redis         int64 // bytes
	goroutines, conns, files int64 // files are descriptors
}

// most is the larger of each.
func (r reading) most(o reading) reading {
	return reading{
		max(r.rss, o.rss), max(r.heap, o.heap), max(r.redis, o.redis),
		max(r.goroutines, o.goroutines), max(r.conns, o.conns), max(r.files, o.files),
	}
}

// meter reads one node.
type meter struct {
	n      *node
	base   string // its address with the scheme
	client *http.Client
	redis  *redisServer
}

// read asks for everything; what a busy node does not answer in time is 0.
func (m *meter) read(ctx context.Context) (r reading) {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	r.rss = m.n.RSS()
	values := m.metrics(ctx)
	r.heap, r.goroutines = values["go_memstats_heap_alloc_bytes"], values["go_goroutines"]
	r.conns, r.files = values["turnlog_connections"], values["process_open_fds"]
	if text, err := m.redis.own.Info(ctx, "memory").Result(); err == nil {
		for line := range strings.Lines(text) {
			if v, ok := strings.CutPrefix(strings.TrimSpace(line), "used_memory:"); ok {
				r.redis, _ = strconv.ParseInt(v, 10, 64) // Redis writes numbers
			}
		}
	}
	return r
}

func (m *meter) metrics(ctx context.Context) map[string]int64 {
	values := map[string]int64{}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, m.base+"/metrics", nil)
	if err != nil {
		return values
	}
	resp, err := m.client.Do(req)
	if err != nil {
		return values
	}
	defer resp.Body.Close()
	for lines := bufio.NewScanner(resp.Body); lines.Scan(); {
		name, value, _ := strings.Cut(lines.Text(), " ")
		if f, err := strconv.ParseFloat(value, 64); err == nil {
			values[name] = int64(f)
		}
	}
	return values
}

// watch remembers the most of everything until ctx ends.
func (m *meter) watch(ctx context.Context, most *reading) {
	tick := time.NewTicker(250 * time.Millisecond)
	defer tick.Stop()
	for {
		*most = most.most(m.read(ctx))
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// String is for people.
func (r reading) String() string {
	const mib = 1 << 20
	return fmt.Sprintf("RSS %d MiB, heap %d MiB, Redis %d MiB, %d goroutines, %d WebSockets, %d descriptors",
		r.rss/mib, r.heap/mib, r.redis/mib, r.goroutines, r.conns, r.files)
}
