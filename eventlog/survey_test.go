package eventlog_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"turnlog/eventlog"
	"turnlog/internal/redistest"
)

// commands counts what a client sends.
type commands struct{ sent, trips atomic.Int64 }

var _ redis.Hook = (*commands)(nil)

func (c *commands) DialHook(next redis.DialHook) redis.DialHook {
	return func(ctx context.Context, network, addr string) (net.Conn, error) { return next(ctx, network, addr) }
}

func (c *commands) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		c.sent.Add(1)
		c.trips.Add(1)
		return next(ctx, cmd)
	}
}

func (c *commands) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		c.sent.Add(int64(len(cmds)))
		c.trips.Add(1)
		return next(ctx, cmds)
	}
}

func TestEachTurnTellsWhatOperatorsAsk(t *testing.T) {
	conform(t, eventlog.Options{Grace: time.Hour}, func(w *world) {
		watched, graced, kept, over := w.thread(), w.thread(), w.thread(), w.thread()
		w.start(watched)
		w.start(graced)
		w.detach(graced, "node-a", 1, false)
		s := w.submission()
		s.Headless = true
		w.begin(eventlog.Begin{Thread: kept, Submission: s}, eventlog.VerdictStarted)
		w.finish(over, w.start(over), eventlog.OutcomeCompleted)

		got := map[eventlog.Thread]eventlog.ListedTurn{}
		w.must(w.log.EachTurn(w.Context(), eventlog.TurnFilter{}, func(page []eventlog.ListedTurn) error {
			for _, turn := range page {
				got[turn.Thread] = turn
			}
			return nil
		}))
		if len(got) != 3 {
			w.Fatalf("running: %+v", got)
		}
		now, err := w.log.Now(w.Context())
		w.must(err)
		if r := got[watched]; r.Detached || !r.DetachedAt.IsZero() || !r.GraceDeadline.IsZero() || r.Owner != "node-a" || r.Attempt != 1 {
			w.Errorf("watched: %+v", r)
		}
		if r := got[graced]; !r.Detached || r.Policy != eventlog.PolicyGrace || r.GraceDeadline.Sub(r.DetachedAt) != time.Hour || now.Sub(r.DetachedAt) > time.Minute {
			w.Errorf("grace: %+v", r)
		}
		if r := got[kept]; !r.Detached || r.Policy != eventlog.PolicyPreserve || !r.GraceDeadline.IsZero() || r.DetachedAt.IsZero() {
			w.Errorf("preserved: %+v", r)
		}
		tally, err := w.log.TallyTurns(w.Context(), "node-a")
		w.must(err)
		want := map[eventlog.Policy]eventlog.Tally{
			eventlog.PolicyCancel: {}, eventlog.PolicyGrace: {Running: 2, Detached: 1}, eventlog.PolicyPreserve: {Running: 1, Detached: 1},
		}
		if fmt.Sprint(tally) != fmt.Sprint(want) {
			w.Errorf("tally %v, want %v", tally, want)
		}
		stop := errors.New("enough")
		if err := w.log.EachTurn(w.Context(), eventlog.TurnFilter{}, func([]eventlog.ListedTurn) error { return stop }); !errors.Is(err, stop) {
			w.Errorf("the caller's error became %v", err)
		}
	})
}

// B30: 10,000 running turns are read in few round trips, with bounded replies, and counted in fewer.
func TestB30_TenThousandRunningTurnsAreReadInFewRoundTrips(t *testing.T) {
	const turns = 10_000
	log, rdb := openLog(t, redistest.Start(t), eventlog.Options{})
	manyTurns(t, log, rdb)
	counted := &commands{}
	rdb.AddHook(counted)
	seen, largest := map[eventlog.Thread]bool{}, 0
	err := log.EachTurn(t.Context(), eventlog.TurnFilter{}, func(page []eventlog.ListedTurn) error {
		largest = max(largest, len(page))
		for _, turn := range page {
			if seen[turn.Thread] {
				t.Errorf("%v came twice", turn.Thread)
			}
			seen[turn.Thread] = true
		}
		return nil
	})
	if err != nil || len(seen) != turns {
		t.Fatalf("%d turns, %v", len(seen), err)
	}
	if n := counted.trips.Load(); n > 200 {
		t.Errorf("it took %d round trips", n)
	}
	if largest > 500 {
		t.Errorf("a page of %d turns", largest)
	}
	counted.sent.Store(0)
	counted.trips.Store(0)
	tally, err := log.TallyTurns(t.Context(), "node-1")
	if err != nil || tally[eventlog.PolicyPreserve] != (eventlog.Tally{Running: turns / 4, Detached: turns / 4}) {
		t.Errorf("tally %v, %v", tally, err)
	}
	if n := counted.trips.Load(); n > 150 {
		t.Errorf("counting took %d round trips", n)
	}
}

func TestNodeReportsNameNodesAndTheReaper(t *testing.T) {
	conform(t, eventlog.Options{NodeLease: time.Minute}, func(w *world) {
		started := time.UnixMilli(1_700_000_000_000)
		w.must(w.log.Register(w.Context(), eventlog.NodeInfo{ID: "node-a", Address: "10.0.0.1:8080", Version: "v1", Started: started, Load: &eventlog.NodeLoad{Draining: true, Connections: 7}}))
		for _, node := range []string{"node-a", "node-z"} {
			if alive, err := w.log.Heartbeat(w.Context(), node); err != nil || !alive {
				w.Fatalf("heartbeat: %v, %v", alive, err)
			}
		}
		if s, err := w.log.Reaper(w.Context()); err != nil || s != (eventlog.ReaperState{}) {
			w.Fatalf("nobody leads: %+v, %v", s, err)
		}
		term, _, err := w.log.LeadReaper(w.Context(), "node-a", 0)
		w.must(err)
		took, err := w.log.Now(w.Context())
		w.must(err)
		if _, _, err := w.log.LeadReaper(w.Context(), "node-a", term); err != nil {
			w.Fatal(err)
		}
		w.start(w.thread())
		w.must(w.log.Resign(w.Context(), "node-z"))
		reports, err := w.log.NodeReports(w.Context())
		if err != nil || len(reports) != 2 {
			w.Fatalf("reports %+v, %v", reports, err)
		}
		a, z := reports[0], reports[1]
		if a.Info.Address != "10.0.0.1:8080" || a.Info.Version != "v1" || !a.Info.Started.Equal(started) || a.Turns != 1 || a.Viewing != 1 || a.Dead || a.Left <= 0 || a.Left > time.Minute ||
			a.Info.Load == nil || *a.Info.Load != (eventlog.NodeLoad{Draining: true, Connections: 7}) {
			w.Errorf("node-a: %+v", a)
		}
		if z.ID != "node-z" || !z.Dead || z.Buried || z.Left > 0 || z.Info.Address != "" || z.Info.Load != nil {
			w.Errorf("node-z: %+v", z)
		}
		s, err := w.log.Reaper(w.Context())
		if err != nil || s.Node != "node-a" || s.Term != term || s.Left <= 0 || s.Left > eventlog.ReaperLease || s.Since.After(took) || took.Sub(s.Since) > time.Minute {
			w.Errorf("reaper: %+v, %v", s, err)
		}
	})
}
