package e2e_test

import (
	"strings"
	"testing"
	"time"

	"turnlog/e2e/wire"
)

func TestB40_ATurnFinishesUnattended(t *testing.T) {
	everywhere(t, func(t *testing.T, p *place) {
		user := someone()
		a := dial(t, p.url(0, user))
		ack := a.say("t", object{"frames": 100, "interval_ms": 2})
		n := a.seq("t", 10).Seq
		a.Cut()
		look := dial(t, p.url(2, user))
		eventually(t, "no turn runs", func() bool { return look.ok("list_chat_turns", nil).Int("count") == 0 })
		v := dial(t, p.url(1, user))
		v.resume("t", object{"last_seq": n, "epoch": ack.Str("epoch")})
		if h := v.header("t"); h.Bool("replay_incomplete") || h.Str("status") != "finished" || h.Str("outcome") != "completed" {
			t.Errorf("header %s", h)
		}
		wantNumbers(t, v, "t", n+1, whole(100))
	})
}

func TestB41_SupersedeRejectEnqueue(t *testing.T) {
	everywhere(t, func(t *testing.T, p *place) {
		t.Run("supersede", func(t *testing.T) {
			user := someone()
			a := dial(t, p.url(0, user))
			first := a.say("t", object{"frames": 5000, "interval_ms": 1})
			a.seq("t", 20)
			b := dial(t, p.url(1, user))
			second := b.say("t", object{"frames": 5})
			if got := a.end("t", first.Turn); got.Str("outcome") != "superseded" {
				t.Errorf("first ended %s, want superseded", got)
			}
			a.end("t", second.Turn)
			b.end("t", second.Turn)
			over := false
			for _, m := range a.Frames("t") {
				switch {
				case m.Type == "turn_finished" && m.Turn == first.Turn:
					over = true
				case over && m.Turn == first.Turn:
					t.Errorf("late frame of the superseded turn: %s", m)
				}
			}
			if got := b.text("t", second.Turn); got != wire.DemoText(5, 0) {
				t.Errorf("second said %q", got)
			}
		})
		t.Run("reject", func(t *testing.T) {
			user := someone()
			a := dial(t, p.url(0, user))
			first := a.say("t", object{"frames": 50, "interval_ms": 5})
			b := dial(t, p.url(1, user))
			got := b.do("chat_message", message("t", nil, object{"on_busy": "reject"}))
			if got.Str("code") != "busy" || !got.Has("error") {
				t.Errorf("ack %s, want busy", got)
			}
			if end := a.end("t", first.Turn); end.Str("outcome") != "completed" {
				t.Errorf("end %s", end)
			}
		})
		t.Run("enqueue", func(t *testing.T) {
			user := someone()
			a := dial(t, p.url(0, user))
			first := a.say("t", object{"frames": 300, "interval_ms": 10})
			var turns []string
			for i := range 3 {
				v := dial(t, p.url(i, user))
				got := v.say("t", object{"frames": 3}, object{"on_busy": "enqueue"})
				if got.Int("position") != int64(i+1) || got.Turn == "" {
					t.Errorf("ack %s, want position %d", got, i+1)
				}
				turns = append(turns, got.Turn)
			}
			for _, turn := range append([]string{first.Turn}, turns...) {
				if end := a.end("t", turn); end.Str("outcome") != "completed" {
					t.Errorf("end %s", end)
				}
			}
			var order []string
			for _, m := range a.Frames("t") {
				if m.Type == "turn_started" {
					order = append(order, m.Turn)
				}
			}
			if strings.Join(order, " ") != strings.Join(append([]string{first.Turn}, turns...), " ") {
				t.Errorf("ran in order %v, want %v", order, turns)
			}
		})
	})
}

func TestB41_AQueuedTurnRunsAlsoWhenTheOwnerDies(t *testing.T) {
	p := own(t, twoNodes, "--node.lease", "2s", "--node.heartbeat", "500ms")
	user := someone()
	a := dial(t, p.url(0, user))
	first := a.say("t", object{"frames": 5, "hang_at": 3})
	b := dial(t, p.url(1, user))
	b.resume("t")
	second := b.say("t", object{"frames": 3}, object{"on_busy": "enqueue"})
	p.nodes[0].kill()
	if end := b.end("t", first.Turn); end.Str("outcome") != "owner_lost" {
		t.Errorf("first ended %s, want owner_lost", end)
	}
	if end := b.end("t", second.Turn); end.Str("outcome") != "completed" {
		t.Errorf("second ended %s", end)
	}
}

