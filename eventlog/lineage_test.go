package eventlog_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"turnlog/eventlog"
	"turnlog/internal/redistest"
)

// say runs a turn on the thread with one answer; its rows are "user" and the text.
func (w *world) say(t eventlog.Thread, text string) eventlog.Admission {
	w.Helper()
	s := w.submission()
	s.Message = []byte(fmt.Sprintf(`{"role":"user","content":"%s?"}`, text))
	a := w.begin(eventlog.Begin{Thread: t, Submission: s}, eventlog.VerdictStarted)
	w.emit(t, a, "node-a", eventlog.Entry{Type: "message", Frame: []byte(fmt.Sprintf(`{"type":"message","role":"assistant","content":"%s!"}`, text))})
	w.finish(t, a, eventlog.OutcomeCompleted)
	return a
}

func (w *world) create(t eventlog.Thread, m eventlog.ThreadMeta) {
	w.Helper()
	w.must(w.log.SetThread(w.Context(), t, m))
}

// history is the contents of the thread's history.
func (w *world) history(t eventlog.Thread, before int64, limit int) string {
	w.Helper()
	rows, err := w.log.History(w.Context(), t, before, limit)
	if err != nil {
		w.Fatalf("history: %v", err)
	}
	var out []string
	for _, r := range rows {
		_, rest, _ := strings.Cut(string(r.Row), `"content":"`)
		text, _, _ := strings.Cut(rest, `"`)
		out = append(out, text)
	}
	return strings.Join(out, " ")
}

func (w *world) wantHistory(t eventlog.Thread, want string) {
	w.Helper()
	if got := w.history(t, 0, 0); got != want {
		w.Fatalf("history of %s:\n got %s\nwant %s", t.ID, got, want)
	}
}

func TestHistoryGoesBackOverTheLineage(t *testing.T) {
	conform(t, eventlog.Options{}, func(w *world) {
		root, next, leaf := w.thread(), w.thread(), w.thread()
		root.ID = "root/1 with space" // ids are free text
		w.say(root, "a")
		w.say(root, "b") // rows 1 2, 5 6
		w.create(next, eventlog.ThreadMeta{Continues: root.ID})
		w.wantHistory(next, "a? a! b? b!") // before it ever ran
		w.say(root, "late")
		w.wantHistory(next, "a? a! b? b!") // what comes later is not shown
		w.say(next, "c")
		w.create(leaf, eventlog.ThreadMeta{BranchOf: next.ID})
		d := w.say(leaf, "d")
		w.wantHistory(leaf, "a? a! b? b! c? c! d? d!")
		for limit, want := range map[int]string{1: "d!", 3: "c! d? d!", 6: "b? b! c? c! d? d!", 8: "a? a! b? b! c? c! d? d!"} {
			if got := w.history(leaf, 0, limit); got != want {
				w.Errorf("limit %d: %s, want %s", limit, got, want)
			}
		}
		if got := w.history(leaf, d.FirstSeq, 3); got != "b! c? c!" {
			w.Errorf("before its own turn: %s", got)
		}
		rows, err := w.log.History(w.Context(), leaf, 0, 0)
		if err != nil || rows[0].ThreadID != root.ID || rows[4].ThreadID != next.ID || rows[6].ThreadID != leaf.ID {
			w.Errorf("rows %+v, %v", rows, err)
		}
		stranger := eventlog.Thread{User: "mallory", ID: "t"}
		w.create(stranger, eventlog.ThreadMeta{BranchOf: root.ID})
		w.wantHistory(stranger, "") // a lineage stays within its user
	})
}

