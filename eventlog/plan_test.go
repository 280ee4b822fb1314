package eventlog_test

import (
	"reflect"
	"testing"

	"turnlog/eventlog"
)

func TestPlan(t *testing.T) {
	const e = "E"
	open := func(seqs ...int64) []eventlog.OpenRequest {
		var out []eventlog.OpenRequest
		for _, seq := range seqs {
			out = append(out, eventlog.OpenRequest{ID: "r", Seq: seq})
		}
		return out
	}
	// Turn 2 runs: frames 11 to 20, the newest message is 15; all 20 are held.
	running := eventlog.Snapshot{Status: eventlog.StatusRunning, Epoch: e, TurnID: "t2", Ordinal: 2,
		LastSeq: 20, TurnFirstSeq: 11, FirstHeld: 1, LastMessageSeq: 15, Open: open(12, 18)}
	noMessage := running
	noMessage.LastMessageSeq = 0
	finished := running
	finished.Status, finished.Outcome, finished.LastMessageSeq, finished.Open = eventlog.StatusFinished, eventlog.OutcomeCompleted, 18, nil
	trimmed := running
	trimmed.FirstHeld = 18
	evicted := running
	evicted.FirstHeld = 0
	limit3 := eventlog.Snapshot{Status: eventlog.StatusRunning, Epoch: e, LastSeq: 5, TurnFirstSeq: 1, FirstHeld: 3}
	second := eventlog.Snapshot{Status: eventlog.StatusRunning, Epoch: e, LastSeq: 12, TurnFirstSeq: 11, FirstHeld: 11}
	unknown := eventlog.Snapshot{Status: eventlog.StatusUnknown, Epoch: e, LastSeq: 20}

	rows := []struct {
		name       string
		snap       eventlog.Snapshot
		cursor     eventlog.Cursor
		start      int64
		count      int64
		incomplete bool
		unnumbered []int64
	}{
		{"B3 B4 trimmed past the cursor", limit3, eventlog.Cursor{LastSeq: 1, Epoch: e}, 3, 3, true, nil},
		{"B3 B4 trimmed, old client", limit3, eventlog.Cursor{LastSeq: 1}, 3, 3, true, nil},
		{"B3 trimmed exactly to the cursor", limit3, eventlog.Cursor{LastSeq: 2}, 3, 3, false, nil},
		{"B5 next turn after the first log expired", second, eventlog.Cursor{LastSeq: 10, Epoch: e}, 11, 2, false, nil},
		{"B5 next turn, old client that saw all of the first", second, eventlog.Cursor{LastSeq: 10}, 11, 2, false, nil},
		{"B2 in the middle", running, eventlog.Cursor{LastSeq: 13, Epoch: e}, 14, 7, false, []int64{12}},
		{"B2 in the middle, old client has seen the request", running, eventlog.Cursor{LastSeq: 13}, 14, 7, false, nil},
		{"at the end", running, eventlog.Cursor{LastSeq: 20, Epoch: e}, 21, 0, false, []int64{12, 18}},
		{"at the end, old client, running", running, eventlog.Cursor{LastSeq: 20}, 21, 0, false, nil},
		{"B6 ahead of the log", running, eventlog.Cursor{LastSeq: 21, Epoch: e}, 16, 5, true, []int64{12}},
		{"B6 ahead of the log, old client", running, eventlog.Cursor{LastSeq: 21}, 16, 5, true, []int64{12}},
		{"B6 another epoch", running, eventlog.Cursor{LastSeq: 13, Epoch: "other"}, 16, 5, true, []int64{12}},
		{"B6 another epoch at the same number", running, eventlog.Cursor{LastSeq: 20, Epoch: "other"}, 16, 5, true, []int64{12}},
		{"B7 older turn, held, with epoch", running, eventlog.Cursor{LastSeq: 4, Epoch: e}, 5, 16, false, nil},
		{"B7 B120 older turn, held, without epoch", running, eventlog.Cursor{LastSeq: 4}, 16, 5, true, []int64{12}},
		{"B7 older turn, not held, with epoch", trimmed, eventlog.Cursor{LastSeq: 4, Epoch: e}, 18, 3, true, []int64{12}},
		{"B7 older turn, not held, without epoch", trimmed, eventlog.Cursor{LastSeq: 4}, 18, 3, true, []int64{12}},
		{"B8 fresh", running, eventlog.Cursor{}, 16, 5, true, []int64{12}},
		{"B8 fresh, no message yet", noMessage, eventlog.Cursor{}, 11, 10, true, nil},
		{"B8 fresh, negative", noMessage, eventlog.Cursor{LastSeq: -7}, 11, 10, true, nil},
		{"B8 fresh with the epoch", running, eventlog.Cursor{Epoch: e}, 16, 5, true, []int64{12}},
		{"B8 fresh, trimmed", trimmed, eventlog.Cursor{}, 18, 3, true, []int64{12}},
		{"B106 nothing held", evicted, eventlog.Cursor{LastSeq: 13, Epoch: e}, 21, 0, true, []int64{12, 18}},
		{"B106 nothing held, fresh", evicted, eventlog.Cursor{}, 21, 0, true, []int64{12, 18}},
		{"full", running, eventlog.Cursor{Full: true}, 1, 20, false, nil},
		{"full, trimmed", trimmed, eventlog.Cursor{Full: true, LastSeq: 19, Epoch: e}, 18, 3, true, []int64{12}},
		{"live", running, eventlog.Cursor{Live: true}, 21, 0, false, nil},
		{"B12 finished, in the middle", finished, eventlog.Cursor{LastSeq: 13, Epoch: e}, 14, 7, false, nil},
		{"B12 finished, fresh", finished, eventlog.Cursor{}, 19, 2, true, nil},
		{"B12 finished, at the end, with epoch", finished, eventlog.Cursor{LastSeq: 20, Epoch: e}, 21, 0, false, nil},
		{"B121 finished, at the end, old client", finished, eventlog.Cursor{LastSeq: 20}, 21, 0, true, nil},
		{"B121 finished, done was seen, old client", finished, eventlog.Cursor{LastSeq: 19}, 20, 1, true, nil},
		{"B121 finished, done comes, old client", finished, eventlog.Cursor{LastSeq: 18}, 19, 2, false, nil},
		{"B12 unknown", unknown, eventlog.Cursor{LastSeq: 13, Epoch: e}, 21, 0, false, nil},
		{"never ran", eventlog.Snapshot{Status: eventlog.StatusUnknown}, eventlog.Cursor{LastSeq: 13}, 1, 0, false, nil},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			start, h := eventlog.Plan(row.snap, row.cursor)
			if start != row.start || h.ReplayCount != row.count || h.ReplayIncomplete != row.incomplete {
				t.Errorf("start %d, count %d, incomplete %v; want %d, %d, %v",
					start, h.ReplayCount, h.ReplayIncomplete, row.start, row.count, row.incomplete)
			}
			if row.cursor.Live {
				return
			}
			var got []int64
			for _, r := range h.Unnumbered {
				got = append(got, r.Seq)
			}
			if !reflect.DeepEqual(got, row.unnumbered) {
				t.Errorf("unnumbered requests %v, want %v", got, row.unnumbered)
			}
			if h.ReplayCount > 0 != (h.FirstSeq != 0) || h.ReplayCount > 0 && h.FirstSeq != start {
				t.Errorf("first_seq %d with count %d and start %d", h.FirstSeq, h.ReplayCount, start)
			}
			if row.snap.Status == eventlog.StatusUnknown && h.LastSeq != 0 {
				t.Errorf("unknown thread has last_seq %d in its header", h.LastSeq)
			}
		})
	}
}

func TestPlan_AheadOnlyWaitsForRunningTurns(t *testing.T) {
	snap := eventlog.Snapshot{Status: eventlog.StatusRunning, Epoch: "E", LastSeq: 5}
	if !eventlog.Ahead(snap, eventlog.Cursor{LastSeq: 6, Epoch: "E"}) || !eventlog.Ahead(snap, eventlog.Cursor{LastSeq: 6}) {
		t.Error("a cursor beyond a running log should wait for the repair")
	}
	if eventlog.Ahead(snap, eventlog.Cursor{LastSeq: 6, Epoch: "other"}) || eventlog.Ahead(snap, eventlog.Cursor{LastSeq: 5}) {
		t.Error("another epoch, or a cursor within the log, needs no repair")
	}
	snap.Status = eventlog.StatusFinished
	if eventlog.Ahead(snap, eventlog.Cursor{LastSeq: 6, Epoch: "E"}) {
		t.Error("nobody repairs a finished turn")
	}
}
