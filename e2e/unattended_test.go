package e2e_test

import (
	"strings"
	"testing"
	"time"

	"turnlog/e2e/wire"
)

// F32: an approval that nobody was there to give is not a denied one.
func TestF32_ARequestOutlivesItsViewersAndIsAnsweredLater(t *testing.T) {
	unwatched(t, func(t *testing.T, p *place) {
		user := someone()
		look, a := dial(t, p.url(1, user)), dial(t, p.url(0, user))
		asked := map[string]wire.Message{}
		acks := map[string]wire.Message{}
		for thread, demo := range map[string]object{"approval": approval, "tool": toolCall} {
			acks[thread] = a.say(thread, demo, object{"on_disconnect": "preserve"})
		}
		asked["approval"] = a.typed("approval", "tool_approval_request")
		asked["tool"] = a.typed("tool", "tool_call")
		left := time.Now()
		a.Cut()
		until(t, left.Add(grace+lease+time.Second))
		for thread := range acks {
			if turn := look.runs(thread); !turn.Bool("detached") {
				t.Errorf("%s", turn)
			}
		}
		// Asked again whoever comes, for an answer by id alone from somewhere else.
		b := dial(t, p.url(1, user))
		for thread, ack := range acks {
			b.resume(thread, object{"last_seq": 1, "epoch": ack.Str("epoch")})
			again := b.await(thread, "the open request", func(m wire.Message) bool { return m.Type == asked[thread].Type })
			if again.Seq != asked[thread].Seq || again.Str("approval_id")+again.Str("tool_call_id") != asked[thread].Str("approval_id")+asked[thread].Str("tool_call_id") {
				t.Errorf("asked again %s, at first %s", again, asked[thread])
			}
		}
		b.Cut()
		for thread := range acks {
			look.detached(thread)
		}
		c := dial(t, p.url(0, user)) // answers without having seen anything
		c.answer("tool_approval_response", object{"approval_id": asked["approval"].Str("approval_id"), "decision": "allow"})
		c.answer("tool_result", object{"tool_call_id": asked["tool"].Str("tool_call_id"), "ok": true, "result": "noon"})
		for thread, want := range map[string]string{"approval": `"decision":"allow"`, "tool": `"result":"noon"`} {
			look.over(thread)
			endedOnce(t, p, user, thread, "completed")
			c.resume(thread, object{"last_seq": 1, "epoch": acks[thread].Str("epoch")})
			c.end(thread, acks[thread].Turn)
			if got := c.text(thread, ""); !strings.Contains(got, want) || strings.Contains(got, "deny") || strings.Contains(got, "expired") {
				t.Errorf("%s: the agent heard %q", thread, got)
			}
		}
	})
}

// B61: the clock of a request stands still while nobody watches, and goes on where it stood.
func TestB61_TheClockOfARequestIsPausedWhileDetached(t *testing.T) {
	t.Parallel()
	const timeout = 4 * time.Second
	p := own(t, twoNodes, shortLived("--turn.tool_timeout", timeout.String())...)
	user := someone()
	look, a := dial(t, p.url(1, user)), dial(t, p.url(0, user))
	asked := time.Now()
	ack := a.say("t", toolCall, object{"on_disconnect": "preserve"})
	a.typed("t", "tool_call")
	until(t, asked.Add(timeout/2))
	watched := time.Since(asked)
	a.Cut()
	look.detached("t")
	until(t, time.Now().Add(timeout))
	if turn := look.runs("t"); turn.Int("last_seq") != a.Frames("t")[len(a.Frames("t"))-1].Seq {
		t.Fatalf("something happened while nobody watched: %s", turn)
	}
	back := time.Now()
	b := dial(t, p.url(1, user))
	b.resume("t", object{"last_seq": 1, "epoch": ack.Str("epoch")})
	expiry := b.await("t", "expiry", func(m wire.Message) bool { return m.Type == "request_closed" })
	rest := expiry.At.Sub(back)
	if expiry.Str("reason") != "expired" || rest < timeout-watched-time.Second/2 || rest > timeout-time.Second/2 {
		t.Errorf("closed %s %v after the return, with %v of %v used before", expiry, rest, watched, timeout)
	}
	if end := b.end("t", ack.Turn); end.Str("outcome") != "completed" {
		t.Errorf("%s", end)
	}
}
