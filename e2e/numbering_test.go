package e2e_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"turnlog/e2e/wire"
)

// whole is the number of frames of a demo turn with n chunks: turn_started, the
// chunks, message, chunk done, turn_finished.
func whole(n int) int64 { return int64(n) + 4 }

func upTo(from, to int64) []int64 {
	out := make([]int64, 0, to-from+1)
	for n := from; n <= to; n++ {
		out = append(out, n)
	}
	return out
}

func wantNumbers(t testing.TB, v *viewer, thread string, from, to int64) {
	t.Helper()
	if got := v.numbers(thread); !slices.Equal(got, upTo(from, to)) {
		t.Errorf("numbers %s, want %d to %d", ranges(got), from, to)
	}
}

// ranges shortens a list of numbers for people.
func ranges(numbers []int64) string {
	var b strings.Builder
	for i := 0; i < len(numbers); {
		j := i
		for j+1 < len(numbers) && numbers[j+1] == numbers[j]+1 {
			j++
		}
		fmt.Fprintf(&b, "%d-%d ", numbers[i], numbers[j])
		i = j + 1
	}
	return b.String()
}

func TestB1_FramesAreNumberedAndReachEveryViewerInOrder(t *testing.T) {
	everywhere(t, func(t *testing.T, p *place) {
		user := someone()
		others := []*viewer{dial(t, p.url(1, user)), dial(t, p.url(2, user)), dial(t, p.url(1, user))}
		for _, v := range others {
			v.ok("follow", object{"thread_id": "t"})
		}
		sender := dial(t, p.url(0, user))
		ack := sender.say("t", object{"frames": 50, "interval_ms": 1})
		for _, v := range append(others, sender) {
			end := v.end("t", ack.Turn)
			if end.Str("outcome") != "completed" || end.Seq != whole(50) {
				t.Errorf("end %s, want completed at %d", end, whole(50))
			}
			wantNumbers(t, v, "t", 1, whole(50))
			if got := v.text("t", ack.Turn); got != wire.DemoText(50, 0) {
				t.Errorf("text %q", got)
			}
		}
	})
}

func TestB2_WhoWatchedNothingMissesNothing(t *testing.T) {
	everywhere(t, func(t *testing.T, p *place) {
		user := someone()
		sender := dial(t, p.url(0, user))
		ack := sender.say("t", object{"frames": 300, "interval_ms": 2}, object{"on_disconnect": "preserve"})
		n := sender.seq("t", 20).Seq
		sender.Cut()
		progressed(t, p, user, "t", n+50)

		v := dial(t, p.url(1, user))
		v.resume("t", object{"last_seq": n, "epoch": ack.Str("epoch")})
		h := v.header("t")
		if h.Bool("replay_incomplete") || h.Int("first_seq") != n+1 || h.Str("status") != "running" {
			t.Errorf("header %s, want complete from %d", h, n+1)
		}
		v.end("t", ack.Turn)
		wantNumbers(t, v, "t", n+1, whole(300))
		if h.Int("replay_count") < 50 || h.Int("replay_count") >= 300 {
			t.Errorf("replayed %d frames, want the missed ones and then live", h.Int("replay_count"))
		}
	})
}

// progressed waits until the running turn's log has come to n.
func progressed(t testing.TB, p *place, user, thread string, n int64) {
	t.Helper()
	v := dial(t, p.url(0, user))
	eventually(t, "the unattended turn goes on", func() bool {
		from := v.Mark()
		v.ok("list_chat_turns", nil)
		for _, m := range v.Messages()[from:] {
			if m.Type == "chat_turn_active" && m.Thread == thread && m.Int("last_seq") >= n {
				return true
			}
		}
		return false
	})
}

func TestB3_AFrameLimitKeepsTheNewestFrames(t *testing.T) {
	everywhere(t, func(t *testing.T, p *place) {
		user := someone()
		a := dial(t, p.url(0, user))
		ack := a.say("t", object{"frames": 1})
		if end := a.end("t", ack.Turn); end.Seq != 5 {
			t.Fatalf("end %s, want five frames", end)
		}
		v := dial(t, p.url(1, user))
		if got := v.resume("t", object{"last_seq": 1, "epoch": ack.Str("epoch")}); got.Int("replay_count") != 3 {
			t.Errorf("ack %s, want 3 frames", got)
		}
		if h := v.header("t"); !h.Bool("replay_incomplete") || h.Int("first_seq") != 3 {
			t.Errorf("header %s, want incomplete from 3", h)
		}
		wantNumbers(t, v, "t", 3, 5)
	}, "--replay.max_frames", "3")
}

