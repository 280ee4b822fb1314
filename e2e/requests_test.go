package e2e_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"turnlog/e2e/wire"
)

// approval is a turn that asks before its second chunk.
var approval = object{"frames": 3, "approval": object{"tool_name": "rm", "at": 2}}

// toolCall is a turn that calls a client's tool before its second chunk.
var toolCall = object{"frames": 3, "tool_call": object{"name": "clock", "args": object{"zone": "UTC"}, "at": 2}}

func TestB60_AnswersReachTheAgentFromAnyNodeByIDAlone(t *testing.T) {
	everywhere(t, func(t *testing.T, p *place) {
		for _, row := range []struct {
			name, request, answer, id string
			demo, payload             object
			said                      string
		}{
			{"tool call", "tool_call", "tool_result", "tool_call_id", toolCall, object{"ok": true, "result": object{"time": "12:00"}}, `"time":"12:00"`},
			{"approval", "tool_approval_request", "tool_approval_response", "approval_id", approval, object{"decision": "allow"}, `"decision":"allow"`},
			{"denial", "tool_approval_request", "tool_approval_response", "approval_id", approval, object{"decision": "deny"}, `"decision":"deny"`},
		} {
			user := someone()
			a := dial(t, p.url(0, user))
			ack := a.say("t", row.demo, object{"on_disconnect": "preserve"})
			asked := a.typed("t", row.request)
			a.Cut()
			b := dial(t, p.url(1, user)) // a fresh connection that has not resumed
			payload := object{row.id: asked.Str(row.id)}
			for k, v := range row.payload {
				payload[k] = v
			}
			b.answer(row.answer, payload)
			b.resume("t", object{"last_seq": 1, "epoch": ack.Str("epoch")})
			end := b.end("t", ack.Turn)
			if got := b.text("t", ""); end.Str("outcome") != "completed" || !strings.Contains(got, "answer:") || !strings.Contains(got, row.said) {
				t.Errorf("%s: the agent said %q and ended %s", row.name, got, end)
			}
			if n := b.count("t", func(m wire.Message) bool { return m.Type == "request_closed" && m.Str("reason") == "answered" }); n < 1 {
				t.Errorf("%s: nobody was told that the request is answered", row.name)
			}
		}
	})
}

func TestB61_ARequestStaysOpenAcrossDisconnects(t *testing.T) {
	everywhere(t, func(t *testing.T, p *place) {
		user := someone()
		a := dial(t, p.url(0, user))
		ack := a.say("t", toolCall, object{"on_disconnect": "preserve"})
		a.typed("t", "tool_call")
		a.Cut()
		detachedUntil := time.Now().Add(2500 * time.Millisecond) // longer than the tool's timeout
		eventually(t, "the time is over", func() bool { return time.Now().After(detachedUntil) })
		b := dial(t, p.url(1, user))
		b.resume("t", object{"last_seq": 1, "epoch": ack.Str("epoch")})
		asked := b.typed("t", "tool_call")
		b.answer("tool_result", object{"tool_call_id": asked.Str("tool_call_id"), "ok": true, "result": 7})
		b.end("t", ack.Turn)
		if got := b.text("t", ""); !strings.Contains(got, `"result":7`) {
			t.Errorf("the agent said %q: the clock ran while nobody watched", got)
		}
		// Watched, it does run.
		late := b.say("t", toolCall)
		b.end("t", late.Turn)
		b.await("t", "expiry", func(m wire.Message) bool { return m.Type == "request_closed" && m.Str("reason") == "expired" })
	}, "--turn.tool_timeout", "2s")
}

