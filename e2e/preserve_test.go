package e2e_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"turnlog/e2e/wire"
)

// B24, B13: nothing but a stop ends what is preserved, and that does at once.
func TestB24_PreservedTurnsOutliveEveryBudgetUntilTheyAreStopped(t *testing.T) {
	t.Parallel()
	const retention = 3 * time.Second
	p := own(t, twoNodes, shortLived("--replay.retention", retention.String(), "--turn.tool_timeout", "1s")...)
	user := someone()
	look, a := dial(t, p.url(1, user)), dial(t, p.url(0, user))
	demos := map[string]object{"talks": endless, "hangs": hanging, "asks": approval, "calls": toolCall}
	acks := map[string]wire.Message{}
	for thread, demo := range demos {
		acks[thread] = a.say(thread, demo, object{"on_disconnect": "preserve"})
	}
	a.seq("hangs", 3)
	a.typed("asks", "tool_approval_request")
	a.typed("calls", "tool_call")
	said := a.seq("talks", 5).Seq
	left := time.Now()
	a.Cut()
	until(t, left.Add(lease+reaperLease+2*grace+retention))
	for thread := range demos {
		turn := look.runs(thread)
		if !turn.Bool("detached") || turn.Str("on_disconnect") != "preserve" || turn.Has("grace_deadline") {
			t.Errorf("%s: %s", thread, turn)
		}
		if thread == "talks" && turn.Int("last_seq") < said+100 {
			t.Errorf("the agent said %d frames in %v", turn.Int("last_seq")-said, time.Since(left))
		}
		if at := p.state(t, user, thread)["grace_at"]; at != "" {
			t.Errorf("%s has a deadline: %s", thread, at)
		}
		if due, err := p.redis.own.ZScore(context.Background(), partition(p.key(t, user, thread, "state"))+"due", user+"/"+thread).Result(); err == nil {
			t.Errorf("%s is due at %v", thread, due)
		}
	}
	// A quiet turn has kept its log for longer than the retention.
	v := dial(t, p.url(1, user))
	v.resume("hangs", object{"last_seq": 1, "epoch": acks["hangs"].Str("epoch")})
	if h := v.header("hangs"); h.Str("status") != "running" || h.Bool("replay_incomplete") || h.Int("replay_count") != 2 {
		t.Errorf("header %s", h)
	}
	v.Cut()
	look.detached("hangs")

	fastest := time.Hour
	for thread := range acks {
		stopper := dial(t, p.url(1, user))
		begin := time.Now()
		stopper.ok("stop", object{"thread_id": thread})
		eventually(t, "nothing is left of "+thread, func() bool { return len(p.traces(t, user, thread)) == 0 })
		took := time.Since(begin)
		if fastest = min(fastest, took); took > atOnce {
			t.Errorf("%s left traces for %v", thread, took)
		}
		endedOnce(t, p, user, thread, "stopped")
		ttl := p.redis.own.PTTL(context.Background(), p.key(t, user, thread, "log")).Val()
		if ttl <= 0 || ttl > retention {
			t.Errorf("the log of %s lives for %v, want at most %v", thread, ttl, retention)
		}
	}
	if fastest > time.Second {
		t.Errorf("not one stop was settled within a second, the fastest took %v", fastest)
	}
	for thread := range demos {
		p.unsubscribed(t, user, thread)
		eventually(t, "the log of "+thread+" expires", func() bool { return p.key(t, user, thread, "log") == "" })
		if p.key(t, user, thread, "messages") == "" {
			t.Errorf("%s: the history went with the log", thread)
		}
		look.resume(thread)
		if h := look.header(thread); h.Str("status") != "unknown" {
			t.Errorf("header %s", h)
		}
	}
}

// partition is the part of a key that names its partition.
func partition(key string) string { return key[:strings.Index(key, "}:")+2] }

