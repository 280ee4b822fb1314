package eventlog_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"turnlog/eventlog"
	"turnlog/internal/redistest"
)

func TestOpenRefusesAnotherFormat(t *testing.T) {
	conform(t, eventlog.Options{Partitions: 8}, func(w *world) {
		if _, err := eventlog.Open(w.Context(), w.rdb, eventlog.Options{Partitions: 8}); err != nil {
			w.Fatal(err)
		}
		_, err := eventlog.Open(w.Context(), w.rdb, eventlog.Options{})
		if !errors.Is(err, eventlog.ErrFormat) || !strings.Contains(err.Error(), "8 partitions, not 64") {
			w.Fatalf("other partitions: %v", err)
		}
		w.rdb.Set(w.Context(), "turnlog:{nodes}:format", "2 8", 0)
		if _, err = eventlog.Open(w.Context(), w.rdb, eventlog.Options{Partitions: 8}); !errors.Is(err, eventlog.ErrFormat) {
			w.Fatalf("other version: %v", err)
		}
	})
}

func TestOpenSaysWhatIsWrong(t *testing.T) {
	rdb := redis.NewClient(&redis.Options{Addr: redistest.FreeAddr(t), MaxRetries: -1})
	defer func() { _ = rdb.Close() }()
	if _, err := eventlog.Open(t.Context(), rdb, eventlog.Options{}); !errors.Is(err, eventlog.ErrUnavailable) || !strings.Contains(err.Error(), "does not answer") {
		t.Fatalf("redis away: %v", err)
	}
	for want, o := range map[string]eventlog.Options{
		"Grace":            {Grace: -1},
		"DefaultPolicy":    {DefaultPolicy: "maybe"},
		"HistoryRetention": {HistoryRetention: time.Second, ReplayRetention: time.Minute},
		"Partitions":       {Partitions: 5000},
	} {
		if _, err := eventlog.Open(t.Context(), rdb, o); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", want, err)
		}
	}
}

func TestB107_ScriptsSurviveAFlush(t *testing.T) {
	conform(t, eventlog.Options{}, func(w *world) {
		th := w.thread()
		a := w.start(th)
		w.must(w.rdb.ScriptFlush(w.Context()).Err())
		w.emit(th, a, "node-a", chunk(0))
		w.must(w.rdb.ScriptFlush(w.Context()).Err())
		w.finish(th, a, eventlog.OutcomeCompleted)
		w.types(th, "1 turn_started", "2 chunk", "3 chunk", "4 turn_finished")
	})
}

// Only the real server refuses writes when its memory is full.
func TestB106_TurnsCanBeEndedWhenMemoryIsFull(t *testing.T) {
	log, rdb := openLog(t, redistest.Start(t), eventlog.Options{Grace: time.Millisecond, StopTimeout: time.Millisecond})
	w := &world{TB: t, log: log, rdb: rdb}
	ended, reaped, stopped, waiting := w.thread(), w.thread(), w.thread(), w.thread()
	a, b := w.start(ended), w.start(waiting)
	w.start(reaped)
	w.start(stopped)
	if _, err := log.Heartbeat(t.Context(), "node-a"); err != nil {
		t.Fatal(err)
	}
	w.must(rdb.ConfigSet(t.Context(), "maxmemory", "1mb").Err())
	w.must(rdb.ConfigSet(t.Context(), "maxmemory-policy", "noeviction").Err())

	before := dump(w, rdb)
	if _, err := log.Begin(t.Context(), eventlog.Begin{Thread: w.thread(), Submission: w.submission(), Node: "node-a"}); !errors.Is(err, eventlog.ErrOutOfMemory) {
		t.Fatalf("begin: %v", err)
	}
	for _, busy := range []eventlog.OnBusy{eventlog.OnBusyEnqueue, eventlog.OnBusySupersede} {
		if _, err := log.Begin(t.Context(), eventlog.Begin{Thread: waiting, Submission: w.submission(), Node: "node-a", OnBusy: busy}); !errors.Is(err, eventlog.ErrOutOfMemory) {
			t.Fatalf("begin (%s): %v", busy, err)
		}
	}
	for _, th := range []eventlog.Thread{w.thread(), ended} {
		if err := log.SetThread(t.Context(), th, eventlog.ThreadMeta{Title: "more"}); !errors.Is(err, eventlog.ErrOutOfMemory) {
			t.Fatalf("metadata: %v", err)
		}
	}
	if d := difference(before, dump(w, rdb)); d != "" {
		t.Fatalf("refused turns left:\n%s", d)
	}
	if alive, err := log.Heartbeat(t.Context(), "node-a"); err != nil || !alive {
		t.Fatalf("heartbeat: %v, %v", alive, err)
	}
	if _, leads, err := log.LeadReaper(t.Context(), "node-a", 0); err != nil || !leads {
		t.Fatalf("lead: %v, %v", leads, err)
	}
	w.finish(ended, a, eventlog.OutcomeFailed)
	w.types(ended, "1 turn_started", "2 chunk", "3 turn_finished")
	w.detach(reaped, "node-a", 1, false)
	if r := w.reapUntilEnded(reaped); r.Outcome != eventlog.OutcomeDetached {
		t.Fatalf("reaped %+v", r)
	}
	w.input(stopped, "", eventlog.Input{ID: "s", Kind: eventlog.InputStop}, eventlog.InputAccepted)
	if r := w.reapUntilEnded(stopped); r.Outcome != eventlog.OutcomeStopped {
		t.Fatalf("reaped %+v", r)
	}
	w.must(rdb.ConfigSet(t.Context(), "maxmemory", "0").Err())
	w.emit(waiting, b, "node-a", chunk(0))
	w.types(waiting, "1 turn_started", "2 chunk")
}

