package eventlog_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"turnlog/eventlog"
)

func TestB1_FramesGetConsecutiveNumbers(t *testing.T) {
	conform(t, eventlog.Options{}, func(w *world) {
		th := w.thread()
		a := w.start(th)
		if a.FirstSeq != 1 || a.Attempt != 1 || a.Ordinal != 1 || a.Policy != eventlog.PolicyGrace || a.Epoch == "" {
			w.Fatalf("admission %+v", a)
		}
		w.emit(th, a, "node-a", chunk(0), chunk(1))
		f := w.finish(th, a, eventlog.OutcomeCompleted)
		if !f.Won || f.FirstSeq != 4 || f.LastSeq != 5 || f.Epoch != a.Epoch || len(f.Frames) != 2 {
			w.Fatalf("finished %+v", f)
		}
		w.types(th, "1 turn_started", "2 chunk", "3 chunk", "4 chunk", "5 turn_finished")
		started := string(w.frames(th, 0)[0].Frame)
		if started != string(a.Started) || !strings.Contains(started, `"list":[],"big":12345678901234567890`) || !strings.Contains(started, `"on_disconnect":"grace"`) {
			w.Fatalf("turn_started %s, admission %s", started, a.Started)
		}
		ids, err := w.log.TurnIDs(w.Context(), th)
		if err != nil || ids[1] != a.TurnID {
			w.Fatalf("turn ids %v, %v", ids, err)
		}
	})
}

func TestB2_APageStartsBehindTheCursor(t *testing.T) {
	conform(t, eventlog.Options{}, func(w *world) {
		th := w.thread()
		a := w.start(th)
		w.emit(th, a, "node-a", chunk(0), chunk(1), chunk(2))
		s := w.attach(eventlog.Attach{Thread: th, Cursor: eventlog.Cursor{LastSeq: 2}})
		if s.Status != eventlog.StatusRunning || len(s.Page) != 2 || s.Page[0].Seq != 3 || s.LastSeq != 4 || s.Owner != "node-a" || s.FirstHeld != 1 {
			w.Fatalf("snapshot %+v", s)
		}
		if s = w.attach(eventlog.Attach{Thread: th, Cursor: eventlog.Cursor{LastSeq: 2}, PageFrames: 1}); len(s.Page) != 1 || s.Page[0].Seq != 3 {
			w.Fatalf("page of one frame: %+v", s.Page)
		}
		if s = w.attach(eventlog.Attach{Thread: th, Cursor: eventlog.Cursor{LastSeq: 1}, PageBytes: 70}); len(s.Page) != 2 {
			w.Fatalf("page of 70 bytes: %+v", s.Page)
		}
		if s = w.attach(eventlog.Attach{Thread: th, Cursor: eventlog.Cursor{Live: true}}); len(s.Page) != 0 {
			w.Fatalf("live page: %+v", s.Page)
		}
		f, err := w.log.Frames(w.Context(), th, 1, 3, 100, 0)
		if err != nil || len(f) != 2 || f[1].Seq != 3 {
			w.Fatalf("frames 2 to 3: %+v, %v", f, err)
		}
		if f, err = w.log.Frames(w.Context(), th, 0, 0, 100, 1); err != nil || len(f) != 1 {
			w.Fatalf("at least one frame: %+v, %v", f, err)
		}
	})
}

func TestB3_TheFrameLimitKeepsTheNewest(t *testing.T) {
	conform(t, eventlog.Options{ReplayMaxFrames: 3}, func(w *world) {
		th := w.thread()
		a := w.start(th)
		w.emit(th, a, "node-a", chunk(0), chunk(1), chunk(2), chunk(3))
		w.types(th, "3 chunk", "4 chunk", "5 chunk")
		if s := w.look(th); s.FirstHeld != 3 {
			w.Fatalf("first held %d", s.FirstHeld)
		}
		w.finish(th, a, eventlog.OutcomeCompleted)
		w.types(th, "5 chunk", "6 chunk", "7 turn_finished")
	})
}

func TestB4_TheByteLimitKeepsTheNewest(t *testing.T) {
	conform(t, eventlog.Options{ReplayMaxBytes: 200}, func(w *world) {
		th := w.thread()
		a := w.start(th)
		big := eventlog.Entry{Type: "chunk", Frame: []byte(`{"type":"chunk","content":"` + strings.Repeat("x", 60) + `"}`)}
		wr := w.emit(th, a, "node-a", big, big, big, big)
		w.types(th, "4 chunk", "5 chunk")
		huge := eventlog.Entry{Type: "chunk", Frame: []byte(`{"type":"chunk","content":"` + strings.Repeat("y", 600) + `"}`)}
		w.more(wr, huge)
		w.types(th, "6 chunk")
	})
}

