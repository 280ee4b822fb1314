package eventlog_test

import (
	"testing"

	"turnlog/eventlog"
)

// B89: a turn whose owner is no node at all is found, once, and given up only
// as long as it is what the sweep saw.
func TestB89_SweepFindsTurnsOfUnknownNodes(t *testing.T) {
	conform(t, eventlog.Options{}, func(w *world) {
		mine, lost := w.thread(), w.thread()
		w.start(mine)
		a := w.start(lost)
		orphans, err := w.log.Sweep(w.Context(), []string{"node-a"})
		w.must(err)
		if len(orphans) != 0 {
			w.Fatalf("found %v while the owner is known", orphans)
		}
		orphans, err = w.log.Sweep(w.Context(), nil)
		w.must(err)
		if len(orphans) != 2 {
			w.Fatalf("found %v, want both turns", orphans)
		}
		for _, o := range orphans {
			if o.Thread != lost {
				continue
			}
			if o.TurnID != a.TurnID || o.Owner != "node-a" || o.Attempt != 1 {
				w.Fatalf("found %+v", o)
			}
			other := o
			other.Owner = "node-b"
			for _, step := range []struct {
				orphan eventlog.Orphan
				want   bool
			}{{other, false}, {o, true}, {o, true}} { // twice: one effect
				done, err := w.log.Lose(w.Context(), step.orphan)
				w.must(err)
				if done != step.want {
					w.Fatalf("Lose(%+v) = %v", step.orphan, done)
				}
			}
		}
		due, err := w.log.DueThreads(w.Context(), 10)
		w.must(err)
		if len(due) != 1 || due[0] != lost {
			w.Fatalf("due %v, want the lost turn's thread", due)
		}
		orphans, err = w.log.Sweep(w.Context(), []string{"node-a"})
		w.must(err)
		if len(orphans) != 0 {
			w.Fatalf("found %v again", orphans)
		}
	})
}
