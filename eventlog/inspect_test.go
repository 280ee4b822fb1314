package eventlog_test

import (
	"strings"
	"testing"
	"time"

	"turnlog/eventlog"
)

func (w *world) inspect(t eventlog.Thread) eventlog.Inspection {
	w.Helper()
	in, err := w.log.Inspect(w.Context(), t)
	if err != nil {
		w.Fatalf("inspect: %v", err)
	}
	return in
}

func keyOf(in eventlog.Inspection, name string) eventlog.InspectedKey {
	for _, k := range in.Keys {
		if k.Key == name {
			return k
		}
	}
	return eventlog.InspectedKey{}
}

func TestAnInspectionOfARunningTurn(t *testing.T) {
	conform(t, eventlog.Options{Grace: time.Hour}, func(w *world) {
		th := eventlog.Thread{User: "ali/ce", ID: "it's"}
		s := w.submission()
		s.Agent, s.MaxDuration, s.StallAfter = "poet", time.Hour, time.Minute
		a := w.begin(eventlog.Begin{Thread: th, Submission: s, Generation: 7, Kind: "chat"}, eventlog.VerdictStarted)
		w.emit(th, a, "node-a", chunk(0), toolCall("r1", time.Minute, "conn"), chunk(1))
		if ok, err := w.log.ClaimRequest(w.Context(), th, "r1", "conn"); err != nil || !ok {
			w.Fatalf("claim: %v, %v", ok, err)
		}
		w.input(th, "", eventlog.Input{ID: "m", Kind: eventlog.InputPermissionMode, Payload: []byte(`{}`)}, eventlog.InputAccepted)
		w.begin(eventlog.Begin{Thread: th, Submission: w.submission(), OnBusy: eventlog.OnBusyEnqueue}, eventlog.VerdictQueued)

		in := w.inspect(th)
		turn, held := in.Turn, in.Log
		if in.Thread != th || !in.Exists || in.Status != eventlog.StatusRunning || in.Outcome != "" || in.Meta.Kind != "chat" || in.Created.IsZero() || !in.Deleted.IsZero() {
			w.Errorf("thread %+v", in)
		}
		if turn.TurnID != a.TurnID || turn.Ordinal != 1 || turn.Attempt != 1 || turn.Owner != "node-a" || turn.Agent != "poet" || turn.Policy != eventlog.PolicyGrace ||
			turn.FirstSeq != 1 || in.Now.Sub(turn.LastFrame) > time.Minute || turn.Ending != "" || turn.MaxDeadline.Sub(in.Created) < time.Hour || turn.StallAfter != time.Minute {
			w.Errorf("turn %+v", turn)
		}
		snapshot, bytes := w.look(th), 0
		for _, f := range snapshot.Page {
			bytes += len(f.Frame)
		}
		if held.Epoch != a.Epoch || held.FirstSeq != 1 || held.LastSeq != 4 || held.Frames != 4 || held.Bytes != int64(bytes) || held.LastType != "chunk" ||
			held.Messages != 1 || held.Queued != 1 || held.Inputs != 1 {
			w.Errorf("log %+v, frames of %d bytes", held, bytes)
		}
		if len(in.Requests) != 1 || in.Requests[0].ID != "r1" || in.Requests[0].Kind != "tool_call" || in.Requests[0].Seq != 3 || in.Requests[0].Answered ||
			in.Requests[0].Target != "conn" || in.Requests[0].Deadline.Sub(in.Now) > time.Minute {
			w.Errorf("requests %+v", in.Requests)
		}
		if len(in.Viewers) != 1 || in.Viewers[0] != (eventlog.ViewingNode{Node: "node-a", Generation: 7}) {
			w.Errorf("viewers %+v", in.Viewers)
		}
		for _, name := range []string{"T:state", "T:log", "T:messages", "T:queue", "T:viewers", "T:requests", "T:inputs", "U:running", "U:requests"} {
			if k := keyOf(in, name); !k.Exists || k.TTL != 0 || k.Bytes <= 0 && w.mini == nil || k.Entries == 0 || k.Shows() == "" {
				w.Errorf("key %+v", k)
			}
		}
		if k := keyOf(in, "U:threads"); k.TTL < 719*time.Hour || !strings.HasPrefix(k.Command(), "ZRANGE 'turnlog:{") {
			w.Errorf("threads of the user: %+v, %s", k, k.Command())
		}
		if k := keyOf(in, "T:state"); k.Command() != "HGETALL '"+w.base(th)+":state'" {
			w.Errorf("command %s", k.Command())
		}

		// Nobody watches any more, and it is told to stop.
		w.detach(th, "node-a", 7, false)
		w.input(th, "", eventlog.Input{ID: "s", Kind: eventlog.InputStop}, eventlog.InputAccepted)
		in = w.inspect(th)
		if len(in.Viewers) != 0 || in.Turn.Detached.IsZero() || in.Turn.GraceDeadline.Sub(in.Turn.Detached) != time.Hour || in.Turn.StopDeadline.IsZero() {
			w.Errorf("detached %+v", in)
		}
		if r := in.Requests[0]; !r.Deadline.IsZero() || r.Left <= 0 || r.Left > time.Minute {
			w.Errorf("a clock that stands still %+v", r)
		}
		if in.Log.Queued != 0 {
			w.Errorf("queue after a stop: %d", in.Log.Queued)
		}
		w.cancel(th)
		if in = w.inspect(th); in.Turn.Ending != eventlog.OutcomeSuperseded {
			w.Errorf("fenced %+v", in.Turn)
		}
	})
}