func TestB62_TheFirstOfTwoAnswersWins(t *testing.T) {
	everywhere(t, func(t *testing.T, p *place) {
		user := someone()
		a, b := dial(t, p.url(0, user)), dial(t, p.url(1, user))
		for i := range 30 {
			thread := fmt.Sprint("t", i)
			ack := a.say(thread, approval)
			id := a.typed(thread, "tool_approval_request").Str("approval_id")
			var wg sync.WaitGroup
			for v, decision := range map[*viewer]string{a: "allow", b: "deny"} {
				wg.Go(func() { v.answer("tool_approval_response", object{"approval_id": id, "decision": decision}) })
			}
			wg.Wait()
			a.end(thread, ack.Turn)
			text := a.text(thread, "")
			if n := strings.Count(text, "answer:"); n != 1 {
				t.Errorf("%d answers reached the agent: %q", n, text)
			}
			closed := a.count(thread, func(m wire.Message) bool { return m.Type == "request_closed" })
			if closed != 1 {
				t.Errorf("request closed %d times", closed)
			}
		}
	})
}

func TestB64_AnotherUsersAnswerDoesNothing(t *testing.T) {
	everywhere(t, func(t *testing.T, p *place) {
		user := someone()
		a := dial(t, p.url(0, user))
		ack := a.say("t", approval)
		id := a.typed("t", "tool_approval_request").Str("approval_id")
		thief := dial(t, p.url(1, someone()))
		thief.settle()
		mark := thief.Mark()
		thief.answer("tool_approval_response", object{"approval_id": id, "decision": "deny"})
		thief.answer("tool_approval_response", object{"approval_id": "nobody-has-this", "decision": "deny"})
		thief.settle()
		if got := thief.Messages()[mark:]; len(got) != 1 {
			t.Errorf("the other user was told %v", got)
		}
		a.settle()
		if n := a.count("t", func(m wire.Message) bool { return m.Type == "request_closed" }); n != 0 {
			t.Error("the request was closed by another user")
		}
		a.answer("tool_approval_response", object{"approval_id": id, "decision": "allow"})
		a.end("t", ack.Turn)
		if got := a.text("t", ""); !strings.Contains(got, `"decision":"allow"`) {
			t.Errorf("the agent said %q", got)
		}
	})
}

func TestB65_TheEndOfTheTurnClosesItsRequests(t *testing.T) {
	everywhere(t, func(t *testing.T, p *place) {
		user := someone()
		a := dial(t, p.url(0, user))
		ack := a.say("t", approval)
		id := a.typed("t", "tool_approval_request").Str("approval_id")
		b := dial(t, p.url(1, user))
		b.resume("t")
		b.ok("stop", object{"thread_id": "t"})
		for _, v := range []*viewer{a, b} {
			v.end("t", ack.Turn)
			v.await("t", "closed request", func(m wire.Message) bool {
				return m.Type == "request_closed" && m.Str("request_id") == id && m.Str("reason") == "turn_ended"
			})
		}
	})
}

func TestB66_AToolCallHasOneTarget(t *testing.T) {
	everywhere(t, func(t *testing.T, p *place) {
		user := someone()
		tabs := []*viewer{dial(t, p.url(0, user)), dial(t, p.url(1, user)), dial(t, p.url(2, user))}
		for _, v := range tabs {
			v.answer("client_tools_manifest", object{"tools": []any{object{"name": "clock", "description": "", "parameters": object{}}}})
			v.settle()
		}
		for _, v := range tabs[1:] {
			v.ok("follow", object{"thread_id": "t"})
		}
		ack := tabs[0].say("t", toolCall, object{"on_disconnect": "preserve"})
		call := tabs[0].typed("t", "tool_call") // the submitter runs it
		id := call.Str("tool_call_id")
		for _, v := range tabs[1:] {
			seen := v.seq("t", call.Seq)
			if seen.Type != "request_open" || seen.Str("request_id") != id || seen.Seq != call.Seq || seen.Str("name") != "clock" {
				t.Errorf("another viewer got %s, want request_open for %s", seen, id)
			}
		}
		tabs[0].Cut() // the target leaves
		// One that is there, or the next that comes, takes over.
		next := dial(t, p.url(1, user))
		next.answer("client_tools_manifest", object{"tools": []any{object{"name": "clock", "description": "", "parameters": object{}}}})
		next.resume("t", object{"last_seq": call.Seq, "epoch": ack.Str("epoch")})
		runners := func() (n int, first *viewer) {
			for _, v := range append(tabs[1:], next) {
				if k := v.count("t", func(m wire.Message) bool { return m.Type == "tool_call" }); k > 0 {
					n += k
					first = v
				}
			}
			return n, first
		}
		eventually(t, "somebody else runs the call", func() bool { n, _ := runners(); return n > 0 })
		_, runner := runners()
		runner.answer("tool_result", object{"tool_call_id": id, "ok": true, "result": "late"})
		for _, v := range append(tabs[1:], next) {
			v.end("t", ack.Turn)
		}
		if n, _ := runners(); n != 1 {
			t.Errorf("%d viewers were told to run the call after its target left, want 1", n)
		}
		if got := next.text("t", ""); !strings.Contains(got, "late") {
			t.Errorf("the agent said %q", got)
		}
	})
}

