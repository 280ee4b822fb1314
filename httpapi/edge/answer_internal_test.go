package edge

import (
	"testing"
	"time"
)

func TestB104_AClientMayNeitherStopNorTrickle(t *testing.T) {
	const limit = 30 * time.Second
	begin := time.Now()
	a := &timedAnswer{limit: limit}
	now := begin
	for range 10 { // as fast as it likes
		if due := a.due(answerPiece, now); !due.Equal(now.Add(limit)) {
			t.Fatalf("a fast client has %v", due.Sub(now))
		}
	}
	for pieces := 11; pieces < 100; pieces++ { // each as late as it may be
		now = a.due(answerPiece, now)
		if took, most := now.Sub(begin), limit+time.Duration(pieces)*2*time.Second; took > most {
			t.Fatalf("%d pieces of 64 KiB may take %v, want at most %v", pieces, took, most)
		}
	}
}
