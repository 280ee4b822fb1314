package e2e_test

import (
	"math"
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/vmihailenco/msgpack/v5"

	"turnlog/e2e/wire"
)

// oldClient is a socket as older clients make it: MessagePack in, no epochs.
func oldClient(t testing.TB, url string) *viewer {
	t.Helper()
	return dialWith(t, url, wire.Options{MessagePack: true})
}

func TestB120_AStaleCursorNeverGoesBackOnOneSocket(t *testing.T) {
	everywhere(t, func(t *testing.T, p *place) {
		user := someone()
		a := dial(t, p.url(0, user))
		first := a.say("t", object{"frames": 5})
		a.end("t", first.Turn)
		second := a.say("t", object{"frames": 200, "interval_ms": 3})
		begin := whole(5) + 1
		a.seq("t", begin+10)
		old := oldClient(t, p.url(1, user))
		old.resume("t", object{"last_seq": 3}) // inside the first turn
		if h := old.header("t"); !h.Bool("replay_incomplete") || h.Int("first_seq") != begin {
			t.Errorf("header %s, want fresh from %d", h, begin)
		}
		old.seq("t", begin+30)
		for _, stale := range []int64{3, begin + 2, 0} {
			old.resume("t", object{"last_seq": stale})
		}
		old.end("t", second.Turn)
		seen := map[int64]int{}
		for _, n := range old.numbers("t") {
			seen[n]++
		}
		for n := begin; n <= whole(5)+whole(200); n++ {
			if seen[n] != 1 {
				t.Errorf("number %d came %d times", n, seen[n])
			}
		}
	})
}

func TestB121_AResumeNeverLeavesAnOldClientBusy(t *testing.T) {
	everywhere(t, func(t *testing.T, p *place) {
		user := someone()
		a := dial(t, p.url(0, user))
		ack := a.say("t", object{"frames": 3})
		end := a.end("t", ack.Turn)
		old := oldClient(t, p.url(1, user))
		old.resume("t", object{"last_seq": end.Seq})
		if h := old.header("t"); !h.Bool("replay_incomplete") || h.Str("status") != "finished" {
			t.Errorf("nothing is left that makes it idle: header %s, want incomplete", h)
		}
		// While turns end, no look finds one that said it is done and still runs.
		look := oldClient(t, p.url(1, user))
		for range 100 {
			ack := a.say("t", object{"frames": 1, "interval_ms": 1})
			moment(4 * time.Millisecond)
			look.resume("t", object{"last_seq": ack.Int("last_seq")})
			a.end("t", ack.Turn)
		}
		a.settle()
		done := map[int64]bool{}
		for _, m := range a.Frames("t") {
			if m.Type == "chunk" && m.Bool("done") {
				done[m.Seq] = true
			}
		}
		for _, m := range look.Frames("t") {
			if m.Type == "chat_resumed" && m.Str("status") == "running" && done[m.Int("last_seq")] {
				t.Errorf("everything is said and it still runs: %s", m)
			}
		}
	})
}

func TestB122_SupersedingShowsNoDoneOfTheOldTurn(t *testing.T) {
	everywhere(t, func(t *testing.T, p *place) {
		user := someone()
		a := oldClient(t, p.url(0, user))
		first := a.say("t", object{"frames": 5000, "interval_ms": 1})
		a.seq("t", 5)
		second := dial(t, p.url(1, user)).say("t", object{"frames": 2})
		a.end("t", second.Turn)
		for _, m := range a.Frames("t") {
			if m.Turn == first.Turn && m.Bool("done") {
				t.Errorf("done of the superseded turn: %s", m)
			}
		}
	})
}

func TestB123_EveryRefusedMessageBringsAnErrorFrame(t *testing.T) {
	everywhere(t, func(t *testing.T, p *place) {
		user := someone()
		a := oldClient(t, p.url(0, user))
		a.say("busy", object{"frames": 5, "hang_at": 3})
		a.say("other", object{"frames": 5, "hang_at": 3})
		a.ok("chat_message", message("free", object{"frames": 1}, object{"id": "m1"}))
		a.end("free", "")
		for name, row := range map[string]struct {
			thread, code string
			data         object
		}{
			"busy":     {"busy", "busy", object{"on_busy": "reject"}},
			"agent":    {"x1", "unknown_agent", object{"agent": "nobody"}},
			"conflict": {"free", "idempotency_conflict", object{"id": "m1", "content": "else"}},
		} {
			v := oldClient(t, p.url(1, user))
			got := v.do("chat_message", message(row.thread, object{"frames": 1}, row.data))
			if got.Str("code") != row.code {
				t.Errorf("%s: ack %s, want %s", name, got, row.code)
			}
			frame := v.typed(row.thread, "error")
			if frame.Has("chat_seq") || frame.Str("code") != row.code || frame.Str("message") == "" || !frame.Has("retryable") {
				t.Errorf("%s: frame %s", name, frame)
			}
		}
		for _, thread := range []string{"busy", "other"} {
			a.ok("stop", object{"thread_id": thread})
			a.end(thread, "")
		}
	})
}

