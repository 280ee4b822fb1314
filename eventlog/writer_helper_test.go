package eventlog_test

import (
	"context"
	"fmt"
	"net"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"

	"turnlog/eventlog"
)

// writerServers runs a test against miniredis and against a real redis-server.
func writerServers(t *testing.T, f func(t *testing.T, addr string)) {
	t.Helper()
	t.Run("miniredis", func(t *testing.T) { f(t, miniredis.RunT(t).Addr()) })
	t.Run("redis", func(t *testing.T) { f(t, startRealRedis(t)) })
}

// startRealRedis starts a redis-server of its own and stops it with the test.
func startRealRedis(tb testing.TB, args ...string) string {
	tb.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		tb.Fatal(err)
	}
	addr := ln.Addr().String()
	_ = ln.Close()
	_, port, _ := net.SplitHostPort(addr)
	cmd := exec.Command("redis-server", append([]string{
		"--port", port, "--bind", "127.0.0.1", "--save", "", "--appendonly", "no", "--dir", tb.TempDir(),
	}, args...)...)
	if err := cmd.Start(); err != nil {
		tb.Fatalf("start redis-server: %v", err)
	}
	tb.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	rdb := redis.NewClient(&redis.Options{Addr: addr})
	defer func() { _ = rdb.Close() }()
	eventually(tb, "redis-server answers", func() bool { return rdb.Ping(tb.Context()).Err() == nil })
	return addr
}

// eventually polls a condition until it holds.
func eventually(tb testing.TB, what string, cond func() bool) {
	tb.Helper()
	deadline := time.After(20 * time.Second)
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	for !cond() {
		select {
		case <-tick.C:
		case <-deadline:
			tb.Fatalf("timed out: %s", what)
		}
	}
}

// openLog opens a log on addr. The client has go-redis's own retries on, as a
// caller's may; appends must not depend on that.
func openLog(tb testing.TB, addr string, opt eventlog.Options) (*eventlog.Log, *redis.Client) {
	tb.Helper()
	rdb := redis.NewClient(&redis.Options{Addr: addr, ContextTimeoutEnabled: true})
	log, err := eventlog.Open(tb.Context(), rdb, opt)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := log.Close(); err != nil {
			tb.Errorf("close log: %v", err)
		}
		_ = rdb.Close()
	})
	return log, rdb
}

// turn is a running turn put into Redis by hand: what begin leaves behind.
type turn struct {
	fence     eventlog.Fence
	admission eventlog.Admission
	base      string
}

func seedTurn(tb testing.TB, log *eventlog.Log, rdb redis.UniversalClient, user, thread string) turn {
	tb.Helper()
	p, err := log.Partition(user)
	if err != nil {
		tb.Fatal(err)
	}
	tr := turn{
		fence:     eventlog.Fence{Thread: eventlog.Thread{User: user, ID: thread}, TurnID: "turn-" + thread, Attempt: 1, Owner: "node-a"},
		admission: eventlog.Admission{Verdict: eventlog.VerdictStarted, TurnID: "turn-" + thread, Attempt: 1, Ordinal: 1, Epoch: "ep1", FirstSeq: 1},
		base:      fmt.Sprintf("turnlog:{%d}:%s/%s", p, user, thread),
	}
	started := `{"type":"turn_started","attempt":1}`
	pipe := rdb.Pipeline()
	pipe.XAdd(tb.Context(), &redis.XAddArgs{Stream: tr.base + ":log", ID: "1-0", Values: []any{"turn", 1, "type", "turn_started", "pos", len(started), "frame", started}})
	pipe.HSet(tb.Context(), tr.base+":state", "epoch", "ep1", "last_seq", 1, "pos", len(started), "byte_base", 0, "turn_id", tr.fence.TurnID,
		"ordinal", 1, "attempt", 1, "owner", "node-a", "appended", 0, "status", "running", "turn_first", 1, "remote", 0,
		"submission", strings.Repeat("x", 100))
	if _, err := pipe.Exec(tb.Context()); err != nil {
		tb.Fatal(err)
	}
	return tr
}

// chunk is a frame whose content tells its place.
func chunk(i int) eventlog.Entry {
	return eventlog.Entry{Type: "chunk", Frame: []byte(`{"type":"chunk","content":"` + strconv.Itoa(i) + `"}`)}
}

// logFrames reads the whole log: numbers must be dense.
func logFrames(tb testing.TB, rdb redis.UniversalClient, base string) (first int64, frames []string) {
	tb.Helper()
	entries, err := rdb.XRange(context.Background(), base+":log", "-", "+").Result()
	if err != nil {
		tb.Fatal(err)
	}
	next := int64(0)
	for _, e := range entries {
		seq, _ := strconv.ParseInt(strings.TrimSuffix(e.ID, "-0"), 10, 64)
		if next == 0 {
			first = seq
		} else if seq != next {
			tb.Fatalf("hole: %d after %d", seq, next-1)
		}
		next = seq + 1
		frames = append(frames, e.Values["frame"].(string))
	}
	return first, frames
}

// wantChunks checks that the log is turn_started and the chunks 0..n-1, each once and in order.
func wantChunks(tb testing.TB, rdb redis.UniversalClient, base string, n int) {
	tb.Helper()
	first, frames := logFrames(tb, rdb, base)
	if first != 1 || len(frames) != n+1 {
		tb.Fatalf("%s: first %d, %d frames, want 1 and %d", base, first, len(frames), n+1)
	}
	for i, f := range frames[1:] {
		if f != string(chunk(i).Frame) {
			tb.Fatalf("%s: frame %d is %s", base, i, f)
		}
	}
}
