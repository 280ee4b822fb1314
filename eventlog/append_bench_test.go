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
func BenchmarkAppend(b *testing.B) {
	log, rdb := openLog(b, startRealRedis(b), eventlog.Options{})
	writers := make([]*eventlog.Writer, benchTurns)
	for i := range writers {
		tr := seedTurn(b, log, rdb, "user"+strconv.Itoa(i%100), fmt.Sprint("t", i))
		writers[i] = log.NewWriter(tr.fence, tr.admission, eventlog.WriterOptions{})
	}
	frame := benchFrame()
	b.ReportAllocs()
	b.ResetTimer()
	var wg sync.WaitGroup
	for i, w := range writers {
		n := b.N / benchTurns
		if i < b.N%benchTurns {
			n++
		}
		wg.Go(func() {
			for range n {
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
	for _, w := range writers {
		w.Abandon()
	}
}

// BenchmarkPlainXADD is the limit: the same payload by pipelined XADD, without any fence.
func BenchmarkPlainXADD(b *testing.B) {
	rdb := redis.NewClient(&redis.Options{Addr: startRealRedis(b)})
	defer func() { _ = rdb.Close() }()
	frame := benchFrame()
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
}
