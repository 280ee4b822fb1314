package eventlog_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"turnlog/eventlog"
)

func emit(tb testing.TB, w *eventlog.Writer, e eventlog.Entry) {
	tb.Helper()
	if err := w.Emit(tb.Context(), e); err != nil {
		tb.Fatalf("emit: %v", err)
	}
}

func flush(tb testing.TB, w *eventlog.Writer) {
	tb.Helper()
	ctx, cancel := context.WithTimeout(tb.Context(), 20*time.Second)
	defer cancel()
	if err := w.Flush(ctx); err != nil {
		tb.Fatalf("flush: %v", err)
	}
}

func TestWriter_WritesEveryFrameOnceInOrder(t *testing.T) {
	writerServers(t, func(t *testing.T, addr string) {
		log, rdb := openLog(t, addr, eventlog.Options{})
		const turns, n = 8, 700
		var wg sync.WaitGroup
		for i := range turns {
			tr := seedTurn(t, log, rdb, "u", fmt.Sprint("t", i))
			next := int64(2)
			w := log.NewWriter(tr.fence, tr.admission, eventlog.WriterOptions{OnCommit: func(c eventlog.Commit) {
				if c.FirstSeq != next || c.Epoch != "ep1" || c.Ordinal != 1 || c.TurnID != tr.fence.TurnID {
					t.Errorf("commit %+v, want first %d", c, next)
				}
				next += int64(len(c.Entries))
			}})
			wg.Go(func() {
				for j := range n {
					if err := w.Emit(t.Context(), chunk(j)); err != nil {
						t.Errorf("emit: %v", err)
						return
					}
				}
				flush(t, w)
				if next != n+2 {
					t.Errorf("OnCommit told up to %d, want %d", next-1, n+1)
				}
				if epoch, seq := w.Position(); epoch != "ep1" || seq != n+1 {
					t.Errorf("position %s %d", epoch, seq)
				}
				w.Abandon()
			})
		}
		wg.Wait()
		for i := range turns {
			p, _ := log.Partition("u")
			wantChunks(t, rdb, fmt.Sprintf("turnlog:{%d}:u/t%d", p, i), n)
		}
	})
}

func TestWriter_FencedByWhoeverTookTheTurn(t *testing.T) {
	for name, row := range map[string]struct {
		state []any
		want  eventlog.Outcome
	}{
		"superseder has set its fence": {[]any{"closing", "turn-2"}, eventlog.OutcomeSuperseded},
		"another attempt":              {[]any{"attempt", 2, "owner", "node-b"}, ""},
		"ended":                        {[]any{"status", "finished", "outcome", "detached"}, eventlog.OutcomeDetached},
		"owner declared dead":          {[]any{"owner", "", "lost_at", 1}, ""},
		"next turn":                    {[]any{"turn_id", "turn-2", "ordinal", 2}, ""},
		"deleted":                      {[]any{"deleted", 1, "status", "", "turn_id", ""}, "deleted"},
	} {
		t.Run(name, func(t *testing.T) {
			writerServers(t, func(t *testing.T, addr string) {
				log, rdb := openLog(t, addr, eventlog.Options{})
				tr := seedTurn(t, log, rdb, "u", "t")
				lost := make(chan error, 2)
				w := log.NewWriter(tr.fence, tr.admission, eventlog.WriterOptions{OnLost: func(err error) { lost <- err }})
				emit(t, w, chunk(0))
				flush(t, w)
				if err := rdb.HSet(t.Context(), tr.base+":state", row.state...).Err(); err != nil {
					t.Fatal(err)
				}
				emit(t, w, chunk(1))
				err := w.Flush(t.Context())
				var fenced *eventlog.FencedError
				if !errors.As(err, &fenced) || !errors.Is(err, eventlog.ErrFenced) || fenced.Outcome != row.want {
					t.Fatalf("flush: %v, want fenced %q", err, row.want)
				}
				if got := <-lost; !errors.Is(got, err) {
					t.Errorf("OnLost(%v), want %v", got, err)
				}
				if err := w.Emit(t.Context(), chunk(2)); !errors.Is(err, eventlog.ErrFenced) {
					t.Errorf("emit after loss: %v", err)
				}
				wantChunks(t, rdb, tr.base, 1)
			})
		})
	}
}