func TestB5_NumberingContinuesInTheNextTurn(t *testing.T) {
	opt := eventlog.Options{ReplayRetention: 100 * time.Millisecond}
	conform(t, opt, func(w *world) {
		th := w.thread()
		a := w.start(th)
		w.finish(th, a, eventlog.OutcomeCompleted)
		b := w.start(th)
		if b.FirstSeq != 4 || b.Epoch != a.Epoch || b.Ordinal != 2 {
			w.Fatalf("second turn %+v", b)
		}
		w.finish(th, b, eventlog.OutcomeCompleted)
		w.pass(time.Second, w.base(th)+":log")
		c := w.start(th)
		if c.FirstSeq != 7 || c.Epoch != a.Epoch {
			w.Fatalf("turn after the log expired %+v", c)
		}
		ids, err := w.log.TurnIDs(w.Context(), th)
		if err != nil || len(ids) != 1 || ids[3] != c.TurnID {
			w.Fatalf("turn ids %v, %v", ids, err)
		}
	})
}

func TestB6_ALostStateStartsANewEpochAboveBothStreams(t *testing.T) {
	for _, gone := range []string{"state", "state log", "state messages"} {
		t.Run(gone, func(t *testing.T) {
			conform(t, eventlog.Options{}, func(w *world) {
				th := w.thread()
				a := w.start(th)
				w.emit(th, a, "node-a", eventlog.Entry{Type: "message", Frame: []byte(`{"type":"message","content":"x"}`)})
				w.finish(th, a, eventlog.OutcomeCompleted)
				for _, k := range strings.Fields(gone) {
					w.rdb.Del(w.Context(), w.base(th)+":"+k)
				}
				b := w.start(th)
				want := int64(5)
				if gone == "state log" {
					want = 3
				}
				if b.FirstSeq != want || b.Epoch == a.Epoch {
					w.Fatalf("after loss of %s: %+v, first epoch %s", gone, b, a.Epoch)
				}
			})
		})
	}
}

func TestB6_ACursorThatFitsNothingIsFresh(t *testing.T) {
	conform(t, eventlog.Options{}, func(w *world) {
		th := w.thread()
		a := w.start(th)
		w.emit(th, a, "node-a", chunk(0))
		for name, c := range map[string]eventlog.Cursor{"ahead": {LastSeq: 99}, "other epoch": {LastSeq: 1, Epoch: "other"}, "fresh": {}} {
			if s := w.attach(eventlog.Attach{Thread: th, Cursor: c}); len(s.Page) != 2 || s.Page[0].Seq != 1 {
				w.Fatalf("%s: page %+v", name, s.Page)
			}
		}
	})
}

func TestB7_ACursorWithEpochReachesIntoOlderTurns(t *testing.T) {
	conform(t, eventlog.Options{}, func(w *world) {
		th := w.thread()
		a := w.start(th)
		w.finish(th, a, eventlog.OutcomeCompleted)
		w.start(th)
		s := w.attach(eventlog.Attach{Thread: th, Cursor: eventlog.Cursor{LastSeq: 1, Epoch: a.Epoch}})
		if len(s.Page) != 3 || s.Page[0].Seq != 2 || s.Page[0].Ordinal != 1 || s.Page[2].Ordinal != 2 || s.TurnFirstSeq != 4 {
			w.Fatalf("snapshot %+v", s)
		}
	})
}

func TestB8_AFreshClientStartsBehindTheLastMessage(t *testing.T) {
	conform(t, eventlog.Options{}, func(w *world) {
		th := w.thread()
		w.finish(th, w.start(th), eventlog.OutcomeCompleted)
		a := w.start(th) // 4
		wr := w.emit(th, a, "node-a", eventlog.Entry{Type: "tool_call", Frame: []byte(`{"type":"tool_call","tool_call_id":"r1"}`),
			Opens: &eventlog.Request{ID: "r1", Kind: "tool_call", Name: "look up", Prefer: "conn-1"}})
		if s := w.attach(eventlog.Attach{Thread: th}); s.Page[0].Seq != 4 {
			w.Fatalf("page %+v", s.Page)
		}
		w.more(wr, eventlog.Entry{Type: "message", Frame: []byte(`{"type":"message","content":"x"}`)}, chunk(1))
		s := w.attach(eventlog.Attach{Thread: th})
		if len(s.Page) != 1 || s.Page[0].Seq != 7 || s.LastMessageSeq != 6 {
			w.Fatalf("snapshot %+v", s)
		}
		if len(s.Open) != 1 || s.Open[0].Seq != 5 || s.Open[0].Name != "look up" || s.Open[0].Kind != "tool_call" || string(s.Open[0].Frame) != `{"type":"tool_call","tool_call_id":"r1"}` {
			w.Fatalf("open requests %+v", s.Open)
		}
		rows, err := w.log.Messages(w.Context(), th, 0, 10)
		if err != nil || len(rows) != 3 || rows[2].Seq != 6 || rows[2].TurnID != a.TurnID || rows[2].Epoch != a.Epoch || string(rows[2].Row) != `{"type":"message","content":"x"}` {
			w.Fatalf("messages %+v, %v", rows, err)
		}
		if rows, err = w.log.Messages(w.Context(), th, 6, 1); err != nil || len(rows) != 1 || rows[0].Seq != 4 {
			w.Fatalf("page of messages %+v, %v", rows, err)
		}
	})
}

