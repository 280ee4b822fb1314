package eventlog_test

import (
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"

	"turnlog/eventlog"
)

// backup copies what a replica had of a thread; restore is the failover to it.
type backup struct {
	state map[string]string
	last  string
}

func takeBackup(tb testing.TB, rdb *redis.Client, base string) backup {
	tb.Helper()
	state, err := rdb.HGetAll(tb.Context(), base+":state").Result()
	if err != nil {
		tb.Fatal(err)
	}
	return backup{state: state, last: state["last_seq"]}
}

func (b backup) restore(tb testing.TB, rdb *redis.Client, base string) {
	tb.Helper()
	values := make([]any, 0, 2*len(b.state))
	for k, v := range b.state {
		values = append(values, k, v)
	}
	pipe := rdb.TxPipeline()
	pipe.Del(tb.Context(), base+":state")
	pipe.HSet(tb.Context(), base+":state", values...)
	for _, stream := range []string{":log", ":messages"} {
		entries, err := rdb.XRange(tb.Context(), base+stream, "("+b.last, "+").Result()
		if err != nil {
			tb.Fatal(err)
		}
		// Deleting entries would leave the stream's last id behind: write it anew.
		all, err := rdb.XRange(tb.Context(), base+stream, "-", "+").Result()
		if err != nil {
			tb.Fatal(err)
		}
		pipe.Del(tb.Context(), base+stream)
		for _, e := range all[:len(all)-len(entries)] {
			values := []any{}
			for _, f := range []string{"turn", "type", "pos", "turn_id", "epoch", "frame"} {
				if v, ok := e.Values[f]; ok {
					values = append(values, f, v)
				}
			}
			pipe.XAdd(tb.Context(), &redis.XAddArgs{Stream: base + stream, ID: e.ID, Values: values})
		}
	}
	if _, err := pipe.Exec(tb.Context()); err != nil {
		tb.Fatal(err)
	}
}

func TestRepair_LostTailIsWrittenAgainUnderTheSameNumbers(t *testing.T) {
	for name, again := range map[string]func(testing.TB, *eventlog.Log, *eventlog.Writer){
		"at the next append": func(tb testing.TB, _ *eventlog.Log, w *eventlog.Writer) { emit(tb, w, chunk(40)); flush(tb, w) },
		"at a check": func(tb testing.TB, log *eventlog.Log, w *eventlog.Writer) {
			if err := log.CheckWriters(tb.Context()); err != nil {
				tb.Fatal(err)
			}
			emit(tb, w, chunk(40))
			flush(tb, w)
		},
	} {
		t.Run(name, func(t *testing.T) {
			writerServers(t, func(t *testing.T, addr string) {
				log, rdb := openLog(t, addr, eventlog.Options{})
				tr := seedTurn(t, log, rdb, "u", "t")
				w := log.NewWriter(tr.fence, tr.admission, eventlog.WriterOptions{})
				defer w.Abandon()
				for i := range 10 {
					emit(t, w, chunk(i))
				}
				flush(t, w)
				old := takeBackup(t, rdb, tr.base)
				for i := 10; i < 39; i++ {
					emit(t, w, chunk(i))
				}
				message := eventlog.Entry{Type: "message", Frame: chunk(39).Frame}
				emit(t, w, message)
				flush(t, w)
				want, _ := rdb.XRange(t.Context(), tr.base+":messages", "-", "+").Result()
				wantState := rdb.HMGet(t.Context(), tr.base+":state", "last_seq", "pos", "appended", "epoch", "last_message_seq").Val()
				old.restore(t, rdb, tr.base)
				wantChunks(t, rdb, tr.base, 10)

				if name == "at a check" {
					if err := log.CheckWriters(t.Context()); err != nil {
						t.Fatal(err)
					}
					wantChunks(t, rdb, tr.base, 40)
					if got := rdb.HMGet(t.Context(), tr.base+":state", "last_seq", "pos", "appended", "epoch", "last_message_seq").Val(); fmt.Sprint(got) != fmt.Sprint(wantState) {
						t.Errorf("state %v, want %v", got, wantState)
					}
				}
				again(t, log, w)
				wantChunks(t, rdb, tr.base, 41)
				got, _ := rdb.XRange(t.Context(), tr.base+":messages", "-", "+").Result()
				if fmt.Sprint(got) != fmt.Sprint(want) || len(got) != 1 {
					t.Errorf("messages %v, want %v", got, want)
				}
			})
		})
	}
}

