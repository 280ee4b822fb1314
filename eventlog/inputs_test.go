package eventlog_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"turnlog/eventlog"
)

func toolCall(id string, timeout time.Duration, prefer string) eventlog.Entry {
	return eventlog.Entry{Type: "tool_call", Frame: []byte(`{"type":"tool_call","tool_call_id":"` + id + `"}`),
		Opens: &eventlog.Request{ID: id, Kind: "tool_call", Name: "a tool", Timeout: timeout, Prefer: prefer}}
}

func TestB42_AStopIsStoredAndEndsTheTurnWhateverTheOwnerDoes(t *testing.T) {
	conform(t, eventlog.Options{StopTimeout: 40 * time.Millisecond}, func(w *world) {
		th := w.thread()
		a := w.start(th)
		r := w.input(th, "", eventlog.Input{ID: "s1", Kind: eventlog.InputStop}, eventlog.InputAccepted)
		if r.TurnID != a.TurnID || r.Owner != "node-a" {
			w.Fatalf("stop %+v", r)
		}
		w.input(th, "", eventlog.Input{ID: "s1", Kind: eventlog.InputStop}, eventlog.InputDuplicate)
		if p, err := w.log.Poll(w.Context(), "node-a", -1); err != nil || len(p.Inbox) != 1 {
			w.Fatalf("poll %+v, %v", p, err)
		}
		in, err := w.log.Inputs(w.Context(), th, a.TurnID, 0)
		if err != nil || len(in) != 1 || in[0].Kind != eventlog.InputStop || in[0].ID != "s1" || in[0].Seq != 1 {
			w.Fatalf("inputs %+v, %v", in, err)
		}
		if got := w.reapUntilEnded(th); got.Outcome != eventlog.OutcomeStopped {
			w.Fatalf("reaped %+v", got)
		}
	})
}

func TestB43_OneTerminalFrameWhoeverFinishes(t *testing.T) {
	conform(t, eventlog.Options{}, func(w *world) {
		for range 20 {
			th := w.thread()
			a := w.start(th)
			var wg sync.WaitGroup
			var won atomic.Int32
			for i, o := range []eventlog.Outcome{eventlog.OutcomeCompleted, eventlog.OutcomeStopped, eventlog.OutcomeOwnerLost} {
				wg.Go(func() {
					f, err := w.log.Finish(w.Context(), eventlog.Finish{Fence: fenceOf(th, a, "node-a"), Outcome: o, Finisher: fmt.Sprintf("node-%d", i), Frames: closing(o)})
					if err != nil {
						w.Errorf("finish: %v", err)
					}
					if f.Won {
						won.Add(1)
					}
				})
			}
			wg.Wait()
			if won.Load() != 1 {
				w.Fatalf("%d finishers won", won.Load())
			}
			w.types(th, "1 turn_started", "2 chunk", "3 turn_finished")
		}
	})
}

func TestB43_ALateStopWithATurnIDTouchesNoOtherTurn(t *testing.T) {
	conform(t, eventlog.Options{}, func(w *world) {
		th := w.thread()
		a := w.start(th)
		w.finish(th, a, eventlog.OutcomeCompleted)
		b := w.start(th)
		w.input(th, a.TurnID, eventlog.Input{ID: "late", Kind: eventlog.InputStop}, eventlog.InputNotRunning)
		if in, err := w.log.Inputs(w.Context(), th, b.TurnID, 0); err != nil || len(in) != 0 {
			w.Fatalf("inputs %+v, %v", in, err)
		}
		if due, err := w.log.DueThreads(w.Context(), 10); err != nil || len(due) != 0 {
			w.Fatalf("due %v, %v", due, err)
		}
		if _, err := w.log.Inputs(w.Context(), th, a.TurnID, 0); !errors.Is(err, eventlog.ErrFenced) {
			w.Fatalf("inputs of a finished turn: %v", err)
		}
	})
}