func TestB42_StopFromAnyNode(t *testing.T) {
	everywhere(t, func(t *testing.T, p *place) {
		user := someone()
		a := dial(t, p.url(0, user))
		ack := a.say("t", object{"frames": 5000, "interval_ms": 1})
		a.seq("t", 10)
		other := dial(t, p.url(1, user)) // never saw the turn
		begin := time.Now()
		if got := other.ok("stop", object{"thread_id": "t"}); got.Str("message") != "Stop command processed" || !got.Has("job_id") {
			t.Errorf("ack %s", got)
		}
		end := a.end("t", ack.Turn)
		bound := time.Second
		if p.redis == nil {
			bound = 4 * time.Second // all tests in parallel share the scripts of one embedded Redis
		}
		if took := time.Since(begin); took > bound {
			t.Errorf("stopped after %v, want within %v", took, bound)
		}
		if end.Str("outcome") != "stopped" {
			t.Errorf("end %s, want stopped", end)
		}
		stopped, spoke := 0, false
		for _, m := range a.Frames("t") {
			switch {
			case m.Type == "generation_stopped":
				stopped++
				if m.Seq == 0 {
					t.Errorf("generation_stopped of a viewer is unnumbered: %s", m)
				}
			case stopped > 0 && m.Type == "chunk" && m.Str("content") != "":
				spoke = true
			}
		}
		if stopped != 1 || spoke {
			t.Errorf("%d generation_stopped, text after it: %v", stopped, spoke)
		}
		other.typed("t", "generation_stopped")
		if n := other.count("t", func(m wire.Message) bool { return m.Type == "generation_stopped" }); n != 1 {
			t.Errorf("the stopper saw %d generation_stopped, want 1", n)
		}
	})
}

func TestB42_AHungOwnerIsFinishedByTheReaper(t *testing.T) {
	flags := []string{"--turn.stop_timeout", "1s", "--node.lease", "30s", "--node.heartbeat", "1s"}
	t.Run("agent that ignores the stop", func(t *testing.T) {
		everywhere(t, func(t *testing.T, p *place) {
			user := someone()
			a := dial(t, p.url(0, user))
			ack := a.say("t", object{"frames": 5, "hang_at": 3, "ignore_stop": true})
			a.seq("t", 3)
			dial(t, p.url(1, user)).ok("stop", object{"thread_id": "t"})
			if end := a.end("t", ack.Turn); end.Str("outcome") != "stopped" {
				t.Errorf("end %s", end)
			}
			again := a.say("t", object{"frames": 1}) // the thread is free
			a.end("t", again.Turn)
		}, flags...)
	})
	t.Run("owner that stands still", func(t *testing.T) {
		p := own(t, twoNodes, flags...)
		user := someone()
		a := dial(t, p.url(0, user))
		ack := a.say("t", object{"frames": 5, "hang_at": 3})
		a.seq("t", 3)
		b := dial(t, p.url(1, user))
		b.resume("t")
		p.nodes[0].pause()
		begin := time.Now()
		b.ok("stop", object{"thread_id": "t"})
		if end := b.end("t", ack.Turn); end.Str("outcome") != "stopped" {
			t.Errorf("end %s", end)
		}
		// The leading reaper may be the node that stands still: its lease is 5 s.
		if took := time.Since(begin); took > 10*time.Second {
			t.Errorf("stopped after %v", took)
		}
		p.nodes[0].cont()
	})
}

