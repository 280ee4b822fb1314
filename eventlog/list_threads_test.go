package eventlog_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/redis/go-redis/v9"

	"turnlog/eventlog"
)

func TestThreadsAreListedByLastActivityInPages(t *testing.T) {
	conform(t, eventlog.Options{}, func(w *world) {
		var want []string
		for i := range 7 {
			th := eventlog.Thread{User: "alice", ID: fmt.Sprintf("a/%d", i)}
			w.must(w.log.SetThread(w.Context(), th, eventlog.ThreadMeta{Title: "title " + th.ID, Kind: "chat"}))
			want = append(want, th.ID)
		}
		w.must(w.log.SetThread(w.Context(), eventlog.Thread{User: "bob", ID: "a/0"}, eventlog.ThreadMeta{Title: "not hers"}))
		// All of them in one millisecond; one that has run out; one that was deleted.
		partition, err := w.log.Partition("alice")
		w.must(err)
		base := fmt.Sprintf("turnlog:{%d}:alice", partition)
		for _, id := range want {
			key, err := eventlog.EncodeID(id)
			w.must(err)
			w.must(w.rdb.ZAddXX(w.Context(), base+":threads", redis.Z{Score: 1700000000000, Member: key}).Err())
		}
		w.must(w.rdb.Del(w.Context(), base+"/a%2F3:state").Err())
		if _, err := w.log.Delete(w.Context(), eventlog.Thread{User: "alice", ID: "a/5"}); err != nil {
			w.Fatal(err)
		}
		want = []string{"a/6", "a/4", "a/2", "a/1", "a/0"}
		for limit := 1; limit < 8; limit++ {
			var got []string
			at := eventlog.ThreadPosition{}
			for range 10 {
				page, next, err := w.log.ListThreads(w.Context(), "alice", at, limit)
				w.must(err)
				if len(page) > limit {
					w.Fatalf("%d threads on a page of %d", len(page), limit)
				}
				for _, listed := range page {
					if listed.Meta.Title != "title "+listed.Thread.ID || listed.Meta.Kind != "chat" || listed.Active.UnixMilli() != 1700000000000 {
						w.Fatalf("listed %+v", listed)
					}
					got = append(got, listed.Thread.ID)
				}
				if at = next; at == (eventlog.ThreadPosition{}) {
					break
				}
			}
			if !slices.Equal(got, want) {
				w.Fatalf("pages of %d: %v, want %v", limit, got, want)
			}
		}
	})
}

func TestAListedThreadSaysWhatItsTurnDoes(t *testing.T) {
	conform(t, eventlog.Options{}, func(w *world) {
		done, runs := w.thread(), w.thread()
		a := w.start(done)
		w.finish(done, a, eventlog.OutcomeFailed)
		b := w.start(runs)
		page, _, err := w.log.ListThreads(w.Context(), "alice", eventlog.ThreadPosition{}, 10)
		w.must(err)
		byID := make(map[string]eventlog.ListedThread)
		for _, listed := range page {
			byID[listed.Thread.ID] = listed
		}
		if x := byID[done.ID]; x.Status != eventlog.StatusFinished || x.Outcome != eventlog.OutcomeFailed || x.TurnID != a.TurnID || x.LastSeq == 0 {
			w.Fatalf("finished: %+v", x)
		}
		if x := byID[runs.ID]; x.Status != eventlog.StatusRunning || x.Outcome != "" || x.TurnID != b.TurnID {
			w.Fatalf("running: %+v", x)
		}
	})
}
