package e2e_test

import (
	"testing"

	"turnlog/e2e/wire"
)

func TestB20_OneViewerLeavingOrWedgedChangesNothingForTheOthers(t *testing.T) {
	everywhere(t, func(t *testing.T, p *place) {
		const frames, size = 3000, 500
		user := someone()
		sender := dial(t, p.url(0, user))
		tabs := []*viewer{dial(t, p.url(0, user)), dial(t, p.url(1, user)), dial(t, p.url(2, user))}
		leaving, wedged := dial(t, p.url(1, user)), dialWith(t, p.url(1, user), wire.Options{Paused: true, ReadBuffer: 4096})
		for _, v := range append(tabs, leaving) {
			v.ok("follow", object{"thread_id": "t"})
		}
		if _, err := wedged.Command("follow", object{"thread_id": "t"}); err != nil {
			t.Fatal(err)
		}
		follows(t, p, user, "t")
		ack := sender.say("t", object{"frames": frames, "bytes": size})
		leaving.seq("t", 100)
		leaving.Cut()
		for _, v := range append(tabs, sender) {
			v.end("t", ack.Turn)
			wantNumbers(t, v, "t", 1, whole(frames))
		}
		if tabs[1].text("t", "") != wire.DemoText(frames, size) {
			t.Error("text differs from what the agent said")
		}
	}, "--replay.max_frames", "10000")
}

func TestB22_AnOldConnectionLeavingKeepsTheNewOneAttached(t *testing.T) {
	everywhere(t, func(t *testing.T, p *place) {
		user := someone()
		// With policy cancel the turn ends the moment nobody watches.
		old := dial(t, p.url(0, user))
		ack := old.say("t", object{"frames": 100_000, "interval_ms": 5}, object{"on_disconnect": "cancel"})
		for i := range 20 {
			next := dial(t, p.url(i, user)) // the same node, then others
			next.resume("t", object{"last_seq": 1, "epoch": ack.Str("epoch")})
			if i%2 == 0 {
				old.Cut()
			} else {
				old.ok("unfollow", object{"thread_id": "t"})
				old.Cut()
			}
			old = next
			next.seq("t", next.header("t").Int("last_seq")+3) // it goes on
		}
		old.Cut()
		v := dial(t, p.url(1, user)) // looks, and does not watch: that would keep the turn
		eventually(t, "the turn ends when the last viewer left", func() bool {
			return v.ok("list_chat_turns", nil).Int("count") == 0
		})
		v.resume("t", object{"last_seq": 1, "epoch": ack.Str("epoch")})
		if got := v.header("t").Str("outcome"); got != "detached" {
			t.Errorf("outcome %q, want detached", got)
		}
	})
}
