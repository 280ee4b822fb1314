package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"turnlog/cmd/turnlog/term"
	"turnlog/eventlog"
	"turnlog/httpapi/admin"
)

// playedSource answers Frames with what was written down, the last answer for ever.
type playedSource struct {
	source
	facts   admin.Thread
	answers []func() (framePage, error)
	asked   []int64
}

func (p *playedSource) Thread(context.Context, eventlog.Thread) (admin.Thread, error) {
	return p.facts, nil
}

func (p *playedSource) Frames(_ context.Context, _ eventlog.Thread, after int64) (framePage, error) {
	p.asked = append(p.asked, after)
	next := p.answers[0]
	if len(p.answers) > 1 {
		p.answers = p.answers[1:]
	}
	return next()
}

func page(epoch string, status eventlog.Status, last int64, seqs ...int64) func() (framePage, error) {
	out := framePage{Epoch: epoch, Status: status, LastSeq: last}
	for _, seq := range seqs {
		out.Frames = append(out.Frames, admin.Frame{ChatSeq: seq, Ordinal: 1, Type: "chunk", Frame: json.RawMessage(fmt.Sprintf(`{"type":"chunk","content":"%d"}`, seq))})
	}
	return func() (framePage, error) { return out, nil }
}

func fails(err error) func() (framePage, error) {
	return func() (framePage, error) { return framePage{}, err }
}

const (
	goesOn = eventlog.StatusRunning
	ended  = eventlog.StatusFinished
)

func TestTailShowsEachFrameOnceWhateverItsSourceDoes(t *testing.T) {
	away := fmt.Errorf("%w: nobody there", errAway)
	for _, row := range []struct {
		name    string
		flags   tailFlags
		answers []func() (framePage, error)
		outcome eventlog.Outcome
		shows   string // the contents, in order
		notes   []string
		fails   string
	}{
		{name: "to the end", flags: tailFlags{untilEnd: true}, shows: "1 2 3",
			answers: []func() (framePage, error){page("a", goesOn, 2, 1, 2), page("a", goesOn, 2), page("a", ended, 3, 3)}},
		{name: "the end comes between the frames and the state", flags: tailFlags{untilEnd: true}, shows: "1 2 3",
			answers: []func() (framePage, error){page("a", goesOn, 1, 1), page("a", ended, 3), page("a", ended, 3, 2, 3)}},
		{name: "the log is gone before its end was seen", flags: tailFlags{untilEnd: true}, shows: "1",
			answers: []func() (framePage, error){page("a", goesOn, 1, 1), page("a", ended, 9)}},
		{name: "more than a bite", flags: tailFlags{noFollow: true}, shows: "1 2 3 4",
			answers: []func() (framePage, error){page("a", goesOn, 4, 1, 2), page("a", goesOn, 4, 3, 4)}},
		{name: "trimmed meanwhile", flags: tailFlags{noFollow: true}, shows: "1 5", notes: []string{"frames 2 to 4 are no longer held"},
			answers: []func() (framePage, error){page("a", goesOn, 5, 1), page("a", goesOn, 5, 5)}},
		{name: "one frame is missing", flags: tailFlags{noFollow: true}, shows: "1 3", notes: []string{"frame 2 is no longer held"},
			answers: []func() (framePage, error){page("a", goesOn, 3, 1, 3)}},
		{name: "numbers go on in another epoch", flags: tailFlags{untilEnd: true}, shows: "1 65540", notes: []string{"a new epoch b", "frames 2 to 65539"},
			answers: []func() (framePage, error){page("a", goesOn, 1, 1), page("b", ended, 65540, 65540)}},
		{name: "numbers begin anew", flags: tailFlags{untilEnd: true}, shows: "1 2 3 1 2", notes: []string{"a new epoch b"},
			answers: []func() (framePage, error){page("a", goesOn, 3, 1, 2, 3), page("b", ended, 2), page("b", ended, 2, 1, 2)}},
		{name: "away for a while", flags: tailFlags{untilEnd: true}, shows: "1 2", notes: []string{"no answer: nobody there; trying again", "back again"},
			answers: []func() (framePage, error){page("a", goesOn, 1, 1), fails(away), fails(away), page("a", ended, 2, 2)}},
		{name: "refused", shows: "1", fails: "NOPERM", answers: []func() (framePage, error){page("a", goesOn, 1, 1), fails(errors.New("NOPERM"))}},
		{name: "ended badly", flags: tailFlags{untilEnd: true}, outcome: eventlog.OutcomeFailed, shows: "1", fails: "ended as failed",
			answers: []func() (framePage, error){page("a", ended, 1, 1)}},
	} {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
			defer cancel()
			from := &playedSource{answers: row.answers}
			from.facts.Log.Epoch, from.facts.Log.LastSeq, from.facts.Log.Frames, from.facts.Log.FirstSeq = "a", 1, 1, 1
			from.facts.Outcome = eventlog.OutcomeCompleted
			if row.outcome != "" {
				from.facts.Outcome = row.outcome
			}
			from.facts.Turn = admin.NewThread(eventlog.Inspection{Turn: eventlog.InspectedTurn{TurnID: "x"}}).Turn
			var out, status bytes.Buffer
			follow := tail{source: from, flags: row.flags, view: tailView{out: term.Fixed(&out, 0, false), status: &status}}
			err := follow.run(ctx)
			var shown []string
			for line := range strings.Lines(out.String()) {
				shown = append(shown, strings.Fields(line)[2])
			}
			if got := strings.Join(shown, " "); got != row.shows {
				t.Errorf("%s: shows %q, want %q (asked behind %v)", row.name, got, row.shows, from.asked)
			}
			for _, note := range row.notes {
				if strings.Count(status.String(), note) != 1 {
					t.Errorf("%s: does not tell once %q: %s", row.name, note, status.String())
				}
			}
			if (err == nil) != (row.fails == "") || err != nil && !strings.Contains(err.Error(), row.fails) {
				t.Errorf("%s: ends with %v, want %q", row.name, err, row.fails)
			}
		})
	}
}