func TestRepair_TailTooShortStartsANewEpochAndJumps(t *testing.T) {
	writerServers(t, func(t *testing.T, addr string) {
		log, rdb := openLog(t, addr, eventlog.Options{ReplayMaxFrames: 5000})
		tr := seedTurn(t, log, rdb, "u", "t")
		var commits []eventlog.Commit
		w := log.NewWriter(tr.fence, tr.admission, eventlog.WriterOptions{OnCommit: func(c eventlog.Commit) {
			c.Entries = append([]eventlog.Entry(nil), c.Entries...)
			commits = append(commits, c)
		}})
		defer w.Abandon()
		emit(t, w, chunk(0))
		flush(t, w)
		old := takeBackup(t, rdb, tr.base)
		const n = 1500
		for i := 1; i < n; i++ {
			emit(t, w, chunk(i))
		}
		flush(t, w)
		_, before := w.Position()
		old.restore(t, rdb, tr.base)

		emit(t, w, chunk(n))
		flush(t, w)
		epoch, seq := w.Position()
		if epoch == "ep1" || seq < before+65536 {
			t.Fatalf("position %s %d, before %d", epoch, seq, before)
		}
		state := rdb.HMGet(t.Context(), tr.base+":state", "epoch", "last_seq", "appended").Val()
		if fmt.Sprint(state) != fmt.Sprint([]any{epoch, strconv.FormatInt(seq, 10), strconv.Itoa(n + 1)}) {
			t.Errorf("state %v", state)
		}
		entries, _ := rdb.XRange(t.Context(), tr.base+":log", strconv.FormatInt(before+1, 10), "+").Result()
		if len(entries) < 100 {
			t.Fatalf("only %d frames came back", len(entries))
		}
		if held := rdb.XLen(t.Context(), tr.base+":log").Val(); held != int64(len(entries)) {
			t.Errorf("the log holds %d frames and so a hole; want only the %d of the new epoch", held, len(entries))
		}
		for i, e := range entries {
			if want := string(chunk(n + 1 - len(entries) + i).Frame); e.Values["frame"] != want {
				t.Fatalf("frame %d is %v, want %s", i, e.Values["frame"], want)
			}
		}
		last := commits[len(commits)-1]
		if last.Epoch != epoch || last.FirstSeq != seq {
			t.Errorf("last commit %s %d", last.Epoch, last.FirstSeq)
		}
		rebuilt := commits[len(commits)-2]
		if rebuilt.Epoch != epoch || rebuilt.FirstSeq+int64(len(rebuilt.Entries)) != seq {
			t.Errorf("the frames written again were told as %s %d+%d", rebuilt.Epoch, rebuilt.FirstSeq, len(rebuilt.Entries))
		}
	})
}

func TestRepair_LogAheadOfStateStartsANewEpoch(t *testing.T) {
	writerServers(t, func(t *testing.T, addr string) {
		log, rdb := openLog(t, addr, eventlog.Options{})
		tr := seedTurn(t, log, rdb, "u", "t")
		w := log.NewWriter(tr.fence, tr.admission, eventlog.WriterOptions{})
		defer w.Abandon()
		emit(t, w, chunk(0))
		flush(t, w)
		foreign := &redis.XAddArgs{Stream: tr.base + ":log", ID: "9-0", Values: []any{"turn", 1, "type", "x", "pos", 1, "frame", "{}"}}
		if err := rdb.XAdd(t.Context(), foreign).Err(); err != nil {
			t.Fatal(err)
		}
		emit(t, w, chunk(1))
		flush(t, w)
		if epoch, seq := w.Position(); epoch == "ep1" || seq != 9+65536+1 {
			t.Errorf("position %s %d", epoch, seq)
		}
	})
}