func TestB124_EveryStopBringsExactlyOneGenerationStopped(t *testing.T) {
	everywhere(t, func(t *testing.T, p *place) {
		user := someone()
		isStop := func(m wire.Message) bool { return m.Type == "generation_stopped" }
		a := oldClient(t, p.url(0, user))
		// Nothing runs.
		a.ok("stop", object{"thread_id": "idle"})
		if got := a.typed("idle", "generation_stopped"); got.Has("chat_seq") || !got.Has("job_id") {
			t.Errorf("frame %s", got)
		}
		// Running here, stopped elsewhere by a socket that does not follow.
		ack := a.say("t", object{"frames": 5000, "interval_ms": 1})
		a.seq("t", 5)
		b := oldClient(t, p.url(1, user))
		b.ok("stop", object{"thread_id": "t"})
		b.typed("t", "generation_stopped")
		a.end("t", ack.Turn)
		// Reconnected after the stop.
		c := oldClient(t, p.url(2, user))
		c.resume("t", object{"last_seq": 3})
		c.end("t", ack.Turn)
		for name, v := range map[string]*viewer{"idle": a, "t": a} {
			v.settleOld()
			if n := v.count(name, isStop); n != 1 {
				t.Errorf("%s: %d generation_stopped, want 1", name, n)
			}
		}
		for name, v := range map[string]*viewer{"stopper": b, "reconnected": c} {
			v.settleOld()
			if n := v.count("t", isStop); n != 1 {
				t.Errorf("%s: %d generation_stopped, want 1", name, n)
			}
		}
		stopped := false
		for _, m := range a.Frames("t") {
			stopped = stopped || isStop(m)
			if stopped && m.Type == "chunk" && m.Str("content") != "" {
				t.Errorf("text after the stop: %s", m)
			}
		}
	})
}

// settleOld makes a round trip.
func (v *viewer) settleOld() { v.t.Helper(); v.ok("list_chat_turns", nil) }

func TestB125_EncodingsOfOlderClients(t *testing.T) {
	everywhere(t, func(t *testing.T, p *place) {
		user := someone()
		v := dialWith(t, p.nodes[0].url(user, "encoding=msgpack"), wire.Options{MessagePack: true})
		ack := v.say("t", object{"frames": 300})
		v.end("t", ack.Turn)
		for _, m := range v.Frames("t") {
			switch m.Object["chat_seq"].(type) {
			case nil, int8, uint8, uint16, uint32:
			default:
				t.Fatalf("chat_seq %v is a %T: msgpackr makes a BigInt of 64-bit forms", m.Object["chat_seq"], m.Object["chat_seq"])
			}
		}
		wantNumbers(t, v, "t", 1, whole(300))
		if got := v.text("t", ""); got != wire.DemoText(300, 0) {
			t.Errorf("text %d bytes", len(got))
		}

		// A map16 header, undefined (extension 0) and NaN, as msgpackr writes them.
		undefined := msgpack.RawMessage{0xd4, 0x00, 0x00}
		data, err := msgpack.Marshal(map[string]any{
			"thread_id": "u", "content": "hi", "id": undefined, "role": undefined, "demo": map[string]any{"frames": 2}, "temperature": math.NaN(),
		})
		if err != nil {
			t.Fatal(err)
		}
		raw := []byte{0xde, 0x00, 0x03} // map16 with three entries
		for _, s := range []string{"command", "chat_message", "request_id"} {
			b, _ := msgpack.Marshal(s)
			raw = append(raw, b...)
		}
		raw = append(raw, undefined...)
		key, _ := msgpack.Marshal("data")
		raw = append(append(raw, key...), data...)
		mark := v.Mark()
		if err := v.SendRaw(websocket.MessageBinary, raw); err != nil {
			t.Fatal(err)
		}
		_, got, err := v.Await(mark, wire.Patience, func(m wire.Message) bool { return m.Type == "" })
		if err != nil {
			t.Fatalf("no answer: %v", err)
		}
		if !got.Has("error") {
			v.end("u", "")
		}
		v.settleOld() // never fatal

		text := dial(t, p.url(1, user))
		text.resume("t", object{"last_seq": math.MaxInt32})
		for name, cursor := range map[string]any{"null": nil, "negative": -1, "fraction": 1.5, "huge": 1e300} {
			if got := text.do("resume_chat", object{"thread_id": "t", "last_seq": cursor}); got.Has("error") && name != "fraction" {
				t.Errorf("last_seq %s: %s", name, got)
			}
		}
	})
}