func TestB4_AByteLimitKeepsTheNewestBytes(t *testing.T) {
	everywhere(t, func(t *testing.T, p *place) {
		user := someone()
		a := dial(t, p.url(0, user))
		ack := a.say("t", object{"frames": 50, "bytes": 1000})
		last := a.end("t", ack.Turn).Seq
		v := dial(t, p.url(1, user))
		v.resume("t", object{"last_seq": 1, "epoch": ack.Str("epoch")})
		h := v.header("t")
		if !h.Bool("replay_incomplete") || h.Int("first_seq") <= 2 || h.Int("last_seq") != last {
			t.Errorf("header %s, want incomplete", h)
		}
		wantNumbers(t, v, "t", h.Int("first_seq"), last)
		// 2 KiB of message, two small frames, and as many chunks of a little over
		// 1,000 bytes as fit into the rest.
		if n := len(v.numbers("t")); n < 6 || n > 9 {
			t.Errorf("%d frames held, want what fits into 8 KiB", n)
		}
	}, "--replay.max_bytes", "8KiB", "--limits.frame_bytes", "4KiB")
}

func TestB5_NumberingGoesOnInTheNextTurnAlsoAfterTheLogExpired(t *testing.T) {
	everywhere(t, func(t *testing.T, p *place) {
		user := someone()
		a := dial(t, p.url(0, user))
		first := a.say("t", object{"frames": 3})
		last := a.end("t", first.Turn).Seq
		b := dial(t, p.url(1, user))
		second := b.say("t", object{"frames": 3})
		if got := b.end("t", second.Turn).Seq; got != 2*last {
			t.Errorf("second turn ends at %d, want %d", got, 2*last)
		}
		expired(t, p, user, "t")
		c := dial(t, p.url(2, user))
		third := c.say("t", object{"frames": 3})
		if got := c.end("t", third.Turn).Seq; got != 3*last {
			t.Errorf("third turn ends at %d, want %d", got, 3*last)
		}
		if third.Str("epoch") != first.Str("epoch") {
			t.Errorf("epoch changed from %s to %s", first.Str("epoch"), third.Str("epoch"))
		}
	}, shortRetention...)
}

// shortRetention makes finished logs disappear after a second.
var shortRetention = []string{"--replay.retention", "1s"}

// expired waits until the thread's log is gone; every look is an attach, which must
// not prolong its life.
func expired(t testing.TB, p *place, user, thread string) {
	t.Helper()
	v := dial(t, p.url(1, user))
	eventually(t, "the log expires", func() bool {
		v.resume(thread)
		return v.header(thread).Str("status") == "unknown"
	})
}

func TestB6_ACursorAheadOrOfAnotherEpochIsTreatedAsFresh(t *testing.T) {
	everywhere(t, func(t *testing.T, p *place) {
		user := someone()
		a := dial(t, p.url(0, user))
		running := a.say("running", object{"frames": 5, "hang_at": 4}, object{"on_disconnect": "preserve"})
		a.seq("running", 4)
		finished := a.say("finished", object{"frames": 5})
		last := a.end("finished", finished.Turn).Seq
		for name, row := range map[string]struct {
			thread, status string
			cursor         object
			from, to       int64
		}{
			"running, ahead":        {"running", "running", object{"last_seq": 99999, "epoch": running.Str("epoch")}, 1, 4},
			"running, other epoch":  {"running", "running", object{"last_seq": 2, "epoch": "elsewhere"}, 1, 4},
			"running, ahead, old":   {"running", "running", object{"last_seq": 99999}, 1, 4},
			"finished, ahead":       {"finished", "finished", object{"last_seq": 99999, "epoch": finished.Str("epoch")}, last - 1, last},
			"finished, other epoch": {"finished", "finished", object{"last_seq": 2, "epoch": "elsewhere"}, last - 1, last},
		} {
			v := dial(t, p.url(1, user))
			v.resume(row.thread, row.cursor)
			h := v.header(row.thread)
			if !h.Bool("replay_incomplete") || h.Str("status") != row.status || h.Int("replay_count") == 0 {
				t.Errorf("%s: header %s, want incomplete with frames", name, h)
			}
			wantNumbers(t, v, row.thread, row.from, row.to)
		}
		a.ok("stop", object{"thread_id": "running"})
		a.end("running", "")
	})
}