func TestAStopOfTheThreadDropsTheQueueAndOneOfAQueuedTurnOnlyThat(t *testing.T) {
	conform(t, eventlog.Options{}, func(w *world) {
		th := w.thread()
		w.start(th)
		var ids []string
		for range 3 {
			s := w.submission()
			ids = append(ids, s.TurnID)
			w.begin(eventlog.Begin{Thread: th, Submission: s, OnBusy: eventlog.OnBusyEnqueue}, eventlog.VerdictQueued)
		}
		r := w.input(th, ids[1], eventlog.Input{ID: "one", Kind: eventlog.InputStop}, eventlog.InputAccepted)
		if fmt.Sprint(r.Dropped) != fmt.Sprint(ids[1:2]) || r.Owner != "" {
			w.Fatalf("stop of a queued turn %+v", r)
		}
		r = w.input(th, "", eventlog.Input{ID: "all", Kind: eventlog.InputStop}, eventlog.InputAccepted)
		if fmt.Sprint(r.Dropped) != fmt.Sprint([]string{ids[0], ids[2]}) {
			w.Fatalf("stop of the thread %+v", r)
		}
		if again := w.input(th, "", eventlog.Input{ID: "all", Kind: eventlog.InputStop}, eventlog.InputDuplicate); fmt.Sprint(again.Dropped) != fmt.Sprint(r.Dropped) {
			w.Fatalf("the same stop again %+v", again)
		}
	})
}

func TestB47_ASteerReachesTheTurnOrBecomesTheNextOne(t *testing.T) {
	conform(t, eventlog.Options{}, func(w *world) {
		th := w.thread()
		a := w.start(th)
		wr := w.log.NewWriter(fenceOf(th, a, "node-a"), a, eventlog.WriterOptions{})
		waiting := w.submission()
		w.begin(eventlog.Begin{Thread: th, Submission: waiting, OnBusy: eventlog.OnBusyEnqueue}, eventlog.VerdictQueued)
		var subs []eventlog.Submission
		for i := range 3 {
			s := w.submission()
			payload, err := json.Marshal(s)
			if err != nil {
				w.Fatal(err)
			}
			subs = append(subs, s)
			in := eventlog.Input{ID: fmt.Sprintf("steer-%d", i), Kind: eventlog.InputSteer, Payload: payload}
			w.input(th, "", in, eventlog.InputAccepted)
			w.input(th, "", in, eventlog.InputDuplicate)
		}
		in, err := w.log.Inputs(w.Context(), th, a.TurnID, 0)
		if err != nil || len(in) != 3 {
			w.Fatalf("inputs %+v, %v", in, err)
		}
		var s eventlog.Submission
		if err := json.Unmarshal(in[2].Payload, &s); err != nil || s.TurnID != subs[2].TurnID || s.ID != "steer-2" {
			w.Fatalf("steer %+v, %v", s, err)
		}
		wr.Consumed(1) // the agent took the first
		if err := wr.Flush(w.Context()); err != nil {
			w.Fatal(err)
		}
		f, err := w.log.Finish(w.Context(), eventlog.Finish{Fence: fenceOf(th, a, "node-a"), Finisher: "node-a", Outcome: "completed", Frames: closing("completed")})
		if err != nil || !f.Ready {
			w.Fatalf("finish %+v, %v", f, err)
		}
		q, err := w.log.Queue(w.Context(), th)
		if err != nil || len(q) != 3 || q[0].TurnID != subs[1].TurnID || q[1].TurnID != subs[2].TurnID || q[2].TurnID != waiting.TurnID {
			w.Fatalf("queue %+v, %v", q, err)
		}
		// A client that sends its steer again, as a message now, does not double it.
		again := w.submission()
		again.ID = "steer-1"
		if d := w.begin(eventlog.Begin{Thread: th, Submission: again, OnBusy: eventlog.OnBusyEnqueue}, eventlog.VerdictDuplicate); d.TurnID != subs[1].TurnID {
			w.Fatalf("duplicate %+v", d)
		}
		n, err := w.log.BeginNext(w.Context(), th, "node-b")
		if err != nil || n.TurnID != subs[1].TurnID || string(n.Submission.Message) != string(subs[1].Message) {
			w.Fatalf("next turn %+v, %v", n, err)
		}
		w.input(th, "gone", eventlog.Input{ID: "x", Kind: eventlog.InputSteer, Payload: []byte(`{"turn_id":"t9","message":{}}`)}, eventlog.InputNotRunning)
	})
}

