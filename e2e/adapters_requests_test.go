package e2e_test

import (
	"strings"
	"sync"
	"testing"
	"time"

	"turnlog/e2e/wire"
)

// Times of the workshops: one where nothing of the sort matters, one where it does.
const (
	longTool, longRetention   = 5 * time.Minute, 5 * time.Minute
	shortTool, quietRetention = 2 * time.Second, time.Second
)

// noon is a tool's result.
func noon(id, which string) object {
	return object{"tool_call_id": id, "ok": true, "result": object{"time": "noon-" + which}}
}

func TestB60_AnswersReachEveryAdaptersAgentByIDAlone(t *testing.T) {
	t.Parallel()
	adapted(t, theWorkshop(t, longTool, longRetention), all, func(t *testing.T, r row) {
		a := r.dial(0)
		turn, since := r.say(a, "tool", "tool")
		id := a.typed("tool", "tool_call").Str("tool_call_id")
		a.Cut()
		b := r.dial(1) // has not resumed
		b.answer("tool_result", noon(id, "1"))
		b.resume("tool", since)
		r.completed(b, "tool", turn, "noon-1")

		turn, _ = r.say(b, "allowed", "approve")
		id = b.typed("allowed", "tool_approval_request").Str("approval_id")
		c := r.dial(0)
		c.answer("tool_approval_response", object{"approval_id": id, "decision": "allow"})
		id = b.typed("allowed", "tool_call").Str("tool_call_id")
		c.answer("tool_result", noon(id, "1"))
		r.completed(b, "allowed", turn, "noon-1")

		turn, _ = r.say(b, "denied", "approve")
		id = b.typed("denied", "tool_approval_request").Str("approval_id")
		c.answer("tool_approval_response", object{"approval_id": id, "decision": "deny"})
		r.completed(b, "denied", turn, "denied")
		if n := b.count("denied", func(m wire.Message) bool { return m.Type == "tool_call" }); n != 0 {
			t.Error("the denied tool was called")
		}
		if n := b.count("denied", func(m wire.Message) bool { return m.Type == "request_closed" && m.Str("reason") == "answered" }); n != 1 {
			t.Errorf("told %d times that the request is answered", n)
		}
	})
}

func TestB61_EveryAdaptersRequestOutlivesDisconnectsAndItsClockPauses(t *testing.T) {
	t.Parallel()
	adapted(t, theWorkshop(t, shortTool, quietRetention), all, func(t *testing.T, r row) {
		a := r.dial(0)
		turn, since := r.say(a, "t", "tool")
		id := a.typed("t", "tool_call").Str("tool_call_id")
		a.Cut()
		elapse(t, shortTool+time.Second)
		b := r.dial(1)
		b.resume("t", since)
		again := b.typed("t", "tool_call")
		if again.Str("tool_call_id") != id {
			t.Errorf("open request came back as %s", again)
		}
		b.answer("tool_result", noon(id, "1"))
		r.completed(b, "t", turn, "noon-1")
		// Watched, the clock runs, and the agent is told.
		turn, _ = r.say(b, "late", "tool")
		b.await("late", "expiry", func(m wire.Message) bool { return m.Type == "request_closed" && m.Str("reason") == "expired" })
		end := b.end("late", turn)
		if got := b.text("late", turn); end.Str("outcome") != "completed" || !strings.Contains(got, "expired") && !strings.Contains(got, "in time") {
			t.Errorf("the agent said %q and ended %s", got, end)
		}
	})
}

func TestF32_AnApprovalOpenOverADetachIsAnsweredLaterInEveryAdapter(t *testing.T) {
	t.Parallel()
	adapted(t, theWorkshop(t, shortTool, quietRetention), all, func(t *testing.T, r row) {
		a := r.dial(0)
		turn, since := r.say(a, "t", "approve")
		id := a.typed("t", "tool_approval_request").Str("approval_id")
		a.Cut()
		elapse(t, shortTool+time.Second)
		b := r.dial(1)
		b.resume("t", since)
		if h := b.header("t"); h.Str("status") != "running" {
			t.Errorf("header %s, want a running turn", h)
		}
		if n := b.count("t", func(m wire.Message) bool { return m.Type == "request_closed" }); n != 0 {
			t.Error("losing the viewer closed the request")
		}
		b.answer("tool_approval_response", object{"approval_id": id, "decision": "allow"})
		b.answer("tool_result", noon(b.typed("t", "tool_call").Str("tool_call_id"), "1"))
		r.completed(b, "t", turn, "noon-1")
	})
}