func TestB12_AFinishedTurnReplaysUntilItsRetentionIsOver(t *testing.T) {
	conform(t, eventlog.Options{ReplayRetention: 300 * time.Millisecond}, func(w *world) {
		th := w.thread()
		w.finish(th, w.start(th), eventlog.OutcomeCompleted)
		if s := w.look(th); s.Status != eventlog.StatusFinished || len(s.Page) != 3 || s.Outcome != eventlog.OutcomeCompleted {
			w.Fatalf("snapshot %+v", s)
		}
		before := w.rdb.PTTL(w.Context(), w.base(th)+":log").Val()
		w.attach(eventlog.Attach{Thread: th, Node: "node-b", Generation: 1})
		if after := w.rdb.PTTL(w.Context(), w.base(th)+":log").Val(); after > before || after <= 0 {
			w.Fatalf("attaching changed the log's TTL from %s to %s", before, after)
		}
		w.pass(time.Second, w.base(th)+":log")
		s := w.look(th)
		if s.Status != eventlog.StatusUnknown || len(s.Page) != 0 || s.FirstHeld != 0 {
			w.Fatalf("snapshot after retention %+v", s)
		}
		rows, err := w.log.Messages(w.Context(), th, 0, 10)
		if err != nil || len(rows) != 1 {
			w.Fatalf("history %+v, %v", rows, err)
		}
	})
}

func TestB13_ARunningTurnsKeysNeverExpire(t *testing.T) {
	conform(t, eventlog.Options{ReplayRetention: time.Second}, func(w *world) {
		th := w.thread()
		w.finish(th, w.start(th), eventlog.OutcomeCompleted)
		w.start(th)
		for _, k := range []string{"log", "state", "messages", "turns", "viewers"} {
			if ttl := w.rdb.PTTL(w.Context(), w.base(th)+":"+k).Val(); ttl != -1 {
				w.Fatalf("%s has TTL %s", k, ttl)
			}
		}
	})
}

func TestB103_NoIdReachesAnotherKey(t *testing.T) {
	conform(t, eventlog.Options{}, func(w *world) {
		for _, id := range []string{"a{b}c", "a:state", "a/b", "a b", "%41", "emoji 🎈", strings.Repeat("x", 256), "*", "\n"} {
			th := eventlog.Thread{User: "u" + id[:min(len(id), 40)], ID: id}
			if len(id) > 40 {
				th.User = "long"
			}
			a := w.start(th)
			if a.FirstSeq != 1 {
				w.Fatalf("%q shares its key with another thread", id)
			}
			running, err := w.log.RunningTurns(w.Context(), th.User)
			if err != nil || len(running) != 1 || running[0].Thread != th {
				w.Fatalf("%q: running turns %+v, %v", id, running, err)
			}
		}
		for _, id := range []string{"", strings.Repeat("x", 257), strings.Repeat("🎈", 30), "\xff", strings.Repeat("k", 10<<10)} {
			th := eventlog.Thread{User: "alice", ID: id}
			_, err := w.log.Begin(w.Context(), eventlog.Begin{Thread: th, Submission: w.submission(), Node: "node-a"})
			if !errors.Is(err, eventlog.ErrBadID) {
				w.Fatalf("thread id of %d bytes: %v", len(id), err)
			}
			if _, err = w.log.Attach(w.Context(), eventlog.Attach{Thread: eventlog.Thread{User: id, ID: "t"}}); !errors.Is(err, eventlog.ErrBadID) {
				w.Fatalf("user of %d bytes: %v", len(id), err)
			}
		}
	})
}
