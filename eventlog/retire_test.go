package eventlog_test

import (
	"fmt"
	"runtime"
	"strings"
	"testing"

	"turnlog/eventlog"
)

// F26: what a node remembers of finished turns, to end them again after a
// failover, is bounded.
func TestF26_FinishedTurnsAreRememberedWithinABound(t *testing.T) {
	log, _ := openLog(t, startRealRedis(t), eventlog.Options{})
	text := strings.Repeat("x", 8<<10)
	heap := func() uint64 {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	before := heap()
	for i := range 600 {
		tr := beginTurn(t, log, "u", fmt.Sprintf("t%d", i))
		w := log.NewWriter(tr.fence, tr.admission, eventlog.WriterOptions{})
		for range 10 {
			emit(t, w, eventlog.Entry{Type: "chunk", Frame: []byte(`{"type":"chunk","content":"` + text + `"}`)})
		}
		if _, err := w.Finish(t.Context(), eventlog.OutcomeCompleted, closing(eventlog.OutcomeCompleted)); err != nil {
			t.Fatal(err)
		}
	}
	if grown := int64(heap()) - int64(before); grown > 32<<20 {
		t.Fatalf("the heap grew by %d MiB over 600 finished turns of 80 KiB", grown>>20)
	}
}