// cancel fences the running turn, as a submission does that wants its place.
func (w *world) cancel(t eventlog.Thread) {
	w.Helper()
	w.begin(eventlog.Begin{Thread: t, Submission: w.submission()}, eventlog.VerdictSuperseding)
}

func TestAnInspectionOfAThreadThatDoesNotRun(t *testing.T) {
	conform(t, eventlog.Options{}, func(w *world) {
		nothing := w.inspect(eventlog.Thread{User: "nobody", ID: "x"})
		if nothing.Exists || nothing.Status != eventlog.StatusUnknown || nothing.Now.IsZero() || len(nothing.Keys) == 0 || keyOf(nothing, "T:state").Exists || len(nothing.Requests)+len(nothing.Viewers) > 0 {
			w.Errorf("nothing %+v", nothing)
		}
		th := w.thread()
		w.must(w.log.SetThread(w.Context(), th, eventlog.ThreadMeta{Title: "a title", Policy: eventlog.PolicyPreserve}))
		if in := w.inspect(th); !in.Exists || in.Status != eventlog.StatusUnknown || in.Turn.TurnID != "" || in.Meta.Title != "a title" || in.Meta.Policy != eventlog.PolicyPreserve {
			w.Errorf("never ran %+v", in)
		}
		a := w.start(th)
		w.finish(th, a, eventlog.OutcomeFailed)
		in := w.inspect(th)
		if in.Status != eventlog.StatusFinished || in.Outcome != eventlog.OutcomeFailed || in.Turn.TurnID != a.TurnID || in.Log.LastType != "turn_finished" || in.Log.Frames != 3 {
			w.Errorf("finished %+v", in)
		}
		if k := keyOf(in, "T:log"); k.TTL <= 0 || k.TTL > 5*time.Minute {
			w.Errorf("its log %+v", k)
		}
		w.must(w.rdb.Del(w.Context(), w.base(th)+":log").Err())
		if in = w.inspect(th); !in.Exists || in.Status != eventlog.StatusUnknown || in.Outcome != eventlog.OutcomeFailed || in.Log.Frames != 0 || in.Log.LastSeq != 3 || in.Log.Bytes != 0 {
			w.Errorf("run out %+v", in)
		}
		if ok, err := w.log.Delete(w.Context(), th); err != nil || !ok {
			w.Fatalf("delete: %v, %v", ok, err)
		}
		if in = w.inspect(th); in.Exists || in.Status != eventlog.StatusUnknown || in.Now.Sub(in.Deleted) > time.Minute || in.Turn.TurnID != "" || in.Meta.Title != "" {
			w.Errorf("deleted %+v", in)
		}
		if _, err := w.log.Inspect(w.Context(), eventlog.Thread{User: "alice"}); err == nil {
			w.Error("a thread without an id")
		}
	})
}