func TestB43_StopRacingTheEndLeavesOneTerminalFrame(t *testing.T) {
	everywhere(t, func(t *testing.T, p *place) {
		user := someone()
		a, b := dial(t, p.url(0, user)), dial(t, p.url(1, user))
		outcomes := map[string]int{}
		for range 150 {
			ack := a.say("t", object{"frames": 1, "interval_ms": 1})
			moment(6 * time.Millisecond)
			if _, err := b.Command("stop", object{"thread_id": "t", "turn_id": ack.Turn}); err != nil {
				t.Fatal(err)
			}
			outcomes[a.end("t", ack.Turn).Str("outcome")]++
		}
		a.settle()
		ends := map[string]int{}
		for _, m := range a.Frames("t") {
			if m.Type == "turn_finished" {
				ends[m.Turn]++
			}
		}
		for turn, n := range ends {
			if n != 1 {
				t.Errorf("turn %s ended %d times", turn, n)
			}
		}
		t.Logf("outcomes %v", outcomes)
		if len(ends) != 150 {
			t.Errorf("%d turns ended, want 150", len(ends))
		}
	})
}

func TestB43_ALateStopDoesNotTouchTheNextTurn(t *testing.T) {
	everywhere(t, func(t *testing.T, p *place) {
		user := someone()
		a, b := dial(t, p.url(0, user)), dial(t, p.url(1, user))
		first := a.say("t", object{"frames": 1})
		a.end("t", first.Turn)
		second := a.say("t", object{"frames": 30, "interval_ms": 3})
		for range 10 {
			b.ok("stop", object{"thread_id": "t", "turn_id": first.Turn})
		}
		if end := a.end("t", second.Turn); end.Str("outcome") != "completed" {
			t.Errorf("second ended %s", end)
		}
	})
}

func TestB44_TheSameMessageIDIsTheSameTurn(t *testing.T) {
	everywhere(t, func(t *testing.T, p *place) {
		user := someone()
		a := dial(t, p.url(0, user))
		data := message("t", object{"frames": 20, "interval_ms": 3}, object{"id": "m1"})
		first := a.ok("chat_message", data)
		same := func(when string, v *viewer) {
			t.Helper()
			got := v.ok("chat_message", data)
			if got.Turn != first.Turn || !got.Bool("duplicate") || got.Str("message") != first.Str("message") || got.Str("epoch") != first.Str("epoch") {
				t.Errorf("%s: ack %s, want the first one's %s", when, got, first)
			}
		}
		same("same socket", a)
		same("other node", dial(t, p.url(1, user)))
		a.seq("t", 5)
		a.Cut()
		b := dial(t, p.url(2, user))
		same("after a drop", b)
		b.resume("t", object{"last_seq": 1, "epoch": first.Str("epoch")})
		b.end("t", first.Turn)
		same("after the end", b)
		got := b.do("chat_message", message("t", object{"frames": 20, "interval_ms": 3}, object{"id": "m1", "content": "something else"}))
		if got.Str("code") != "idempotency_conflict" {
			t.Errorf("other content: %s, want idempotency_conflict", got)
		}
		if n := b.count("t", func(m wire.Message) bool { return m.Type == "turn_started" }); n > 1 {
			t.Errorf("%d turns ran", n)
		}
	})
}

func TestB45_AnAgentThatBreaksEndsItsTurnAndNotTheNode(t *testing.T) {
	everywhere(t, func(t *testing.T, p *place) {
		user := someone()
		for name, demo := range map[string]object{"panics": {"frames": 5, "panic_at": 3}, "fails": {"frames": 5, "fail_at": 3}} {
			a := dial(t, p.url(0, user))
			ack := a.say(name, demo)
			end := a.end(name, ack.Turn)
			if end.Str("outcome") != "failed" || end.Str("error") == "" {
				t.Errorf("%s: end %s", name, end)
			}
			a.typed(name, "error")
			a.await(name, "chunk done", func(m wire.Message) bool { return m.Type == "chunk" && m.Bool("done") })
			if got := a.text(name, ""); got != "1: 2: " {
				t.Errorf("%s: said %q", name, got)
			}
			again := a.say(name, object{"frames": 1})
			if end := a.end(name, again.Turn); end.Str("outcome") != "completed" {
				t.Errorf("%s: next turn ended %s", name, end)
			}
		}
	})
}