func TestB62_TheFirstAnswerWins(t *testing.T) {
	conform(t, eventlog.Options{}, func(w *world) {
		th := w.thread()
		a := w.start(th)
		w.emit(th, a, "node-a", toolCall("r1", 0, ""))
		found, ok, err := w.log.FindRequest(w.Context(), th.User, "r1")
		if err != nil || !ok || found != th {
			w.Fatalf("found %v, %v, %v", found, ok, err)
		}
		var wg sync.WaitGroup
		var accepted atomic.Int32
		for i := range 6 {
			wg.Go(func() {
				r, err := w.log.SendInput(w.Context(), th, "", eventlog.Input{ID: fmt.Sprintf("a%d", i), Kind: eventlog.InputAnswer, RequestID: "r1", Payload: []byte(`{"ok":[]}`)})
				if err != nil {
					w.Errorf("answer: %v", err)
				}
				if r.Verdict == eventlog.InputAccepted {
					accepted.Add(1)
				}
			})
		}
		wg.Wait()
		if accepted.Load() != 1 {
			w.Fatalf("%d answers accepted", accepted.Load())
		}
		in, err := w.log.Inputs(w.Context(), th, a.TurnID, 0)
		if err != nil || len(in) != 1 || in[0].RequestID != "r1" || string(in[0].Payload) != `{"ok":[]}` {
			w.Fatalf("inputs %+v, %v", in, err)
		}
		if s := w.look(th); len(s.Open) != 0 {
			w.Fatalf("still open: %+v", s.Open)
		}
		w.input(th, "", eventlog.Input{ID: "zz", Kind: eventlog.InputAnswer, RequestID: "unknown"}, eventlog.InputClosed)
	})
}

// An answer of another kind neither answers nor closes a request.
func TestB62_AnAnswerMustFitItsRequest(t *testing.T) {
	conform(t, eventlog.Options{}, func(w *world) {
		th := w.thread()
		a := w.start(th)
		w.emit(th, a, "node-a", toolCall("r1", 0, ""))
		answer := eventlog.Input{ID: "a1", Kind: eventlog.InputAnswer, RequestID: "r1", Answers: "secret", Payload: []byte(`{"status":"x"}`)}
		w.input(th, "", answer, eventlog.InputClosed)
		if s := w.look(th); len(s.Open) != 1 {
			w.Fatalf("open requests %+v, want the one that was not answered", s.Open)
		}
		answer.ID, answer.Answers = "a2", "tool_call"
		w.input(th, "", answer, eventlog.InputAccepted)
	})
}

func TestB64_AnotherUsersRequestIsNotFound(t *testing.T) {
	conform(t, eventlog.Options{}, func(w *world) {
		th := w.thread()
		a := w.start(th)
		w.emit(th, a, "node-a", toolCall("r1", 0, ""))
		if _, ok, err := w.log.FindRequest(w.Context(), "mallory", "r1"); err != nil || ok {
			w.Fatalf("found %v, %v", ok, err)
		}
	})
}

