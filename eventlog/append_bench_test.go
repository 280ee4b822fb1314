package eventlog_test

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/redis/go-redis/v9"

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

// BenchmarkAppend appends b.N frames of 100 bytes to 1,000 turns with fences; batches form by themselves.
func BenchmarkAppend(b *testing.B) { benchAppend(b, 0) }

// BenchmarkAppendOneByOne waits for every frame: each call carries one.
func BenchmarkAppendOneByOne(b *testing.B) { benchAppend(b, 1) }

// BenchmarkAppendFour flushes every four frames.
func BenchmarkAppendFour(b *testing.B) { benchAppend(b, 4) }

func benchAppend(b *testing.B, perFlush int) {
	log, rdb := openLog(b, startRealRedis(b), eventlog.Options{})
	writers := make([]*eventlog.Writer, benchTurns)
	for i := range writers {
		tr := seedTurn(b, log, rdb, "user"+strconv.Itoa(i%100), fmt.Sprint("t", i))
		writers[i] = log.NewWriter(tr.fence, tr.admission, eventlog.WriterOptions{})
	}
	frame := benchFrame()
	cpu := redisCPU(b, rdb)
	b.ReportAllocs()
	b.ResetTimer()
	var wg sync.WaitGroup
	for i, w := range writers {
		n := b.N / benchTurns
		if i < b.N%benchTurns {
			n++
		}
		wg.Go(func() {
			for i := range n {
				if perFlush > 0 && i%perFlush == 0 && i > 0 {
					if err := w.Flush(b.Context()); err != nil {
						b.Error(err)
						return
					}
				}
				if err := w.Emit(b.Context(), eventlog.Entry{Type: "chunk", Frame: frame}); err != nil {
					b.Error(err)
					return
				}
			}
			if err := w.Flush(b.Context()); err != nil {
				b.Error(err)
			}
		})
	}
	wg.Wait()
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
	frame := benchFrame()
	cpu := redisCPU(b, rdb)
	const lanes, perPipe = 2, 1000
	b.ReportAllocs()
	b.ResetTimer()
	var wg sync.WaitGroup
	for lane := range lanes {
		wg.Go(func() {
			for done := lane * perPipe; done < b.N; done += lanes * perPipe {
				pipe := rdb.Pipeline()
				for i := range min(perPipe, b.N-done) {
					pipe.XAdd(context.Background(), &redis.XAddArgs{
						Stream: "t" + strconv.Itoa((done+i)%benchTurns), MaxLen: 2000, Approx: true,
						Values: []any{"turn", 1, "type", "chunk", "pos", done * benchBytes, "frame", frame},
					})
				}
				if _, err := pipe.Exec(context.Background()); err != nil {
					b.Error(err)
				}
			}
		})
	}
	wg.Wait()
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "frames/s")
	b.ReportMetric((redisCPU(b, rdb)-cpu)/float64(b.N), "redis-cpu-us/frame")
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
