package eventlog_test

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"golang.org/x/sync/errgroup"

	"turnlog/eventlog"
)

const (
	benchTurns = 1000
	benchBytes = 100
)

func benchFrame() []byte {
	head, foot := `{"type":"chunk","content":"`, `"}`
	return []byte(head + strings.Repeat("x", benchBytes-len(head)-len(foot)) + foot)
}

// BenchmarkAppendRatio takes turns between the two on one server, so that both meet the same machine.
// The ratio's goal is 0.8.
func BenchmarkAppendRatio(b *testing.B) {
	log, rdb := openLog(b, startRealRedis(b), eventlog.Options{})
	frame := benchFrame()
	writers, err := beginWriters(b.Context(), log, benchTurns)
	if err != nil {
		b.Fatal(err)
	}
	const rounds = 10
	var fenced, plain time.Duration
	b.ResetTimer()
	for range rounds {
		took, err := appendFrames(b.Context(), writers, max(b.N/rounds, benchTurns), 0, frame)
		if err != nil {
			b.Fatal(err)
		}
		fenced += took
		if took, err = addPlain(b.Context(), rdb, benchTurns, max(b.N/rounds, benchTurns), frame); err != nil {
			b.Fatal(err)
		}
		plain += took
	}
	b.ReportMetric(float64(plain)/float64(fenced), "ratio")
	b.ReportMetric(float64(max(b.N, rounds*benchTurns))/fenced.Seconds(), "frames/s")
	b.ReportMetric(float64(max(b.N, rounds*benchTurns))/plain.Seconds(), "xadd/s")
	for _, w := range writers {
		w.Abandon()
	}
}

// BenchmarkAppend appends b.N frames of 100 bytes to 1,000 turns with fences; batches form by themselves.
func BenchmarkAppend(b *testing.B) { benchAppend(b, 0) }

// BenchmarkAppendOneByOne waits for every frame: each call carries one.
func BenchmarkAppendOneByOne(b *testing.B) { benchAppend(b, 1) }

// BenchmarkAppendFour flushes every four frames.
func BenchmarkAppendFour(b *testing.B) { benchAppend(b, 4) }

func benchAppend(b *testing.B, perFlush int) {
	log, rdb := openLog(b, startRealRedis(b), eventlog.Options{})
	writers, err := beginWriters(b.Context(), log, benchTurns)
	if err != nil {
		b.Fatal(err)
	}
	cpu := redisCPU(b, rdb)
	b.ReportAllocs()
	b.ResetTimer()
	if _, err := appendFrames(b.Context(), writers, b.N, perFlush, benchFrame()); err != nil {
		b.Fatal(err)
	}
	b.StopTimer()
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "frames/s")
	b.ReportMetric(float64(b.N)/infoNumber(b, rdb, "commandstats", "cmdstat_evalsha:calls="), "frames/call")
	b.ReportMetric((redisCPU(b, rdb)-cpu)/float64(b.N), "redis-cpu-us/frame")
	for _, w := range writers {
		w.Abandon()
	}
}

// BenchmarkPlainXADD is the limit: the same payload by pipelined XADD, without any fence.
func BenchmarkPlainXADD(b *testing.B) {
	rdb := redis.NewClient(&redis.Options{Addr: startRealRedis(b)})
	defer func() { _ = rdb.Close() }()
	cpu := redisCPU(b, rdb)
	b.ReportAllocs()
	b.ResetTimer()
	if _, err := addPlain(b.Context(), rdb, benchTurns, b.N, benchFrame()); err != nil {
		b.Fatal(err)
	}
	b.StopTimer()
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "frames/s")
	b.ReportMetric((redisCPU(b, rdb)-cpu)/float64(b.N), "redis-cpu-us/frame")
}

// beginWriters begins so many turns, of a hundred users, and returns their writers.
func beginWriters(ctx context.Context, log *eventlog.Log, turns int) ([]*eventlog.Writer, error) {
	writers := make([]*eventlog.Writer, turns)
	for i := range writers {
		s := eventlog.Submission{TurnID: fmt.Sprintf("00000000-0000-7000-8000-%012d", i), Message: []byte(`{"role":"user","content":"go"}`)}
		th := eventlog.Thread{User: fmt.Sprint("user", i%100), ID: fmt.Sprint("thread", i)}
		a, err := log.Begin(ctx, eventlog.Begin{Thread: th, Submission: s, Node: "bench"})
		if err != nil {
			return nil, err
		}
		fence := eventlog.Fence{Thread: th, TurnID: a.TurnID, Attempt: a.Attempt, Owner: "bench"}
		writers[i] = log.NewWriter(fence, a, eventlog.WriterOptions{})
	}
	return writers, nil
}

// appendFrames has every writer emit its share of n frames as fast as it can, waiting for the log after
// every perFlush of them (0 = only at the end), and returns how long that took.
func appendFrames(ctx context.Context, writers []*eventlog.Writer, n, perFlush int, frame []byte) (time.Duration, error) {
	start := time.Now()
	var wg errgroup.Group
	for i, w := range writers {
		share := n / len(writers)
		if i < n%len(writers) {
			share++
		}
		wg.Go(func() error {
			for i := range share {
				if perFlush > 0 && i%perFlush == 0 && i > 0 {
					if err := w.Flush(ctx); err != nil {
						return err
					}
				}
				if err := w.Emit(ctx, eventlog.Entry{Type: "chunk", Frame: frame}); err != nil {
					return err
				}
			}
			return w.Flush(ctx)
		})
	}
	err := wg.Wait()
	return time.Since(start), err
}

// addPlain writes n entries of the same shape to so many streams by pipelined XADD over two connections.
func addPlain(ctx context.Context, rdb *redis.Client, streams, n int, frame []byte) (time.Duration, error) {
	const conns, perPipe = 2, 1000
	start := time.Now()
	var wg errgroup.Group
	for c := range conns {
		wg.Go(func() error {
			for done := c * perPipe; done < n; done += conns * perPipe {
				pipe := rdb.Pipeline()
				for i := range min(perPipe, n-done) {
					pipe.XAdd(ctx, &redis.XAddArgs{
						Stream: "plain" + strconv.Itoa((done+i)%streams), MaxLen: 2000, Approx: true,
						Values: []any{"turn", 1, "type", "chunk", "pos", done * len(frame), "frame", frame},
					})
				}
				if _, err := pipe.Exec(ctx); err != nil {
					return err
				}
			}
			return nil
		})
	}
	err := wg.Wait()
	return time.Since(start), err
}

// redisCPU reads how many microseconds of CPU Redis used so far.
func redisCPU(b *testing.B, rdb *redis.Client) float64 {
	b.Helper()
	return infoNumber(b, rdb, "cpu", "used_cpu_sys:")*1e6 + infoNumber(b, rdb, "cpu", "used_cpu_user:")*1e6
}

// infoNumber reads the number that follows key in a section of INFO.
func infoNumber(b *testing.B, rdb *redis.Client, section, key string) (n float64) {
	b.Helper()
	info, err := rdb.Info(b.Context(), section).Result()
	if err != nil {
		b.Fatal(err)
	}
	_, rest, ok := strings.Cut(info, key)
	if _, err := fmt.Sscanf(rest, "%f", &n); !ok || err != nil {
		b.Fatalf("%s in INFO %s: %v", key, section, err)
	}
	return n
}
