package e2e_test

import (
	"testing"
	"time"
)

const kindRules = `kinds:
  - kind: agent
    policy: preserve
    thread_pattern: "agent-*"
  - kind: batch
    policy: preserve
    client_id: batch
  - kind: preview
    policy: cancel
    thread_pattern: "^preview-[0-9]+$"
`

// B26: clients that say nothing get the policy of their threads' kind.
func TestB26_TheKindProtectsClientsThatSayNothing(t *testing.T) {
	t.Parallel()
	file := write(t, "turnlog.yaml", kindRules, 0o600)
	p := own(t, twoNodes, shortLived("--config", file)...)
	user := someone()
	look, a := dial(t, p.url(1, user)), oldClient(t, p.url(0, user))
	batch := dial(t, p.nodes[1].url(user, "client=batch"))
	want := map[string]string{"agent-7": "preserve", "by-batch": "preserve", "preview-1": "cancel", "preview-x": "grace", "an-agent-7": "grace"}
	for thread, policy := range want {
		v := a
		if thread == "by-batch" {
			v = batch
		}
		if ack := v.say(thread, endless); ack.Str("on_disconnect") != policy {
			t.Errorf("%s: %s, want %s", thread, ack, policy)
		}
	}
	// What the kind says cannot be taken back, by whoever asks.
	for _, command := range []string{"chat_message", "set_policy", "resume_chat", "follow"} {
		if got := look.do(command, message("agent-7", endless, object{"on_disconnect": "cancel"})); got.Str("code") != "policy_conflict" {
			t.Errorf("%s with cancel: %s", command, got)
		}
	}
	if got := look.do("set_policy", object{"thread_id": "agent-7", "on_disconnect": "cancel", "scope": "thread"}); got.Str("code") != "policy_conflict" {
		t.Errorf("cancel for the thread: %s", got)
	}
	left := time.Now()
	a.Cut()
	batch.Cut()
	if took := look.over("preview-1").Sub(left); took > atOnce {
		t.Errorf("the preview ended after %v", took)
	}
	for _, ordinary := range []string{"preview-x", "an-agent-7"} {
		if took := look.over(ordinary).Sub(left); took < grace-10*time.Millisecond {
			t.Errorf("%s ended after %v", ordinary, took)
		}
	}
	until(t, left.Add(2*grace+lease))
	for _, thread := range []string{"agent-7", "by-batch"} {
		if turn := look.runs(thread); turn.Str("on_disconnect") != "preserve" || !turn.Bool("detached") {
			t.Errorf("%s", turn)
		}
	}
	// The kind was settled with the first turn: whoever sends the next one.
	next := dial(t, p.url(0, user))
	for thread, policy := range want {
		ack := next.say(thread, object{"frames": 1})
		if got := ack.Str("on_disconnect"); got != policy {
			t.Errorf("the next turn of %s has %s, want %s", thread, got, policy)
		}
		next.end(thread, ack.Turn)
	}
	// A client whose kind is known does not change what others began.
	again := dial(t, p.nodes[0].url(user, "client=batch"))
	if ack := again.say("preview-x", object{"frames": 1}); ack.Str("on_disconnect") != "grace" {
		t.Errorf("%s", ack)
	}
}
