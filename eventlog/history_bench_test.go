package eventlog_test

import (
	"fmt"
	"strings"
	"testing"

	"turnlog/eventlog"
	"turnlog/internal/redistest"
)

// benchRows is how many rows a benchmark of history reads: what agents ask for.
const benchRows = 100

// BenchmarkHistory reads the newest 100 rows, of 200 bytes each, of a thread that
// continues so many others, on a real Redis. The rows are spread evenly over the
// thread and its ancestors; 0 ancestors is a thread of its own, for comparison.
func BenchmarkHistory(b *testing.B) {
	for _, ancestors := range []int{0, 1, 3, 9, 31} {
		b.Run(fmt.Sprintf("ancestors=%d", ancestors), func(b *testing.B) {
			log, rdb := openLog(b, redistest.Start(b), eventlog.Options{})
			w := &world{TB: b, log: log, rdb: rdb}
			trips := &commands{}
			rdb.AddHook(trips)
			leaf := w.line(ancestors, benchRows)
			read := func() {
				rows, err := log.History(b.Context(), leaf, 0, benchRows)
				if err != nil || len(rows) != benchRows {
					b.Fatalf("%d rows, %v", len(rows), err)
				}
			}
			read() // connects
			trips.trips.Store(0)
			read()
			perRead := trips.trips.Load()
			b.ReportAllocs()
			for b.Loop() {
				read()
			}
			b.ReportMetric(float64(perRead), "round-trips")
			b.ReportMetric(benchRows*float64(b.N)/b.Elapsed().Seconds(), "rows/s")
		})
	}
}

// line makes a thread with so many ancestors that has, with them, at least so
// many rows.
func (w *world) line(ancestors, rows int) eventlog.Thread {
	w.Helper()
	turns := (rows/2 + ancestors) / (ancestors + 1) // of each thread, with two rows each
	text := strings.Repeat("x", 150)
	th := w.thread()
	for n := range ancestors + 1 {
		if n > 0 {
			next := w.thread()
			w.create(next, eventlog.ThreadMeta{Continues: th.ID})
			th = next
		}
		for range turns {
			w.say(th, text)
		}
	}
	return th
}

// BenchmarkMessages reads the same rows without looking for a lineage.
func BenchmarkMessages(b *testing.B) {
	log, rdb := openLog(b, redistest.Start(b), eventlog.Options{})
	w := &world{TB: b, log: log, rdb: rdb}
	th := w.line(0, benchRows)
	b.ReportAllocs()
	for b.Loop() {
		if rows, err := log.Messages(b.Context(), th, 0, benchRows); err != nil || len(rows) != benchRows {
			b.Fatal(len(rows), err)
		}
	}
}