func TestB46_LimitsEndTurns(t *testing.T) {
	everywhere(t, func(t *testing.T, p *place) {
		user := someone()
		a := dial(t, p.url(0, user))
		stalled := a.say("stalls", object{"frames": 5, "hang_at": 3})
		long := a.say("long", object{"frames": 5000, "interval_ms": 100})
		waiting := a.say("asks", object{"frames": 3, "approval": object{"tool_name": "rm", "at": 2}})
		if end := a.end("stalls", stalled.Turn); end.Str("outcome") != "stalled" {
			t.Errorf("end %s, want stalled", end)
		}
		if end := a.end("long", long.Turn); end.Str("outcome") != "timed_out" {
			t.Errorf("end %s, want timed_out", end)
		}
		if end := a.end("asks", waiting.Turn); end.Str("outcome") != "timed_out" {
			t.Errorf("an open request stalls nothing: end %s, want timed_out", end)
		}
	}, "--turn.max_duration", "3s", "--turn.stall_after", "1s")
}

func TestB47_SteerReachesTheRunningAgentOrTheNextTurn(t *testing.T) {
	everywhere(t, func(t *testing.T, p *place) {
		user := someone()
		a := dial(t, p.url(0, user))
		ack := a.say("t", object{"frames": 150, "interval_ms": 30})
		a.seq("t", 3)
		b := dial(t, p.url(1, user))
		b.ok("steer", object{"thread_id": "t", "content": "be brief", "id": "s1"})
		b.ok("steer", object{"thread_id": "t", "content": "be brief", "id": "s1"}) // a retry
		a.end("t", ack.Turn)
		if got := strings.Count(a.text("t", ack.Turn), "steer:be brief "); got != 1 {
			t.Errorf("steered %d times: %q", got, a.text("t", ack.Turn))
		}
		b.ok("steer", object{"thread_id": "t", "content": "one more thing", "id": "s2"})
		next := a.await("t", "a turn of the late steer", func(m wire.Message) bool { return m.Type == "turn_started" && m.Turn != ack.Turn })
		if msg, _ := next.Object["message"].(object); msg["content"] != "one more thing" {
			t.Errorf("turn started %s", next)
		}
		a.end("t", next.Turn)
	})
}

func TestB48_RunningTurnsOfAUserAreLimited(t *testing.T) {
	everywhere(t, func(t *testing.T, p *place) {
		user := someone()
		a, b := dial(t, p.url(0, user)), dial(t, p.url(1, user))
		hang := object{"frames": 5, "hang_at": 3}
		a.say("one", hang)
		two := a.say("two", hang)
		got := b.do("chat_message", message("three", hang))
		if got.Str("code") != "quota_exceeded" || !got.Has("error") {
			t.Errorf("third turn: %s, want quota_exceeded", got)
		}
		a.ok("stop", object{"thread_id": "two"})
		a.end("two", two.Turn)
		b.say("three", hang)
		other := dial(t, p.url(0, someone()))
		other.say("one", object{"frames": 1}) // another user's places are their own
		for _, thread := range []string{"one", "three"} {
			b.ok("stop", object{"thread_id": thread})
		}
	}, "--limits.running_turns_per_user", "2")
}

func TestB49_ATurnThatEndsEarlyLeavesAUsableHistory(t *testing.T) {
	everywhere(t, func(t *testing.T, p *place) {
		user := someone()
		a := dial(t, p.url(0, user))
		ack := a.say("t", object{"frames": 9, "tool_call": object{"name": "f", "args": object{"x": 1}, "at": 4}})
		call := a.typed("t", "tool_call")
		dial(t, p.url(1, user)).ok("stop", object{"thread_id": "t"})
		a.end("t", ack.Turn)
		partial := a.await("t", "partial message", func(m wire.Message) bool {
			return m.Type == "message" && m.Bool("partial") && m.Str("role") == "assistant"
		})
		if got := partial.String(); !strings.Contains(got, "1: 2: 3: ") {
			t.Errorf("partial message %s", got)
		}
		a.await("t", "stand-in for the tool call", func(m wire.Message) bool {
			return m.Type == "message" && m.Str("role") == "tool" && m.Str("tool_call_id") == call.Str("tool_call_id")
		})
	})
}
