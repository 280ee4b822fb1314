package bench

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
)

// store is the Redis that a run measures with.
type store struct {
	url    string
	client *redis.Client
	pid    int // 0 when it does not run on this machine
	stop   func()
}

// openStore connects to the given Redis, or starts one on a free port.
func openStore(ctx context.Context, url string) (*store, error) {
	s := &store{url: url, stop: func() {}}
	own := url == ""
	if own {
		if err := s.start(); err != nil {
			return nil, err
		}
	}
	options, err := redis.ParseURL(s.url)
	if err != nil {
		s.stop()
		return nil, fmt.Errorf("redis url: %w", err)
	}
	s.client = redis.NewClient(options)
	if err := s.await(ctx, own); err != nil {
		s.close()
		return nil, fmt.Errorf("redis at %s does not answer: %w", options.Addr, err)
	}
	if host, _, _ := net.SplitHostPort(options.Addr); host == "127.0.0.1" || host == "localhost" {
		s.pid = int(s.info(ctx, "server").number("process_id"))
	}
	return s, nil
}

func (s *store) close() {
	if s.client != nil {
		_ = s.client.Close()
	}
	s.stop()
}

func (s *store) start() error {
	path, err := exec.LookPath("redis-server")
	if err != nil {
		return errors.New("there is no redis-server here: name a Redis with --redis, or install one (Debian: apt-get install redis-server)")
	}
	dir, err := os.MkdirTemp("", "turnlog-bench")
	if err != nil {
		return err
	}
	port, err := freePort()
	if err != nil {
		_ = os.RemoveAll(dir)
		return err
	}
	cmd := exec.Command(path, "--port", strconv.Itoa(port), "--bind", "127.0.0.1", "--save", "", "--appendonly", "no", "--dir", dir)
	if err := cmd.Start(); err != nil {
		_ = os.RemoveAll(dir)
		return err
	}
	s.url = fmt.Sprintf("redis://127.0.0.1:%d", port)
	s.stop = func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		_ = os.RemoveAll(dir)
	}
	return nil
}

// await pings; a Redis just started gets some time to come up.
func (s *store) await(ctx context.Context, starting bool) error {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		err := s.client.Ping(ctx).Err()
		if err == nil || !starting {
			return err
		}
		select {
		case <-ctx.Done():
			return err
		case <-tick.C:
		}
	}
}

func freePort() (int, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port, nil
}

// info is a section of INFO: its lines by key.
type info map[string]string

func (s *store) info(ctx context.Context, section string) info {
	text, _ := s.client.Info(ctx, section).Result()
	out := info{}
	for line := range strings.Lines(text) {
		if k, v, ok := strings.Cut(strings.TrimSpace(line), ":"); ok {
			out[k] = v
		}
	}
	return out
}

func (i info) number(key string) float64 {
	n, _ := strconv.ParseFloat(i[key], 64)
	return n
}

// counters are what Redis has done up to one moment.
type counters struct {
	commands map[string]float64
	in, out  float64 // bytes
}

func (s *store) counters(ctx context.Context) counters {
	c := counters{commands: map[string]float64{}}
	for key, value := range s.info(ctx, "commandstats") {
		var calls float64
		if _, err := fmt.Sscanf(value, "calls=%f,", &calls); err == nil {
			c.commands[strings.TrimPrefix(key, "cmdstat_")] = calls
		}
	}
	stats := s.info(ctx, "stats")
	c.in, c.out = stats.number("total_net_input_bytes"), stats.number("total_net_output_bytes")
	return c
}

// since is the difference per unit, without the asking itself.
func (c counters) since(before counters, units float64) map[string]float64 {
	out := map[string]float64{}
	for name, calls := range c.commands {
		if d := calls - before.commands[name]; d > 0 && name != "info" {
			out[name] = d / max(units, 1e-9)
		}
	}
	return out
}
