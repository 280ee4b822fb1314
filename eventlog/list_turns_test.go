package eventlog_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"turnlog/eventlog"
	"turnlog/internal/redistest"
)

// pages turns all pages and returns what they show, in order.
func (w *world) pages(f eventlog.TurnFilter, limit int) (names []string, turns []eventlog.ListedTurn) {
	w.Helper()
	at := eventlog.TurnPosition{}
	for range 10_000 {
		page, err := w.log.ListTurns(w.Context(), f, at, limit)
		w.must(err)
		if len(page.Turns) > limit || page.Next == at && at != (eventlog.TurnPosition{}) {
			w.Fatalf("a page of %d turns, from %v to %v", len(page.Turns), at, page.Next)
		}
		for _, turn := range page.Turns {
			names, turns = append(names, turn.Thread.User+"/"+turn.Thread.ID), append(turns, turn)
		}
		if at = page.Next; at == (eventlog.TurnPosition{}) {
			return names, turns
		}
	}
	w.Fatal("the pages do not end")
	return nil, nil
}

func TestRunningTurnsAreListedByTheirStartInPages(t *testing.T) {
	conform(t, eventlog.Options{}, func(w *world) {
		var want []string
		for i := range 23 {
			th := eventlog.Thread{User: fmt.Sprintf("u/%d", i%5), ID: fmt.Sprintf("t%02d", i)}
			a := w.start(th)
			p, err := w.log.Partition(th.User)
			w.must(err)
			user, _ := eventlog.EncodeID(th.User)
			// All of one user and some of others began in the same millisecond.
			at := 1_700_000_000_000 + int64(i)
			if i%5 == 0 || i > 15 {
				at = 1_700_000_000_500
			}
			w.must(w.rdb.ZAddXX(w.Context(), fmt.Sprintf("turnlog:{%d}:turns", p), redis.Z{Score: float64(at), Member: user + "/" + th.ID}).Err())
			if i == 3 {
				w.finish(th, a, eventlog.OutcomeCompleted)
				continue
			}
			want = append(want, fmt.Sprint(at)+" "+th.User+"/"+th.ID)
		}
		slices.Sort(want)
		for i, name := range want {
			want[i] = name[14:]
		}
		for _, limit := range []int{1, 2, 7, 22, 23, 100} {
			if got, _ := w.pages(eventlog.TurnFilter{}, limit); !slices.Equal(got, want) {
				w.Fatalf("pages of %d:\n%v, want\n%v", limit, got, want)
			}
		}
		if _, err := w.log.ListTurns(w.Context(), eventlog.TurnFilter{}, eventlog.TurnPosition{Started: 1, Name: "x"}, 10); !errors.Is(err, eventlog.ErrBadID) {
			w.Errorf("a bad position: %v", err)
		}
	})
}

func TestRunningTurnsAreFiltered(t *testing.T) {
	conform(t, eventlog.Options{Grace: time.Hour}, func(w *world) {
		watched, graced, kept := eventlog.Thread{User: "ann", ID: "Trip"}, eventlog.Thread{User: "ann", ID: "work/1"}, eventlog.Thread{User: "bob", ID: "x"}
		w.start(watched)
		b := w.begin(eventlog.Begin{Thread: graced, Submission: w.submission(), Generation: 1, Kind: "batch"}, eventlog.VerdictStarted)
		w.detach(graced, "node-a", 1, false)
		s := w.submission()
		s.Headless = true
		w.begin(eventlog.Begin{Thread: kept, Submission: s, Node: "node-b"}, eventlog.VerdictStarted)
		for name, row := range map[string]struct {
			filter eventlog.TurnFilter
			want   []string
		}{
			"none":       {eventlog.TurnFilter{}, []string{"ann/Trip", "ann/work/1", "bob/x"}},
			"user":       {eventlog.TurnFilter{User: "ann"}, []string{"ann/Trip", "ann/work/1"}},
			"no user":    {eventlog.TurnFilter{User: "a"}, nil},
			"node":       {eventlog.TurnFilter{Node: "node-b"}, []string{"bob/x"}},
			"lost":       {eventlog.TurnFilter{Node: eventlog.NoNode}, nil},
			"watched":    {eventlog.TurnFilter{State: eventlog.TurnWatched}, []string{"ann/Trip"}},
			"detached":   {eventlog.TurnFilter{State: eventlog.TurnDetached}, []string{"ann/work/1", "bob/x"}},
			"kind":       {eventlog.TurnFilter{Kind: "batch"}, []string{"ann/work/1"}},
			"policy":     {eventlog.TurnFilter{Policy: eventlog.PolicyPreserve}, []string{"bob/x"}},
			"thread":     {eventlog.TurnFilter{Search: "tRI"}, []string{"ann/Trip"}},
			"slash":      {eventlog.TurnFilter{Search: "k/1"}, []string{"ann/work/1"}},
			"a user":     {eventlog.TurnFilter{Search: "BO"}, []string{"bob/x"}},
			"turn":       {eventlog.TurnFilter{Search: b.TurnID}, []string{"ann/work/1"}},
			"everything": {eventlog.TurnFilter{User: "ann", Node: "node-a", State: eventlog.TurnDetached, Kind: "batch", Policy: eventlog.PolicyGrace, Search: "work"}, []string{"ann/work/1"}},
		} {
			got, turns := w.pages(row.filter, 10)
			slices.Sort(got)
			if !slices.Equal(got, row.want) {
				w.Errorf("%s: %v", name, got)
			}
			if name == "kind" && (len(turns) != 1 || turns[0].Kind != "batch" || turns[0].Started.IsZero() || turns[0].ViewingNodes != 0 || turns[0].State() != eventlog.TurnDetached || turns[0].GraceDeadline.IsZero()) {
				w.Errorf("%+v", turns)
			}
			if name == "watched" && (len(turns) != 1 || turns[0].ViewingNodes != 1 || turns[0].Owner != "node-a") {
				w.Errorf("%+v", turns)
			}
		}
		counts, err := w.log.CountTurns(w.Context())
		w.must(err)
		want := eventlog.TurnCounts{
			Tally: eventlog.Tally{Running: 3, Detached: 2}, Nodes: map[string]eventlog.Tally{"node-a": {Running: 2, Detached: 1}, "node-b": {Running: 1, Detached: 1}},
			Policies: map[eventlog.Policy]eventlog.Tally{eventlog.PolicyCancel: {}, eventlog.PolicyGrace: {Running: 2, Detached: 1}, eventlog.PolicyPreserve: {Running: 1, Detached: 1}},
		}
		if fmt.Sprint(counts) != fmt.Sprint(want) {
			w.Errorf("counts %v, want %v", counts, want)
		}
		backlog, err := w.log.Backlog(w.Context())
		if err != nil || backlog != (eventlog.Backlog{Deadlines: 1}) {
			w.Errorf("backlog %+v, %v", backlog, err)
		}
	})
}

