package line_test

import (
	"context"
	"errors"
	"testing"

	"turnlog/eventlog"
	"turnlog/line"
)

const stored = `{"type":"tool_call","tool_call_id":"c1","name":"look","args":{}}`

var errDown = errors.New("down")

// log is one thread's log with one request; it fails on demand.
type log struct {
	target string
	prefer string
	down   bool
	asked  int
}

func (l *log) ClaimRequest(_ context.Context, _ eventlog.Thread, _, conn string) (bool, error) {
	l.asked++
	switch {
	case l.down:
		return false, errDown
	case l.target == "" && (l.prefer == "" || l.prefer == conn):
		l.target = conn
	}
	return l.target == conn, nil
}

func (l *log) Frames(_ context.Context, _ eventlog.Thread, after, until int64, _, _ int) ([]eventlog.StoredFrame, error) {
	if l.down {
		return nil, errDown
	}
	if after != 1 || until != 2 {
		return nil, nil
	}
	return []eventlog.StoredFrame{{Seq: 2, Type: "tool_call", Frame: []byte(stored)}}, nil
}

func (l *log) ReleaseConn(_ context.Context, _ eventlog.Thread, conn string) ([]string, error) {
	if l.target != conn {
		return nil, nil
	}
	l.target, l.prefer = "", ""
	return []string{"c1"}, nil
}

type cursor map[string]bool // requests that were answered before

func (c cursor) RequestOpen(id string, _ int64) bool { return !c[id] }

type conn struct {
	id    string
	tools map[string]bool
}

func (c conn) ID() string            { return c.id }
func (c conn) Runs(name string) bool { return c.tools[name] }

type hub []string

func (h *hub) Retarget(_ eventlog.Thread, id string) { *h = append(*h, id) }

func desk(l *log, answered cursor, eligible bool) *line.Desk {
	return &line.Desk{Thread: eventlog.Thread{User: "u", ID: "t"}, Log: l, Cursor: answered, Eligible: eligible}
}

func call() *eventlog.Delivered {
	return &eventlog.Delivered{Seq: 2, Epoch: "e", TurnID: "T", Type: "tool_call",
		JSON: []byte(`{"type":"tool_call","tool_call_id":"c1","name":"look","args":{},"thread_id":"t","turn_id":"T","chat_seq":2}`)}
}

const (
	openAt2   = `{"type":"request_open","request_id":"c1","kind":"tool_call","name":"look","thread_id":"t","turn_id":"T","chat_seq":2}`
	closedAt2 = `{"type":"request_closed","request_id":"c1","reason":"answered","thread_id":"t","turn_id":"T","chat_seq":2}`
	callAgain = `{"type":"tool_call","tool_call_id":"c1","name":"look","args":{},"thread_id":"t","turn_id":"T","replayed":true}`
)

func shown(t *testing.T, l line.Line, want string, numbered bool) {
	t.Helper()
	_, seq, has := l.Position()
	if string(l.JSON()) != want || has != numbered || has && seq != 2 {
		t.Fatalf("shown %s at %d (%v), want %s", l.JSON(), seq, has, want)
	}
}

func TestB66_ACallMovesFromTheConnectionThatLeftToTheNextThatFits(t *testing.T) {
	ctx, l := t.Context(), &log{}
	fit := map[string]bool{"look": true}
	a, b, never := conn{"a", fit}, conn{"b", fit}, conn{"n", fit}
	deskA, deskB, deskN := desk(l, nil, true), desk(l, nil, true), desk(l, nil, false)
	shown(t, deskN.Show(ctx, never, call()), openAt2, true)
	shown(t, deskA.Show(ctx, a, call()), string(call().JSON), true)
	shown(t, deskB.Show(ctx, b, call()), openAt2, true)
	if got := deskB.Reclaim(ctx, b, nil, []string{"c1"}); len(got) != 0 {
		t.Fatalf("taken from a target that is there: %s", got[0].JSON())
	}
	var told hub
	if err := line.Release(ctx, l, &told, deskA.Thread, "a"); err != nil || len(told) != 1 || told[0] != "c1" {
		t.Fatalf("released %v, %v", told, err)
	}
	if got := deskN.Reclaim(ctx, never, nil, told); len(got) != 0 {
		t.Fatalf("given to one that may not: %s", got[0].JSON())
	}
	got := deskB.Reclaim(ctx, b, nil, told)
	if len(got) != 1 {
		t.Fatalf("%d lines", len(got))
	}
	shown(t, got[0], callAgain, false)
	if again := deskB.Reclaim(ctx, b, nil, told); len(again) != 0 || !deskB.Claimed() || deskN.Claimed() {
		t.Fatalf("then %v", again)
	}
}

