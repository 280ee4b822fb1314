package main

import (
	"bytes"
	"context"
	"log/slog"
	"net"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
)

// freePort finds a loopback port that nobody listens on.
func freePort(t *testing.T) int {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	return listener.Addr().(*net.TCPAddr).Port
}

// startRedis runs a real redis-server with these arguments and returns host:port.
func startRedis(t *testing.T, args ...string) string {
	t.Helper()
	port := freePort(t)
	cmd := exec.Command("redis-server", append([]string{"--port", strconv.Itoa(port), "--bind", "127.0.0.1",
		"--save", "", "--appendonly", "no", "--dir", t.TempDir()}, args...)...)
	if err := cmd.Start(); err != nil {
		t.Fatalf("redis-server is needed (make deps): %v", err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	addr := "127.0.0.1:" + strconv.Itoa(port)
	await(t, "redis-server listens", func() bool {
		conn, err := net.DialTimeout("tcp", addr, time.Second)
		if err == nil {
			conn.Close()
		}
		return err == nil
	})
	return addr
}

// await polls until the condition holds, for at most 20 s.
func await(t *testing.T, what string, condition func() bool) {
	t.Helper()
	deadline := time.NewTimer(20 * time.Second)
	defer deadline.Stop()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for !condition() {
		select {
		case <-deadline.C:
			t.Fatalf("gave up waiting: %s", what)
		case <-tick.C:
		}
	}
}

// testRedisConfig is the default configuration of a client for url.
func testRedisConfig(url string, startTimeout time.Duration) RedisConfig {
	return RedisConfig{URL: url, PoolSize: 4, CommandTimeout: 5 * time.Second, StartTimeout: startTimeout}
}

// awaitWith runs awaitRedis with a client of its own.
func awaitWith(t *testing.T, config RedisConfig) error {
	t.Helper()
	rdb, err := newRedisClient(config)
	if err != nil {
		t.Fatal(err)
	}
	defer rdb.Close()
	return awaitRedis(t.Context(), rdb, config, slog.New(slog.DiscardHandler))
}

func TestRedisAtStartErrorsNameTheCure(t *testing.T) {
	open := startRedis(t)
	locked := startRedis(t, "--requirepass", "hunter2")
	rows := []struct {
		name, url string
		want      []string
	}{
		{"password missing", "redis://" + locked, []string{"wants a password", "redis.url"}},
		{"wrong password", "redis://:wrong@" + locked, []string{"refused the user or password"}},
		{"no such database", "redis://" + open + "/99", []string{"no database of that number"}},
		{"no TLS", "rediss://" + open, []string{"speak TLS"}},
		{"nobody there", "redis://127.0.0.1:" + strconv.Itoa(freePort(t)), []string{"did not answer within", "start it"}},
		{"no such socket", "unix:///nowhere/redis.sock", []string{"did not answer within", "/nowhere/redis.sock"}},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			err := awaitWith(t, testRedisConfig(row.url, 300*time.Millisecond))
			if err == nil {
				t.Fatal("was accepted")
			}
			for _, want := range append(row.want, "redis at ") {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("%q does not mention %q", err, want)
				}
			}
			if strings.Contains(err.Error(), "wrong@") {
				t.Errorf("%q shows a password", err)
			}
		})
	}
	if err := awaitWith(t, testRedisConfig("redis://:hunter2@"+locked, time.Second)); err != nil {
		t.Errorf("the right password was refused: %v", err)
	}
}

func TestRedisThatComesLateIsWaitedFor(t *testing.T) {
	port := freePort(t)
	config := testRedisConfig("redis://127.0.0.1:"+strconv.Itoa(port), time.Minute)
	rdb, err := newRedisClient(config)
	if err != nil {
		t.Fatal(err)
	}
	defer rdb.Close()
	lines := &syncBuffer{}
	result := make(chan error, 1)
	go func() { result <- awaitRedis(t.Context(), rdb, config, slog.New(slog.NewTextHandler(lines, nil))) }()
	await(t, "a progress line", func() bool { return strings.Contains(lines.String(), "waiting for redis") })

	cmd := exec.Command("redis-server", "--port", strconv.Itoa(port), "--bind", "127.0.0.1", "--save", "", "--dir", t.TempDir())
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	}()
	if err := <-result; err != nil {
		t.Fatal(err)
	}
}

func TestEvictingRedisIsAWarning(t *testing.T) {
	for _, policy := range []string{"noeviction", "allkeys-lru"} {
		addr := startRedis(t, "--maxmemory-policy", policy)
		rdb := redis.NewClient(&redis.Options{Addr: addr})
		var lines bytes.Buffer
		warnEviction(t.Context(), rdb, slog.New(slog.NewTextHandler(&lines, nil)))
		rdb.Close()
		if warned := strings.Contains(lines.String(), "noeviction"); warned != (policy != "noeviction") {
			t.Errorf("%s: log was %q", policy, lines.String())
		}
	}
}

func TestEmbeddedRedisExpiresKeys(t *testing.T) {
	embedded, err := startEmbedded()
	if err != nil {
		t.Fatal(err)
	}
	defer embedded.close()
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- embedded.run(ctx) }()
	defer func() { cancel(); <-done }()

	rdb, err := newRedisClient(testRedisConfig(embedded.url(), time.Second))
	if err != nil {
		t.Fatal(err)
	}
	defer rdb.Close()
	if err := rdb.Set(ctx, "short", "1", 300*time.Millisecond).Err(); err != nil {
		t.Fatal(err)
	}
	if err := rdb.Set(ctx, "long", "1", time.Hour).Err(); err != nil {
		t.Fatal(err)
	}
	await(t, "the key expires", func() bool { return rdb.Exists(ctx, "short").Val() == 0 })
	if rdb.Exists(ctx, "long").Val() != 1 {
		t.Error("a key expired long before its time")
	}
}

func TestCommandBudgetIsTwoTimeoutsWithinBounds(t *testing.T) {
	for timeout, want := range map[time.Duration]time.Duration{
		100 * time.Millisecond: time.Second, time.Second: 2 * time.Second, 5 * time.Second: 10 * time.Second, time.Minute: 10 * time.Second,
	} {
		if got := commandBudget(timeout); got != want {
			t.Errorf("%s: %s, want %s", timeout, got, want)
		}
	}
}