func TestB65_TheEndClosesOpenRequestsVisibly(t *testing.T) {
	conform(t, eventlog.Options{}, func(w *world) {
		th := w.thread()
		a := w.start(th)
		wr := w.emit(th, a, "node-a", toolCall("r1", 0, ""), toolCall("r2", 0, ""), toolCall("r3", 0, ""))
		w.more(wr, eventlog.Entry{Type: "request_closed", Frame: []byte(`{"type":"request_closed"}`), Closes: "r1"})
		f := w.finish(th, a, eventlog.OutcomeFailed)
		if len(f.Frames) != 4 || f.FirstSeq != 6 || string(f.Frames[0].Frame) != `{"type":"request_closed","request_id":"r2","reason":"turn_ended"}` {
			w.Fatalf("finished %+v", f)
		}
		w.types(th, "1 turn_started", "2 tool_call", "3 tool_call", "4 tool_call", "5 request_closed", "6 request_closed", "7 request_closed", "8 chunk", "9 turn_finished")
		for _, id := range []string{"r1", "r2", "r3"} {
			if _, ok, err := w.log.FindRequest(w.Context(), th.User, id); err != nil || ok {
				w.Fatalf("%s still found: %v, %v", id, ok, err)
			}
		}
	})
}

func TestB61_ARequestsClockStopsWhileDetached(t *testing.T) {
	conform(t, eventlog.Options{Grace: time.Hour}, func(w *world) {
		th := w.thread()
		a := w.start(th)
		w.emit(th, a, "node-a", toolCall("r1", 50*time.Millisecond, ""))
		w.detach(th, "node-a", 1, false)
		late := time.Now().Add(80 * time.Millisecond)
		eventually(w, "the timeout goes by", func() bool { return time.Now().After(late) })
		if r := w.reap(th); len(r.Expired) != 0 {
			w.Fatalf("expired while detached: %+v", r)
		}
		w.attach(eventlog.Attach{Thread: th, Node: "node-b", Generation: 1})
		eventually(w, "the request expires", func() bool {
			due, err := w.log.DueThreads(w.Context(), 10)
			return err == nil && len(due) == 1
		})
		if r := w.reap(th); len(r.Expired) != 1 || r.Ended {
			w.Fatalf("reaped %+v", r)
		}
		in, err := w.log.Inputs(w.Context(), th, a.TurnID, 0)
		if err != nil || len(in) != 1 || in[0].Kind != eventlog.InputExpired || in[0].RequestID != "r1" {
			w.Fatalf("inputs %+v, %v", in, err)
		}
		w.input(th, "", eventlog.Input{ID: "late", Kind: eventlog.InputAnswer, RequestID: "r1"}, eventlog.InputClosed)
	})
}

func TestB66_AToolCallHasOneTarget(t *testing.T) {
	conform(t, eventlog.Options{}, func(w *world) {
		th := w.thread()
		a := w.startOn(th, "conn-1")
		w.emit(th, a, "node-a", toolCall("r1", 0, "conn-1"))
		claim := func(conn string) bool {
			ok, err := w.log.ClaimRequest(w.Context(), th, "r1", conn)
			if err != nil {
				w.Fatalf("claim: %v", err)
			}
			return ok
		}
		if claim("conn-2") || !claim("conn-1") || !claim("conn-1") {
			w.Fatal("the preferred connection is not the target")
		}
		sub := w.rdb.Subscribe(w.Context(), w.base(th)+":live")
		defer func() { _ = sub.Close() }()
		if _, err := sub.Receive(w.Context()); err != nil {
			w.Fatal(err)
		}
		ids, err := w.log.ReleaseConn(w.Context(), th, "conn-1")
		if err != nil || fmt.Sprint(ids) != "[r1]" {
			w.Fatalf("released %v, %v", ids, err)
		}
		if m, err := sub.ReceiveMessage(w.Context()); err != nil || m.Payload != "r r1\n" {
			w.Fatalf("published %v, %v", m, err)
		}
		if !claim("conn-2") || claim("conn-3") {
			w.Fatal("the next fitting connection is not the target")
		}
	})
}