// Only the real server tells its replication id.
func TestANewMasterMeansANewEpochAndAJump(t *testing.T) {
	log, rdb := openLog(t, redistest.Start(t), eventlog.Options{})
	w := &world{TB: t, log: log, rdb: rdb}
	th := w.thread()
	a := w.start(th)
	w.finish(th, a, eventlog.OutcomeCompleted)
	w.must(rdb.HSet(t.Context(), w.base(th)+":state", "replid", "another").Err())
	b := w.start(th)
	if b.Epoch == a.Epoch || b.FirstSeq != 3+65536+1 {
		t.Fatalf("begin under a new master %+v", b)
	}
	w.types(th, "65540 turn_started") // no hole: frames of the old epoch are gone
	// The owner itself confirms: no jump at its own finish, but at anybody else's.
	w.must(rdb.HSet(t.Context(), w.base(th)+":state", "replid", "another").Err())
	f, err := log.Finish(t.Context(), eventlog.Finish{Fence: fenceOf(th, b, "node-a"), Finisher: "node-b", Outcome: "owner_lost", Frames: closing("owner_lost")})
	if err != nil || f.Epoch == b.Epoch || f.FirstSeq != b.FirstSeq+65536+1 {
		t.Fatalf("finish by another %+v, %v", f, err)
	}
	w.types(th, "131077 chunk", "131078 turn_finished")
}

func TestB51_EveryScriptRunTwiceHasOneEffect(t *testing.T) {
	log, rdb := openLog(t, redistest.Start(t), eventlog.Options{NodeLease: 20 * time.Millisecond, Grace: time.Millisecond})
	d := &doubler{tb: t, rdb: rdb}
	rdb.AddHook(d)
	w := &world{TB: t, log: log, rdb: rdb}
	th := w.thread()
	w.must(log.SetThread(t.Context(), th, eventlog.ThreadMeta{Title: "x"}))
	w.policy(th, eventlog.PolicyGrace, eventlog.ScopeThread)
	a := w.start(th)
	w.attach(eventlog.Attach{Thread: th, Node: "node-b", Generation: 1, Policy: eventlog.PolicyGrace})
	w.emit(th, a, "node-a", toolCall("r1", 0, "conn"))
	if _, err := log.TallyTurns(t.Context(), "node-a"); err != nil {
		t.Fatal(err)
	}
	if ok, err := log.ClaimRequest(t.Context(), th, "r1", "conn"); err != nil || !ok {
		t.Fatalf("claim %v, %v", ok, err)
	}
	if _, err := log.ReleaseConn(t.Context(), th, "conn"); err != nil {
		t.Fatal(err)
	}
	w.input(th, "", eventlog.Input{ID: "a", Kind: eventlog.InputAnswer, RequestID: "r1"}, eventlog.InputAccepted)
	w.detach(th, "node-b", 1, false)
	var queued []eventlog.Submission
	for range 2 {
		s := w.submission()
		queued = append(queued, s)
		w.begin(eventlog.Begin{Thread: th, Submission: s, OnBusy: eventlog.OnBusyEnqueue}, eventlog.VerdictQueued)
	}
	if ok, err := log.DropQueued(t.Context(), th, queued[1].TurnID); err != nil || !ok {
		t.Fatalf("drop %v, %v", ok, err)
	}
	w.finish(th, a, eventlog.OutcomeCompleted)
	n, err := log.BeginNext(t.Context(), th, "node-c")
	if err != nil || n.TurnID != queued[0].TurnID {
		t.Fatalf("next %+v, %v", n, err)
	}
	w.kill("node-c")
	if _, err := log.Bury(t.Context(), "node-c"); err != nil {
		t.Fatal(err)
	}
	if _, _, err := log.LeadReaper(t.Context(), "node-r", 0); err != nil {
		t.Fatal(err)
	}
	if r := w.reap(th); !r.Ended {
		t.Fatalf("reaped %+v", r)
	}
	lost := w.thread()
	w.start(lost)
	orphans, err := log.Sweep(t.Context(), []string{"node-x"})
	if err != nil || len(orphans) != 1 || orphans[0].Thread != lost || orphans[0].Owner != "node-a" {
		t.Fatalf("orphans %+v, %v", orphans, err)
	}
	if ok, err := log.Lose(t.Context(), orphans[0]); err != nil || !ok {
		t.Fatalf("lose %v, %v", ok, err)
	}
	if r := w.reap(lost); !r.Ended || r.Outcome != eventlog.OutcomeOwnerLost {
		t.Fatalf("reaped %+v", r)
	}
	w.must(log.Resign(t.Context(), "node-d"))
	if ok, err := log.Delete(t.Context(), th); err != nil || !ok {
		t.Fatalf("delete %v, %v", ok, err)
	}
	if counts, err := log.CountTurns(t.Context()); err != nil || counts.Running != 0 {
		t.Fatalf("counts %+v, %v", counts, err)
	}
	w.start(w.thread())
	if counts, err := log.CountTurns(t.Context()); err != nil || counts.Running != 1 {
		t.Fatalf("counts %+v, %v", counts, err)
	}
	if gone, err := log.DeleteUser(t.Context(), "alice", time.Minute); err != nil || !gone.Complete || gone.TurnsEnded != 1 {
		t.Fatalf("delete user %+v, %v", gone, err)
	}
	for _, name := range eventlog.ScriptNames() {
		if d.seen[name] == 0 && !strings.HasPrefix(name, "append") && name != "rebuild" { // writers have a client and tests of their own
			t.Errorf("%s was not sent twice", name)
		}
	}
}
