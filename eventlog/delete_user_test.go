package eventlog_test

import (
	"context"
	"fmt"
	"net"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"turnlog/eventlog"
	"turnlog/internal/redistest"
)

// keysOf lists the keys with a user's name in them.
func (w *world) keysOf(user string) []string {
	w.Helper()
	var out []string
	for _, key := range w.rdb.Keys(w.Context(), "turnlog:{*}:"+user+"*").Val() {
		if rest := key[strings.Index(key, "}:")+2+len(user):]; rest[0] == ':' || rest[0] == '/' {
			out = append(out, key)
		}
	}
	slices.Sort(out)
	return out
}

func TestDeleteReportsWhatWent(t *testing.T) {
	conform(t, eventlog.Options{}, func(w *world) {
		th := w.thread()
		a := w.start(th)
		w.emit(th, a, "node-a", chunk(0), toolCall("r1", 0, ""), chunk(1))
		w.begin(eventlog.Begin{Thread: th, Submission: w.submission(), OnBusy: eventlog.OnBusyEnqueue}, eventlog.VerdictQueued)
		got, err := w.log.DeleteThread(w.Context(), th)
		want := eventlog.Deleted{Threads: 1, TurnsEnded: 1, Keys: 7, Streams: 2, Frames: 4, Messages: 1, Queued: 1}
		if err != nil || got != want {
			w.Fatalf("deleted %+v, %v, want %+v", got, err, want)
		}
		if got, err := w.log.DeleteThread(w.Context(), th); err != nil || got != (eventlog.Deleted{}) {
			w.Fatalf("again %+v, %v", got, err)
		}
	})
}

func TestDeleteUserTakesAllOfOneUserAndNothingElse(t *testing.T) {
	conform(t, eventlog.Options{}, func(w *world) {
		var want eventlog.Deleted
		for i := range 150 { // more than one page
			th := eventlog.Thread{User: "alice", ID: fmt.Sprintf("a/%d", i)}
			want.Threads++
			if i%50 == 0 {
				a := w.start(th)
				want.TurnsEnded, want.Frames, want.Messages = want.TurnsEnded+1, want.Frames+1, want.Messages+1
				if i == 50 {
					w.emit(th, a, "node-a", toolCall("r", 0, ""))
					want.Frames++
				}
				continue
			}
			w.must(w.log.SetThread(w.Context(), th, eventlog.ThreadMeta{Title: "x"}))
		}
		// One whose state has run out, and a running one that has left the list: it runs for longer than lists are kept.
		partition, err := w.log.Partition("alice")
		w.must(err)
		index := fmt.Sprintf("turnlog:{%d}:alice:", partition)
		w.must(w.rdb.Del(w.Context(), fmt.Sprintf("turnlog:{%d}:alice/a%%2F7:state", partition)).Err())
		want.Threads--
		w.must(w.rdb.ZRem(w.Context(), index+"threads", "a%2F100").Err())
		w.must(w.rdb.HSet(w.Context(), index+"requests", "left-over", "a%2F7").Err())
		other := eventlog.Thread{User: "alice2", ID: "t"}
		w.start(other)
		before := w.keysOf("alice2")

		got, err := w.log.DeleteUser(w.Context(), "alice", time.Minute)
		if err != nil || !got.Complete || got.Begun != 0 || got.Threads != want.Threads || got.TurnsEnded != want.TurnsEnded || got.Frames != want.Frames ||
			got.Messages != want.Messages || got.Keys == 0 || got.Streams == 0 || got.Began.IsZero() {
			w.Fatalf("deleted %+v, %v, want %+v", got, err, want)
		}
		for _, key := range w.keysOf("alice") { // marks and ids, which run out
			if ttl := w.rdb.PTTL(w.Context(), key).Val(); ttl <= 0 || ttl > eventlog.MarkRetention || !strings.HasSuffix(key, ":state") && !strings.Contains(key, ":submit:") {
				w.Errorf("%s is left for %s", key, ttl)
			}
		}
		if after := w.keysOf("alice2"); !slices.Equal(after, before) {
			w.Errorf("somebody else had %v and has %v", before, after)
		}
		if counts, err := w.log.CountTurns(w.Context()); err != nil || counts.Running != 1 {
			w.Errorf("still running %+v, %v", counts, err)
		}
		again, err := w.log.DeleteUser(w.Context(), "alice", time.Minute)
		if err != nil || !again.Complete || again.Deleted != (eventlog.Deleted{}) {
			w.Errorf("again %+v, %v", again, err)
		}
		if _, err := w.log.DeleteUser(w.Context(), "", time.Minute); err == nil {
			w.Error("a user without a name")
		}
	})
}