func TestB66_AToolTheViewerDoesNotHaveIsNotItsCall(t *testing.T) {
	everywhere(t, func(t *testing.T, p *place) {
		user := someone()
		a := dial(t, p.url(0, user))
		ack := a.say("t", toolCall, object{"on_disconnect": "preserve"})
		call := a.typed("t", "tool_call")
		a.Cut()
		without := dial(t, p.url(1, user))
		without.answer("client_tools_manifest", object{"tools": []any{object{"name": "other", "description": "", "parameters": object{}}}})
		without.resume("t", object{"last_seq": 1, "epoch": ack.Str("epoch")})
		if n := without.count("t", func(m wire.Message) bool { return m.Type == "tool_call" }); n != 0 {
			t.Error("a viewer without the tool was told to run it")
		}
		with := dial(t, p.url(2, user))
		with.answer("client_tools_manifest", object{"tools": []any{object{"name": "clock", "description": "", "parameters": object{}}}})
		with.resume("t", object{"last_seq": 1, "epoch": ack.Str("epoch")})
		if got := with.typed("t", "tool_call"); got.Str("tool_call_id") != call.Str("tool_call_id") {
			t.Errorf("got %s", got)
		}
		with.answer("tool_result", object{"tool_call_id": call.Str("tool_call_id"), "ok": true, "result": 1})
		with.end("t", ack.Turn)
		// A reload after the answer does not run it again.
		reload := dial(t, p.url(1, user))
		reload.resume("t", object{"last_seq": 1, "epoch": ack.Str("epoch")})
		if n := reload.count("t", func(m wire.Message) bool { return m.Type == "tool_call" }); n != 0 {
			t.Error("a reload was told to run an answered call")
		}
		closed := reload.await("t", "the closed request", func(m wire.Message) bool { return m.Seq == call.Seq })
		if closed.Type != "request_closed" || closed.Str("request_id") != call.Str("tool_call_id") {
			t.Errorf("number %d came as %s, want request_closed", call.Seq, closed)
		}
	})
}

func TestB67_RequestIDsAreUniqueWhateverAgentsDo(t *testing.T) {
	everywhere(t, func(t *testing.T, p *place) {
		user := someone()
		a, b := dial(t, p.url(0, user)), dial(t, p.url(1, user))
		seen := map[string]bool{}
		for i := range 4 {
			for _, v := range []*viewer{a, b} {
				thread := fmt.Sprint("t", i%2, v == a)
				ack := v.say(thread, toolCall)
				call := v.await(thread, "tool call", func(m wire.Message) bool { return m.Type == "tool_call" && m.Turn == ack.Turn })
				id := call.Str("tool_call_id")
				if id == "" || seen[id] {
					t.Errorf("request id %q is used twice", id)
				}
				seen[id] = true
				result := fmt.Sprint("result-", len(seen))
				v.answer("tool_result", object{"tool_call_id": id, "ok": true, "result": result})
				v.end(thread, ack.Turn)
				if got := v.text(thread, ack.Turn); !strings.Contains(got, result) {
					t.Errorf("the agent of turn %s heard %q, want %s", ack.Turn, got, result)
				}
			}
		}
	})
}
