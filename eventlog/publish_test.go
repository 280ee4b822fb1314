package eventlog_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"turnlog/eventlog"
)

// listen subscribes to a channel; the function returns the next payload, or ""
// when a marker published behind everything else comes first.
func (w *world) listen(channel string) (next func() string) {
	w.Helper()
	sub := w.rdb.Subscribe(w.Context(), channel)
	w.Cleanup(func() { _ = sub.Close() })
	if _, err := sub.Receive(w.Context()); err != nil {
		w.Fatal(err)
	}
	return func() string {
		w.Helper()
		w.must(w.rdb.Publish(w.Context(), channel, "marker").Err())
		ctx, cancel := context.WithTimeout(w.Context(), 10*time.Second)
		defer cancel()
		var first string
		for {
			m, err := sub.ReceiveMessage(ctx)
			if err != nil {
				w.Fatalf("receive: %v", err)
			}
			if m.Payload == "marker" {
				return first
			}
			first += m.Payload
		}
	}
}

func TestOnlyOtherNodesAreTold(t *testing.T) {
	conform(t, eventlog.Options{}, func(w *world) {
		th := w.thread()
		next := w.listen(w.base(th) + ":live")
		a := w.start(th)
		wr := w.emit(th, a, "node-a", chunk(0))
		if got := next(); got != "" {
			w.Fatalf("published to nobody but the owner: %q", got)
		}
		w.attach(eventlog.Attach{Thread: th, Node: "node-b", Generation: 1})
		w.more(wr, chunk(1))
		frame := string(chunk(1).Frame)
		if got, want := next(), fmt.Sprintf("1 %s 1 1 3 %s 1\n5 %d\nchunk%s", a.Epoch, a.TurnID, len(frame), frame); got != want {
			w.Fatalf("append published %q, want %q", got, want)
		}
		w.finish(th, a, eventlog.OutcomeCompleted)
		if got, want := next(), fmt.Sprintf("1 %s 1 1 4 %s 2\n", a.Epoch, a.TurnID); !strings.HasPrefix(got, want) {
			w.Fatalf("finish published %q, want %q...", got, want)
		}
		w.detach(th, "node-b", 1, false)
		// Another node takes the next turn: node-a, which still views, is told.
		b := w.begin(eventlog.Begin{Thread: th, Submission: w.submission(), Node: "node-b"}, eventlog.VerdictStarted)
		if got, want := next(), fmt.Sprintf("1 %s 2 1 6 %s 1\n12 %d\nturn_started%s", b.Epoch, b.TurnID, len(b.Started), b.Started); got != want {
			w.Fatalf("begin published %q, want %q", got, want)
		}
		if _, err := w.log.Delete(w.Context(), th); err != nil {
			w.Fatal(err)
		}
		if got := next(); got != "d\n" {
			w.Fatalf("delete published %q", got)
		}
	})
}

func TestOwnersAreWoken(t *testing.T) {
	conform(t, eventlog.Options{}, func(w *world) {
		th := w.thread()
		w.start(th)
		next := w.listen("turnlog:node:node-a")
		p, err := w.log.Partition(th.User)
		w.must(err)
		w.input(th, "", eventlog.Input{ID: "p", Kind: eventlog.InputPermissionMode, Payload: []byte(`{"mode":"auto"}`)}, eventlog.InputAccepted)
		if got, want := next(), fmt.Sprintf("w %d", p); !strings.HasPrefix(got, want) {
			w.Fatalf("published %q, want %q", got, want)
		}
		w.must(w.log.Wake(w.Context(), "node-a", 3))
		if got := next(); got != "w 3" {
			w.Fatalf("published %q", got)
		}
	})
}

func TestPeekAndTheAdministratorsView(t *testing.T) {
	conform(t, eventlog.Options{}, func(w *world) {
		one, two := w.thread(), w.thread()
		a := w.start(one)
		peeks, err := w.log.Peek(w.Context(), []eventlog.Thread{one, two})
		if err != nil || len(peeks) != 2 {
			w.Fatalf("peek %+v, %v", peeks, err)
		}
		if p := peeks[0]; p.Thread != one || p.Epoch != a.Epoch || p.LastSeq != 1 || p.Status != eventlog.StatusRunning || p.Ordinal != 1 {
			w.Fatalf("peek %+v", p)
		}
		if p := peeks[1]; p.Thread != two || p.Status != eventlog.StatusUnknown || p.LastSeq != 0 {
			w.Fatalf("peek at nothing %+v", p)
		}
		var all []eventlog.ListedTurn
		err = w.log.EachTurn(w.Context(), eventlog.TurnFilter{}, func(page []eventlog.ListedTurn) error {
			all = append(all, page...)
			return nil
		})
		if err != nil || len(all) != 1 || all[0].TurnID != a.TurnID || all[0].Thread != one {
			w.Fatalf("all running %+v, %v", all, err)
		}
		// A state that was evicted leaves index entries; a look of the reaper removes them.
		w.rdb.Del(w.Context(), w.base(one)+":state")
		w.reap(one)
		if left := w.rdb.Keys(w.Context(), "*:turns").Val(); strings.Contains(fmt.Sprint(left), "}:turns") {
			w.Fatalf("left: %v", left)
		}
	})
}