// B24, F33: the program behind a turn is gone when the turn is, and knows why.
func TestB24_F33_TheAgentIsGoneAndKnowsWhy(t *testing.T) {
	t.Parallel()
	heard := t.TempDir()
	script := write(t, "agent.sh", "#!/bin/sh\nread -r first\necho '{\"type\":\"chunk\",\"content\":\"on it\"}'\ncat > "+heard+"/$$\n", 0o700)
	p := own(t, twoNodes, append(shortLived("--agent", "command"), "--", script)...)
	for row, test := range map[string]struct {
		policy, outcome string
		stop            bool
	}{
		"preserved": {"preserve", "stopped", true},
		"watched":   {"cancel", "stopped", true},
		"cancel":    {"cancel", "detached", false},
		"grace":     {"grace", "detached", false},
	} {
		user := someone()
		look, a, b := dial(t, p.url(1, user)), dial(t, p.url(0, user)), dial(t, p.url(1, user))
		ack := a.say("t", nil, object{"on_disconnect": test.policy})
		a.typed("t", "chunk")
		eventually(t, "a program runs", func() bool { return len(children(t, p.nodes[0])) == 1 })
		if row != "watched" {
			a.Cut()
		}
		begin := time.Now()
		if test.stop {
			b.ok("stop", object{"thread_id": "t"})
		} else {
			look.over("t")
			begin = time.Now()
		}
		eventually(t, "no program runs", func() bool { return len(children(t, p.nodes[0])) == 0 })
		if took := time.Since(begin); took > atOnce {
			t.Errorf("%s: the program was gone after %v", row, took)
		}
		look.over("t")
		endedOnce(t, p, user, "t", test.outcome)
		notes, err := filepath.Glob(heard + "/*")
		if err != nil || len(notes) != 1 {
			t.Fatalf("%s: %v, %v", row, notes, err)
		}
		note, err := os.ReadFile(notes[0])
		if err != nil || !strings.Contains(string(note), `"outcome":"`+test.outcome+`"`) {
			t.Errorf("%s: the program heard %q, %v, want %s", row, note, err, test.outcome)
		}
		if err := os.Remove(notes[0]); err != nil {
			t.Fatal(err)
		}
		// Every later viewer is told the same.
		b.resume("t", object{"last_seq": 1, "epoch": ack.Str("epoch")})
		if end := b.end("t", ack.Turn); end.Str("outcome") != test.outcome || b.header("t").Str("outcome") != test.outcome {
			t.Errorf("%s: told %s, %s", row, b.header("t"), end)
		}
	}
}

func TestB24_WhatIsQueuedBehindAPreservedTurnIsProtectedToo(t *testing.T) {
	unwatched(t, func(t *testing.T, p *place) {
		user := someone()
		look, a := dial(t, p.url(1, user)), dial(t, p.url(0, user))
		enqueue := object{"on_busy": "enqueue"}
		first := a.say("t", approval, object{"on_disconnect": "preserve"})
		queued := map[string]wire.Message{
			"preserve": a.say("t", approval, enqueue, object{"on_disconnect": "preserve", "content": "preserve"}),
			"cancel":   a.say("t", object{"frames": 2}, enqueue, object{"on_disconnect": "cancel", "content": "cancel"}),
			"plain":    a.say("t", object{"frames": 2}, enqueue, object{"content": "plain"}),
		}
		if turn := look.runs("t"); turn.Str("turn_id") != first.Turn || turn.Str("on_disconnect") != "preserve" {
			t.Errorf("running %s", turn)
		}
		allow := func(turn string) {
			id := ""
			eventually(t, "the agent of "+turn+" asks", func() bool {
				for _, e := range p.logged(t, user, "t") {
					if frame, is := frameOf(e, "tool_approval_request"); is && p.turnOf(t, user, "t", e.Values["turn"]) == turn {
						_, rest, _ := strings.Cut(frame, `"approval_id":"`)
						id, _, _ = strings.Cut(rest, `"`)
					}
				}
				return id != ""
			})
			look.answer("tool_approval_response", object{"approval_id": id, "decision": "allow"})
		}
		left := time.Now()
		a.Cut()
		until(t, left.Add(grace+lease+time.Second))
		if turn := look.runs("t"); turn.Str("turn_id") != first.Turn {
			t.Fatalf("running %s", turn)
		}
		allow(first.Turn)
		eventually(t, "the queued turn runs", func() bool {
			turn, found := look.running("t")
			return found && turn.Str("turn_id") == queued["preserve"].Turn
		})
		began := time.Now()
		until(t, began.Add(grace+lease+time.Second))
		if turn := look.runs("t"); turn.Str("turn_id") != queued["preserve"].Turn || !turn.Bool("detached") || turn.Str("on_disconnect") != "preserve" {
			t.Fatalf("running %s", turn)
		}
		allow(queued["preserve"].Turn)
		eventually(t, "the last queued turn is over", func() bool {
			state := p.state(t, user, "t")
			return state["status"] == "finished" && state["turn_id"] == queued["plain"].Turn
		})
		v := dial(t, p.url(0, user))
		v.resume("t", object{"full": true})
		v.end("t", queued["plain"].Turn)
		for _, m := range v.Frames("t") {
			switch {
			case m.Turn == queued["cancel"].Turn && m.Type != "chat_resumed":
				t.Errorf("a queued cancel whose viewer had left was run: %s", m)
			case m.Type == "turn_finished" && m.Str("outcome") != "completed":
				t.Errorf("%s", m)
			}
		}
		if n := p.oneEnd(t, user, "t"); n != 3 {
			t.Errorf("%d turns ended, want 3", n)
		}
	})
}

// turnOf is the id of the turn with this ordinal.
func (p *place) turnOf(t testing.TB, user, thread string, ordinal any) string {
	t.Helper()
	return p.redis.own.HGet(context.Background(), p.key(t, user, thread, "turns"), ordinal.(string)).Val()
}