func TestDeleteUserGoesOnWhereItWasCut(t *testing.T) {
	log, rdb := openLog(t, redistest.Start(t), eventlog.Options{})
	w := &world{TB: t, log: log, rdb: rdb}
	const threads = 1000
	for i := range threads {
		w.must(log.SetThread(t.Context(), eventlog.Thread{User: "alice", ID: fmt.Sprint(i)}, eventlog.ThreadMeta{Title: "x"}))
	}
	first, err := log.DeleteUser(t.Context(), "alice", 0) // no time: one page
	if err != nil || first.Complete || first.Threads == 0 || first.Threads == threads {
		t.Fatalf("no time: %+v, %v", first, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	stop := &cutter{after: 100, cut: cancel}
	rdb.AddHook(stop)
	second, err := log.DeleteUser(ctx, "alice", time.Minute)
	if err != nil || second.Complete || second.Threads == 0 {
		t.Fatalf("cut: %+v, %v", second, err)
	}
	third, err := log.DeleteUser(t.Context(), "alice", time.Minute)
	if err != nil || !third.Complete {
		t.Fatalf("the rest: %+v, %v", third, err)
	}
	// The command that was cut may have been carried out without being counted.
	if sum := first.Threads + second.Threads + third.Threads; sum != threads && sum != threads-1 {
		t.Fatalf("%d + %d + %d threads of %d", first.Threads, second.Threads, third.Threads, threads)
	}
}

// cutter ends a context after so many commands.
type cutter struct {
	after int64
	seen  atomic.Int64
	cut   func()
}

func (c *cutter) DialHook(next redis.DialHook) redis.DialHook {
	return func(ctx context.Context, network, addr string) (net.Conn, error) { return next(ctx, network, addr) }
}

func (c *cutter) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		if c.seen.Add(1) == c.after {
			c.cut()
		}
		return next(ctx, cmd)
	}
}

func (c *cutter) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}

func TestDeleteUserLeavesWhatBeginsMeanwhile(t *testing.T) {
	log, rdb := openLog(t, redistest.Start(t), eventlog.Options{})
	w := &world{TB: t, log: log, rdb: rdb}
	for i := range 10 {
		w.must(log.SetThread(t.Context(), eventlog.Thread{User: "alice", ID: fmt.Sprint("old-", i)}, eventlog.ThreadMeta{Title: "x"}))
	}
	fresh, again := eventlog.Thread{User: "alice", ID: "new"}, eventlog.Thread{User: "alice", ID: "old-3"}
	begun := false
	rdb.AddHook(&cutter{after: 12, cut: func() { // after the look at the index, and the 10 deletions of its page
		begun = true
		w.start(fresh)
		w.start(again)
	}})
	got, err := log.DeleteUser(t.Context(), "alice", time.Minute)
	slices.Sort(got.BegunIDs)
	if err != nil || !begun || !got.Complete || got.Threads < 10 || got.Begun != 2 || !slices.Equal(got.BegunIDs, []string{"new", "old-3"}) {
		t.Fatalf("%+v, %v, begun %v", got, err, begun)
	}
	for _, th := range []eventlog.Thread{fresh, again} {
		if in := w.inspect(th); in.Status != eventlog.StatusRunning {
			t.Errorf("%v is %s", th, in.Status)
		}
	}
}

// No command grows with the number of a user's threads.
func TestDeleteUserOfTenThousandThreads(t *testing.T) {
	log, rdb := openLog(t, redistest.Start(t), eventlog.Options{})
	const threads = 10_000
	pipe := rdb.Pipeline()
	p, err := log.Partition("alice")
	if err != nil {
		t.Fatal(err)
	}
	base := fmt.Sprintf("turnlog:{%d}:alice", p)
	for i := range threads {
		pipe.ZAdd(t.Context(), base+":threads", redis.Z{Score: float64(i), Member: fmt.Sprint("t", i)})
		pipe.HSet(t.Context(), fmt.Sprintf("%s/t%d:state", base, i), "created_at", 1000, "epoch", "e", "status", "finished")
	}
	if _, err := pipe.Exec(t.Context()); err != nil {
		t.Fatal(err)
	}
	counted := &commands{}
	rdb.AddHook(counted)
	got, err := log.DeleteUser(t.Context(), "alice", 5*time.Minute)
	if err != nil || !got.Complete || got.Threads != threads || got.Keys != threads {
		t.Fatalf("%+v, %v", got, err)
	}
	if n := counted.sent.Load(); n < threads || n > threads+threads/64*2+20 {
		t.Errorf("it took %d commands", n)
	}
}