func TestF11_ARequestQuieterThanTheRetentionKeepsTheLogInEveryAdapter(t *testing.T) {
	t.Parallel()
	adapted(t, theWorkshop(t, shortTool, quietRetention), all, func(t *testing.T, r row) {
		a := r.dial(0)
		turn, since := r.say(a, "t", "approve")
		id := a.typed("t", "tool_approval_request").Str("approval_id")
		a.Cut()
		elapse(t, 3*quietRetention)
		b := r.dial(1)
		b.resume("t", since)
		if h := b.header("t"); h.Bool("replay_incomplete") {
			t.Errorf("header %s, want complete", h)
		}
		b.answer("tool_approval_response", object{"approval_id": id, "decision": "deny"})
		end := b.end("t", turn)
		wantNumbers(t, b, "t", 2, end.Seq)
		r.completed(b, "t", turn, "denied")
	})
}

func TestB62_TheFirstOfTwoAnswersWinsInEveryAdapter(t *testing.T) {
	t.Parallel()
	adapted(t, theWorkshop(t, longTool, longRetention), all, func(t *testing.T, r row) {
		a, b := r.dial(0), r.dial(1)
		for _, thread := range threads(8) {
			turn, _ := r.say(a, thread, "tool")
			id := a.typed(thread, "tool_call").Str("tool_call_id")
			var wg sync.WaitGroup
			for v, which := range map[*viewer]string{a: "1", b: "2"} {
				wg.Go(func() { v.answer("tool_result", noon(id, which)) })
			}
			wg.Wait()
			r.completed(a, thread, turn, "answer:")
			if got := a.text(thread, turn); strings.Count(got, "noon-") != 1 {
				t.Errorf("the agent heard %q", got)
			}
			if n := a.count(thread, func(m wire.Message) bool { return m.Type == "request_closed" }); n != 1 {
				t.Errorf("the request was closed %d times", n)
			}
		}
	})
}

func TestB64_AnotherUsersAnswerDoesNothingInEveryAdapter(t *testing.T) {
	t.Parallel()
	adapted(t, theWorkshop(t, longTool, longRetention), all, func(t *testing.T, r row) {
		a := r.dial(0)
		turn, _ := r.say(a, "t", "approve")
		id := a.typed("t", "tool_approval_request").Str("approval_id")
		other := r
		other.user = someone()
		thief := other.dial(1)
		told := func(id string) string { // all that comes back, apart from the end of the round trip
			mark := thief.Mark()
			thief.answer("tool_approval_response", object{"approval_id": id, "decision": "allow"})
			thief.settle()
			var lines []string
			for _, m := range thief.Messages()[mark:] {
				delete(m.Object, "request_id")
				lines = append(lines, strings.ReplaceAll(m.String(), id, "ID"))
			}
			return strings.Join(lines, "\n")
		}
		if theirs, nobodys := told(id), told("nobody-has-this"); theirs != nobodys {
			t.Errorf("another user's id is answered with\n%s\nan unknown one with\n%s", theirs, nobodys)
		}
		a.settle()
		if n := a.count("t", func(m wire.Message) bool { return m.Type == "request_closed" || m.Type == "tool_call" }); n != 0 {
			t.Error("another user answered the request")
		}
		r.dial(1).answer("tool_approval_response", object{"approval_id": id, "decision": "deny"})
		r.completed(a, "t", turn, "denied")
	})
}

func TestB65_TheEndOfTheTurnClosesEveryAdaptersRequests(t *testing.T) {
	t.Parallel()
	adapted(t, theWorkshop(t, longTool, longRetention), all, func(t *testing.T, r row) {
		a, b := r.dial(0), r.dial(1)
		for what, key := range map[string]string{"tool": "tool_call_id", "approve": "approval_id"} {
			turn, _ := r.say(a, what, what)
			id := a.await(what, "request", func(m wire.Message) bool { return m.Str(key) != "" }).Str(key)
			b.resume(what)
			b.ok("stop", object{"thread_id": what})
			for _, v := range []*viewer{a, b} {
				if end := v.end(what, turn); end.Str("outcome") != "stopped" {
					t.Errorf("%s: end %s", what, end)
				}
				v.await(what, "closed request", func(m wire.Message) bool {
					return m.Type == "request_closed" && m.Str("request_id") == id && m.Str("reason") == "turn_ended"
				})
			}
			// An answer that comes too late starts nothing.
			b.answer("tool_result", noon(id, "1"))
			b.settle()
			if n := r.shop.oneEnd(t, r.user, what); n != 1 {
				t.Errorf("%s: %d turns ended, want 1", what, n)
			}
		}
	})
}