// startOn begins a turn that a connection submits.
func (w *world) startOn(th eventlog.Thread, conn string) eventlog.Admission {
	w.Helper()
	sub := w.submission()
	sub.Conn = conn
	return w.begin(eventlog.Begin{Thread: th, Submission: sub, Generation: 1}, eventlog.VerdictStarted)
}

func TestB66_AToolCallDoesNotWaitForAConnectionThatLeft(t *testing.T) {
	claims := func(w *world, th eventlog.Thread, want bool) {
		w.Helper()
		ok, err := w.log.ClaimRequest(w.Context(), th, "r1", "conn-2")
		if err != nil || ok != want {
			w.Fatalf("claimed %v, %v", ok, err)
		}
	}
	conform(t, eventlog.Options{}, func(w *world) {
		left := w.thread() // it left before the call
		a := w.startOn(left, "node-b.1")
		if _, err := w.log.ReleaseConn(w.Context(), left, "node-b.1"); err != nil {
			w.Fatal(err)
		}
		w.emit(left, a, "node-a", toolCall("r1", 0, "node-b.1"))
		claims(w, left, true)
	})
	conform(t, eventlog.Options{}, func(w *world) {
		queued := w.thread() // it left while its message was waiting
		a := w.startOn(queued, "node-b.1")
		sub := w.submission()
		sub.Conn = "node-b.1"
		w.begin(eventlog.Begin{Thread: queued, Submission: sub, OnBusy: eventlog.OnBusyEnqueue}, eventlog.VerdictQueued)
		if _, err := w.log.ReleaseConn(w.Context(), queued, "node-b.1"); err != nil {
			w.Fatal(err)
		}
		w.finish(queued, a, eventlog.OutcomeCompleted)
		next, err := w.log.BeginNext(w.Context(), queued, "node-a")
		if err != nil || next.Verdict != eventlog.VerdictStarted {
			w.Fatalf("next %+v, %v", next, err)
		}
		w.emit(queued, next, "node-a", toolCall("r1", 0, "node-b.1"))
		claims(w, queued, true)
	})
	conform(t, eventlog.Options{}, func(w *world) {
		dead := w.thread() // its node died
		a := w.startOn(dead, "node-b.1")
		w.emit(dead, a, "node-a", toolCall("r1", 0, "node-b.1"))
		if _, err := w.log.Attach(w.Context(), eventlog.Attach{Thread: dead, Node: "node-b", Generation: 1}); err != nil {
			w.Fatal(err)
		}
		claims(w, dead, false)
		if _, err := w.log.Bury(w.Context(), "node-b"); err != nil {
			w.Fatal(err)
		}
		claims(w, dead, true)
	})
}

func TestUnreadInputsAreBounded(t *testing.T) {
	conform(t, eventlog.Options{InputLimit: 3}, func(w *world) {
		th := w.thread()
		a := w.start(th)
		send := func(i int, want eventlog.InputVerdict) {
			w.Helper()
			w.input(th, a.TurnID, eventlog.Input{ID: fmt.Sprintf("m%d", i), Kind: eventlog.InputPermissionMode, Payload: []byte(`{}`)}, want)
		}
		for i := range 3 {
			send(i, eventlog.InputAccepted)
		}
		send(3, eventlog.InputQueueFull)
		w.input(th, a.TurnID, eventlog.Input{ID: "stop", Kind: eventlog.InputStop}, eventlog.InputAccepted)
		wr := w.log.NewWriter(fenceOf(th, a, "node-a"), a, eventlog.WriterOptions{})
		wr.Consumed(3)
		w.must(wr.Flush(w.Context()))
		send(3, eventlog.InputAccepted)
		in, err := w.log.Inputs(w.Context(), th, a.TurnID, 3)
		if err != nil || len(in) != 2 || in[0].Kind != eventlog.InputStop || in[1].Seq != 5 {
			w.Fatalf("inputs %+v, %v", in, err)
		}
	})
}