func TestB7_ACursorInsideAnOlderTurn(t *testing.T) {
	everywhere(t, func(t *testing.T, p *place) {
		user := someone()
		a := dial(t, p.url(0, user))
		first := a.say("t", object{"frames": 10})
		a.end("t", first.Turn)
		second := a.say("t", object{"frames": 4, "hang_at": 4}, object{"on_disconnect": "preserve"})
		last := a.await("t", "chunk 3", func(m wire.Message) bool { return m.Turn == second.Turn && m.Str("content") == "3: " }).Seq

		v := dial(t, p.url(1, user))
		v.resume("t", object{"last_seq": 5, "epoch": first.Str("epoch")})
		if h := v.header("t"); h.Bool("replay_incomplete") || h.Int("first_seq") != 6 {
			t.Errorf("with epoch: header %s, want complete from 6", h)
		}
		wantNumbers(t, v, "t", 6, last)
		turns := map[string]bool{}
		for _, m := range v.Frames("t") {
			if m.Seq > 0 {
				turns[m.Turn] = true
			}
		}
		if !turns[first.Turn] || !turns[second.Turn] {
			t.Errorf("turn ids %v, want both turns", turns)
		}

		old := dial(t, p.url(2, user))
		old.resume("t", object{"last_seq": 5})
		if h := old.header("t"); !h.Bool("replay_incomplete") || h.Int("first_seq") != whole(10)+1 {
			t.Errorf("without epoch: header %s, want incomplete from the second turn", h)
		}
		wantNumbers(t, old, "t", whole(10)+1, last)
		a.ok("stop", object{"thread_id": "t"})
		a.end("t", second.Turn)
	})
}

func TestB7_AnOlderTurnThatIsNoLongerHeldIsIncomplete(t *testing.T) {
	everywhere(t, func(t *testing.T, p *place) {
		user := someone()
		a := dial(t, p.url(0, user))
		first := a.say("t", object{"frames": 3})
		a.end("t", first.Turn)
		second := a.say("t", object{"frames": 3})
		last := a.end("t", second.Turn).Seq
		v := dial(t, p.url(1, user))
		v.resume("t", object{"last_seq": 5, "epoch": first.Str("epoch")})
		if h := v.header("t"); !h.Bool("replay_incomplete") {
			t.Errorf("header %s, want incomplete", h)
		}
		wantNumbers(t, v, "t", last-2, last)
	}, "--replay.max_frames", "3")
}

func TestB8_AFreshClientStartsAtTheRunningTurnOrBehindItsLastMessage(t *testing.T) {
	everywhere(t, func(t *testing.T, p *place) {
		user := someone()
		a := dial(t, p.url(0, user))
		first := a.say("t", object{"frames": 10})
		last := a.end("t", first.Turn).Seq
		v := dial(t, p.url(1, user))
		v.resume("t")
		if h := v.header("t"); !h.Bool("replay_incomplete") || h.Str("outcome") != "completed" {
			t.Errorf("header %s, want incomplete and completed", h)
		}
		wantNumbers(t, v, "t", last-1, last) // behind the message: done and the end

		second := a.say("t", object{"frames": 5, "hang_at": 3, "tool_call": object{"name": "f", "args": object{}, "at": 9}})
		a.await("t", "chunk", func(m wire.Message) bool { return m.Turn == second.Turn && m.Str("content") == "2: " })
		for name, cursor := range map[string]any{"absent": nil, "zero": 0, "negative": -5} {
			w := dial(t, p.url(2, user)) // a second resume would not go back
			more := object{}
			if cursor != nil {
				more["last_seq"] = cursor
			}
			w.resume("t", more)
			h := w.header("t")
			if !h.Bool("replay_incomplete") || h.Int("first_seq") != last+1 {
				t.Errorf("%s: header %s, want incomplete from %d", name, h, last+1)
			}
		}
		a.ok("stop", object{"thread_id": "t"})
		a.end("t", second.Turn)
	})
}

func TestB8_OpenRequestsFromBeforeTheReplayComeUnnumbered(t *testing.T) {
	everywhere(t, func(t *testing.T, p *place) {
		user := someone()
		a := dial(t, p.url(0, user))
		ack := a.say("t", object{"frames": 3, "approval": object{"tool_name": "rm", "at": 2}}, object{"on_disconnect": "preserve"})
		asked := a.typed("t", "tool_approval_request")
		v := dial(t, p.url(1, user))
		v.resume("t", object{"last_seq": asked.Seq, "epoch": ack.Str("epoch")})
		again := v.typed("t", "tool_approval_request")
		if again.Has("chat_seq") || !again.Bool("replayed") || again.Str("approval_id") != asked.Str("approval_id") {
			t.Errorf("open request came as %s, want unnumbered and replayed", again)
		}
		if h := v.header("t"); h.Int("replay_count") != 0 || h.Bool("replay_incomplete") {
			t.Errorf("header %s, want complete without frames", h)
		}
		v.answer("tool_approval_response", object{"approval_id": asked.Str("approval_id"), "decision": "allow"})
		v.end("t", ack.Turn)
		a.end("t", ack.Turn)
	})
}

// answer sends a control frame.
func (v *viewer) answer(typ string, keys object) {
	v.t.Helper()
	o := object{"type": typ}
	for k, val := range keys {
		o[k] = val
	}
	if err := v.Send(o); err != nil {
		v.t.Fatalf("%s: %v", typ, err)
	}
}