func TestACallThatTheLogDoesNotAnswerForIsClaimedLater(t *testing.T) {
	ctx, l := t.Context(), &log{down: true}
	c := conn{"a", map[string]bool{"look": true}}
	d := desk(l, nil, true)
	shown(t, d.Show(ctx, c, call()), openAt2, true)
	if !errors.Is(d.Owed(), errDown) {
		t.Fatalf("owed %v", d.Owed())
	}
	if got := d.Reclaim(ctx, c, nil, nil); len(got) != 0 || !errors.Is(d.Owed(), errDown) {
		t.Fatalf("%v, owed %v", got, d.Owed())
	}
	l.down = false
	got := d.Reclaim(ctx, c, nil, nil)
	if len(got) != 1 || d.Owed() != nil {
		t.Fatalf("%v, owed %v", got, d.Owed())
	}
	shown(t, got[0], callAgain, false)
}

func TestAToolThatComesLaterIsFitForOpenCalls(t *testing.T) {
	ctx, l := t.Context(), &log{}
	c := conn{"a", map[string]bool{}}
	d := desk(l, nil, true)
	shown(t, d.Show(ctx, c, call()), openAt2, true)
	if l.asked != 0 {
		t.Fatal("claimed without the tool")
	}
	c.tools["look"] = true
	if !d.Refit() {
		t.Fatal("no open calls")
	}
	if got := d.Reclaim(ctx, c, nil, nil); len(got) != 1 || string(got[0].JSON()) != callAgain {
		t.Fatalf("%v", got)
	}
	// What is closed, or whose turn is over, is forgotten.
	for _, end := range []*eventlog.Delivered{
		{Seq: 3, Type: "request_closed", JSON: []byte(`{"type":"request_closed","request_id":"c1"}`)},
		{Seq: 3, Type: "turn_finished", JSON: []byte(`{"type":"turn_finished"}`)},
	} {
		d := desk(&log{target: "somebody"}, nil, true)
		d.Show(ctx, c, call())
		if l := d.Show(ctx, c, end); l.Shared != end {
			t.Fatalf("%s was changed: %s", end.Type, l.JSON())
		}
		if d.Refit() {
			t.Errorf("after %s the call is still open", end.Type)
		}
	}
}

func TestAnAnsweredRequestOfAReplayIsShownAsClosed(t *testing.T) {
	ctx, c := t.Context(), conn{"a", map[string]bool{"look": true}}
	d := desk(&log{}, cursor{"c1": true, "a1": true}, true)
	shown(t, d.Show(ctx, c, call()), closedAt2, true)
	approval := &eventlog.Delivered{Seq: 2, TurnID: "T", Type: "tool_approval_request", JSON: []byte(`{"type":"tool_approval_request","approval_id":"a1"}`)}
	shown(t, d.Show(ctx, c, approval), `{"type":"request_closed","request_id":"a1","reason":"answered","thread_id":"t","turn_id":"T","chat_seq":2}`, true)
}

func TestAHeaderBringsOpenRequestsFromBeforeTheReplay(t *testing.T) {
	ctx, c := t.Context(), conn{"a", map[string]bool{"look": true}}
	h := &eventlog.Header{Status: eventlog.StatusRunning, LastSeq: 5, Epoch: "e", TurnID: "T", Policy: eventlog.PolicyGrace, Unnumbered: []eventlog.OpenRequest{
		{ID: "c1", Kind: "tool_call", Name: "look", Seq: 2, Frame: []byte(stored)},
		{ID: "a1", Kind: "tool_approval", Seq: 3, Frame: []byte("{\"type\":\"tool_approval_request\",\"approval_id\":\"a1\" \n}\n")},
	}}
	const header = `{"type":"chat_resumed","thread_id":"t","status":"running","last_seq":5,"replay_count":0,"replay_incomplete":false,"epoch":"e",` +
		`"first_seq":0,"turn_id":"T","outcome":"","on_disconnect":"grace"}`
	const approval = `{"type":"tool_approval_request","approval_id":"a1","thread_id":"t","turn_id":"T","replayed":true}`
	for eligible, first := range map[bool]string{
		true:  callAgain,
		false: `{"type":"request_open","request_id":"c1","kind":"tool_call","name":"look","thread_id":"t","turn_id":"T","replayed":true}`,
	} {
		got := desk(&log{}, nil, eligible).Header(ctx, c, nil, h)
		if len(got) != 3 {
			t.Fatalf("%d lines", len(got))
		}
		for i, want := range []string{header, first, approval} {
			shown(t, got[i], want, false)
		}
	}
}