// manyTurns puts 10,000 running turns into Redis: half of them are one user's.
func manyTurns(t testing.TB, log *eventlog.Log, rdb *redis.Client) {
	t.Helper()
	pipe := rdb.Pipeline()
	for i := range 10_000 {
		user := "alice"
		if i%2 == 1 {
			user = fmt.Sprintf("user-%d", i)
		}
		p, err := log.Partition(user)
		if err != nil {
			t.Fatal(err)
		}
		prefix, name := fmt.Sprintf("turnlog:{%d}:", p), fmt.Sprintf("%s/t%d", user, i)
		node := fmt.Sprint("node-", i%4)
		pipe.ZAdd(t.Context(), prefix+"turns", redis.Z{Score: float64(1_700_000_000_000 + i), Member: name})
		pipe.SAdd(t.Context(), prefix+"node:"+node+":turns", name)
		pipe.HSet(t.Context(), prefix+name+":state", "status", "running", "turn_id", fmt.Sprint("turn-", i), "policy", "preserve", "owner", node, "detached_at", 1000)
	}
	if _, err := pipe.Exec(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// B30: the cost of a page is bounded by the page, however many turns run.
func TestB30_APageOfTenThousandRunningTurnsCostsWhatAPageCosts(t *testing.T) {
	log, rdb := openLog(t, redistest.Start(t), eventlog.Options{})
	w := &world{TB: t, log: log, rdb: rdb}
	manyTurns(t, log, rdb)
	counted := &commands{}
	rdb.AddHook(counted)
	cost := func() (sent, trips int64) { return counted.sent.Swap(0), counted.trips.Swap(0) }

	at := eventlog.TurnPosition{}
	for i := range 100 {
		page, err := log.ListTurns(t.Context(), eventlog.TurnFilter{}, at, 100)
		if err != nil || len(page.Turns) != 100 || page.Turns[0].TurnID != fmt.Sprint("turn-", 100*i) || page.Scanned != 100 {
			t.Fatalf("page %d: %d turns, %v", i, len(page.Turns), err)
		}
		if sent, trips := cost(); sent > 64+200+70 || trips > 10 {
			t.Fatalf("page %d took %d commands in %d round trips", i, sent, trips)
		}
		if at = page.Next; (at == eventlog.TurnPosition{}) != (i == 99) {
			t.Fatalf("page %d: next %v", i, at)
		}
	}
	// A search that finds one of them, in the middle: bounded pages, until it is found.
	found, pages := 0, 0
	for at := (eventlog.TurnPosition{}); ; pages++ {
		page, err := log.ListTurns(t.Context(), eventlog.TurnFilter{Search: "TURN-5001"}, at, 100)
		if err != nil || page.Scanned > 2000 {
			t.Fatalf("search: %d scanned, %v", page.Scanned, err)
		}
		if sent, trips := cost(); sent > 2*2000+64*10 || trips > 40 {
			t.Fatalf("a page of a search took %d commands in %d round trips", sent, trips)
		}
		found += len(page.Turns)
		if at = page.Next; at == (eventlog.TurnPosition{}) {
			break
		}
	}
	if found != 1 || pages > 6 {
		t.Errorf("found %d in %d pages", found, pages)
	}
	// A user's turns: one partition.
	page, err := log.ListTurns(t.Context(), eventlog.TurnFilter{User: "user-77"}, eventlog.TurnPosition{}, 100)
	if sent, _ := cost(); err != nil || len(page.Turns) > 1 || sent > 2*2000+10 {
		t.Errorf("of one user: %+v, %v, %d commands", page, err, sent)
	}
	counts, err := log.CountTurns(t.Context())
	if sent, _ := cost(); err != nil || counts.Running != 10_000 || counts.Detached != 10_000 || counts.Nodes["node-3"].Running != 2500 || sent > 64+64+40 {
		t.Errorf("counts %+v, %v, %d commands", counts, err, sent)
	}
	if got, _ := w.pages(eventlog.TurnFilter{Node: "node-1"}, 500); len(got) != 2500 {
		t.Errorf("%d turns of node-1", len(got))
	}
}