func TestB51_RebuildWithALostReplyWritesOnce(t *testing.T) {
	writerServers(t, func(t *testing.T, addr string) {
		proxy := startFaultProxy(t, addr)
		log, _ := openLog(t, proxy.addr(), eventlog.Options{})
		direct := redis.NewClient(&redis.Options{Addr: addr})
		defer func() { _ = direct.Close() }()
		tr := seedTurn(t, log, direct, "u", "t")
		w := log.NewWriter(tr.fence, tr.admission, eventlog.WriterOptions{})
		defer w.Abandon()
		n := 0
		for round := range 10 {
			emit(t, w, chunk(n))
			flush(t, w)
			old := takeBackup(t, direct, tr.base)
			for range 5 {
				n++
				emit(t, w, chunk(n))
			}
			flush(t, w)
			old.restore(t, direct, tr.base)
			n++
			proxy.dropRate.Store(int64(100 * (round % 5)))
			emit(t, w, chunk(n))
			flush(t, w)
			proxy.dropRate.Store(0)
			n++
			wantChunks(t, direct, tr.base, n)
		}
	})
}

func TestB3_B4_LogIsTrimmedExactlyByFramesAndBytes(t *testing.T) {
	size := len(chunk(0).Frame)
	for name, row := range map[string]struct {
		opt  eventlog.Options
		held int
	}{
		"3 frames":                 {eventlog.Options{ReplayMaxFrames: 3}, 3},
		"bytes of 3 frames":        {eventlog.Options{ReplayMaxBytes: int64(3 * size)}, 3},
		"a byte less than 4":       {eventlog.Options{ReplayMaxBytes: int64(4*size - 1)}, 3},
		"less than one frame":      {eventlog.Options{ReplayMaxBytes: 1}, 1},
		"bytes win over frames":    {eventlog.Options{ReplayMaxFrames: 150, ReplayMaxBytes: int64(2 * size)}, 2},
		"frames before bytes":      {eventlog.Options{ReplayMaxFrames: 2, ReplayMaxBytes: int64(50 * size)}, 2},
		"one by one and in groups": {eventlog.Options{ReplayMaxBytes: int64(7 * size)}, 7},
	} {
		t.Run(name, func(t *testing.T) {
			writerServers(t, func(t *testing.T, addr string) {
				log, rdb := openLog(t, addr, row.opt)
				tr := seedTurn(t, log, rdb, "u", "t")
				w := log.NewWriter(tr.fence, tr.admission, eventlog.WriterOptions{})
				defer w.Abandon()
				for i := range 60 {
					emit(t, w, chunk(i%10))
					if i%10 < 5 {
						flush(t, w)
					}
				}
				flush(t, w)
				first, frames := logFrames(t, rdb, tr.base)
				if len(frames) != row.held || first+int64(len(frames)) != 62 {
					t.Errorf("held %d frames from %d, want %d", len(frames), first, row.held)
				}
			})
		})
	}
}

func TestB4_LargeLogStaysBelowItsByteLimit(t *testing.T) {
	addr := startRealRedis(t)
	const limit = 2 << 20
	log, rdb := openLog(t, addr, eventlog.Options{ReplayMaxBytes: limit, ReplayMaxFrames: 100000})
	tr := seedTurn(t, log, rdb, "u", "t")
	w := log.NewWriter(tr.fence, tr.admission, eventlog.WriterOptions{})
	defer w.Abandon()
	frame := []byte(`{"type":"chunk","content":"` + strings.Repeat("x", 5000) + `"}`)
	for range 2000 {
		emit(t, w, eventlog.Entry{Type: "chunk", Frame: frame})
	}
	flush(t, w)
	first, frames := logFrames(t, rdb, tr.base)
	if held := len(frames) * len(frame); held > limit || held < limit*9/10 || first+int64(len(frames)) != 2002 {
		t.Errorf("%d bytes held from %d, limit %d", held, first, limit)
	}
}