func TestTheBranchPointIsStoredWithTheThread(t *testing.T) {
	conform(t, eventlog.Options{}, func(w *world) {
		for _, c := range []struct {
			name   string
			ofKid  bool
			at     int64
			stored int64
			want   string
		}{
			{"newest row by default", false, 0, 6, "a? a! b? b!"},
			{"at a row", false, 5, 5, "a? a! b?"},
			{"between rows", false, 4, 2, "a? a!"},
			{"beyond the end", false, 99, 6, "a? a! b? b!"},
			{"nothing", false, -1, -1, ""},
			{"of a branch", true, 1, 1, "a? a! b? b! k?"},
			{"nothing of the whole lineage", true, -7, -1, ""},
		} {
			root, kid, th := w.thread(), w.thread(), w.thread()
			w.say(root, "a")
			w.say(root, "b")
			w.create(kid, eventlog.ThreadMeta{BranchOf: root.ID})
			w.say(kid, "k")
			parent := root
			if c.ofKid {
				parent = kid
			}
			for range 2 { // settled by the first call
				w.create(th, eventlog.ThreadMeta{BranchOf: parent.ID, BranchSeq: c.at})
				w.say(parent, "later")
				if m, ok, err := w.log.Thread(w.Context(), th); err != nil || !ok || m.BranchOf != parent.ID || m.BranchSeq != c.stored {
					w.Errorf("%s: metadata %+v, %v, %v", c.name, m, ok, err)
				}
				if got := w.history(th, 0, 0); got != c.want {
					w.Errorf("%s: %q, want %q", c.name, got, c.want)
				}
			}
		}
		root, idle, th := w.thread(), w.thread(), w.thread()
		w.say(root, "a")
		w.create(idle, eventlog.ThreadMeta{Continues: root.ID}) // never ran
		w.create(th, eventlog.ThreadMeta{BranchOf: idle.ID})
		w.say(idle, "later")
		w.wantHistory(th, "a? a!")
	})
}

func (w *world) mustAlso(_ bool, err error) {
	w.Helper()
	w.must(err)
}

func TestHistoryIsShorterWhereAnAncestorIsGone(t *testing.T) {
	conform(t, eventlog.Options{}, func(w *world) {
		family := func() (root, mid, leaf eventlog.Thread) {
			root, mid, leaf = w.thread(), w.thread(), w.thread()
			w.say(root, "r")
			w.create(mid, eventlog.ThreadMeta{Continues: root.ID})
			w.say(mid, "m")
			w.create(leaf, eventlog.ThreadMeta{Continues: mid.ID})
			w.say(leaf, "l")
			w.wantHistory(leaf, "r? r! m? m! l? l!")
			return root, mid, leaf
		}
		root, _, leaf := family()
		w.mustAlso(w.log.Delete(w.Context(), root))
		w.wantHistory(leaf, "m? m! l? l!")
		w.say(root, "reborn") // the same name, the same numbers, another life
		w.wantHistory(leaf, "m? m! l? l!")

		_, mid, leaf := family()
		w.mustAlso(w.log.Delete(w.Context(), mid))
		w.wantHistory(leaf, "l? l!") // no hole in the middle

		root, _, leaf = family()
		w.must(w.rdb.Del(w.Context(), w.base(root)+":messages", w.base(root)+":state").Err()) // expired
		w.wantHistory(leaf, "m? m! l? l!")

		// A new epoch of the parent (numbers were lost) does not hide what was there before it.
		root, _, leaf = family()
		w.must(w.rdb.HSet(w.Context(), w.base(root)+":state", "epoch", "another").Err())
		w.say(root, "new")
		w.wantHistory(leaf, "r? r! m? m! l? l!")

		// A parent that never was: what is said under its name later is not shown.
		orphan, future := w.thread(), w.thread()
		w.create(orphan, eventlog.ThreadMeta{Continues: future.ID})
		w.say(future, "f")
		w.wantHistory(orphan, "")
		w.say(orphan, "o")
		w.wantHistory(orphan, "o? o!")
	})
}

func TestAThreadCannotDescendFromItself(t *testing.T) {
	conform(t, eventlog.Options{}, func(w *world) {
		refused := func(th eventlog.Thread, m eventlog.ThreadMeta, why string) {
			w.Helper()
			_, before, _ := w.log.Thread(w.Context(), th)
			if err := w.log.SetThread(w.Context(), th, m); !errors.Is(err, eventlog.ErrLineage) || !strings.Contains(err.Error(), why) {
				w.Errorf("%+v: %v", m, err)
			}
			if _, after, _ := w.log.Thread(w.Context(), th); after != before {
				w.Errorf("%+v left something", m)
			}
		}
		a, b, c := w.thread(), w.thread(), w.thread()
		refused(a, eventlog.ThreadMeta{Continues: a.ID}, "descend from itself")
		refused(a, eventlog.ThreadMeta{BranchOf: a.ID}, "descend from itself")
		refused(a, eventlog.ThreadMeta{BranchOf: b.ID, Continues: c.ID}, "either")
		refused(a, eventlog.ThreadMeta{BranchSeq: 3}, "without a thread")
		w.create(b, eventlog.ThreadMeta{Continues: a.ID}) // a does not exist yet
		w.create(c, eventlog.ThreadMeta{BranchOf: b.ID, BranchSeq: -1})
		refused(a, eventlog.ThreadMeta{Continues: c.ID}, "descends from it")
		refused(b, eventlog.ThreadMeta{Continues: c.ID}, "exists already")
		w.create(b, eventlog.ThreadMeta{Title: "x"})
		w.create(a, eventlog.ThreadMeta{Title: "a root"})
		w.mustAlso(w.log.Delete(w.Context(), b))
		refused(b, eventlog.ThreadMeta{Continues: c.ID}, "descends from it") // c still goes back to b
	})
}

func TestLineageIsBounded(t *testing.T) {
	conform(t, eventlog.Options{}, func(w *world) {
		th := w.thread()
		w.say(th, "0")
		for i := 1; i <= eventlog.MaxLineage+3; i++ {
			next := w.thread()
			w.create(next, eventlog.ThreadMeta{Continues: th.ID})
			w.say(next, fmt.Sprint(i))
			th = next
		}
		got := strings.Fields(w.history(th, 0, 1000))
		if len(got) != 2*(eventlog.MaxLineage+1) || got[0] != "3?" || got[len(got)-1] != "35!" {
			w.Errorf("%d rows: %v", len(got), got)
		}
	})
}

func TestHistoryReadsPagesOfManyRows(t *testing.T) {
	log, rdb := openLog(t, redistest.Start(t), eventlog.Options{})
	w := &world{TB: t, log: log, rdb: rdb}
	row := func(n int) eventlog.Entry {
		return eventlog.Entry{Type: "message", Frame: []byte(fmt.Sprintf(`{"type":"message","role":"assistant","content":"%d"}`, n))}
	}
	parent, th := w.thread(), w.thread()
	var want []string
	for i, x := range []eventlog.Thread{parent, th} {
		if i == 1 {
			w.create(th, eventlog.ThreadMeta{Continues: parent.ID})
		}
		a := w.start(x)
		want = append(want, "hello")
		var all []eventlog.Entry
		for n := range 1100 {
			all = append(all, row(n))
			want = append(want, fmt.Sprint(n))
		}
		w.emit(x, a, "node-a", all...)
		w.finish(x, a, eventlog.OutcomeCompleted)
	}
	for _, limit := range []int{500, 1000, 1101, 1601, 1700, 2202, 5000} {
		rows, err := log.History(t.Context(), th, 0, limit)
		if err != nil || len(rows) != min(limit, 2202) {
			t.Fatalf("limit %d: %d rows, %v", limit, len(rows), err)
		}
		for i, r := range rows {
			if w := want[len(want)-len(rows)+i]; !strings.Contains(string(r.Row), `"content":"`+w) {
				t.Fatalf("limit %d, row %d of %d is %s, want %s", limit, i, len(rows), r.Row, w)
			}
		}
	}
}

// A thread without lineage is read in the one round trip that its own rows take.
func TestHistoryWithoutLineageIsOneRoundTrip(t *testing.T) {
	log, rdb := openLog(t, redistest.Start(t), eventlog.Options{})
	w := &world{TB: t, log: log, rdb: rdb}
	alone := w.thread()
	w.say(alone, "a")
	w.history(alone, 0, 0) // connects
	trips := &commands{}
	rdb.AddHook(trips)
	w.wantHistory(alone, "a? a!")
	if n := trips.trips.Load(); n != 1 {
		t.Errorf("alone: %d round trips", n)
	}
	th := alone
	for range eventlog.MaxLineage {
		next := w.thread()
		w.create(next, eventlog.ThreadMeta{Continues: th.ID})
		w.say(next, "x")
		th = next
	}
	trips.trips.Store(0)
	w.history(th, 0, 1000)
	if n := trips.trips.Load(); n != 7 { // 1 + 1, 2, 4, 8, 16 and the last of 32 ancestors
		t.Errorf("32 ancestors: %d round trips", n)
	}
	trips.trips.Store(0)
	w.history(th, 0, 2)
	if n := trips.trips.Load(); n != 1 {
		t.Errorf("enough rows of its own: %d round trips", n)
	}
}
