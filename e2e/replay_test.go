package e2e_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"turnlog/e2e/wire"
	"turnlog/internal/netproxy"
)

// proxies puts a misbehaving network in front of every node of a place.
func proxies(t testing.TB, p *place) []*netproxy.Proxy {
	t.Helper()
	var out []*netproxy.Proxy
	for _, n := range p.nodes {
		proxy, err := netproxy.Start(n.addr, netproxy.Options{})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(proxy.Close)
		out = append(out, proxy)
	}
	return out
}

func TestB10_TwentyReconnectsAtRandomBytesLoseNothing(t *testing.T) {
	everywhere(t, func(t *testing.T, p *place) {
		const frames, cuts = 600, 20
		user := someone()
		nets := proxies(t, p)
		random := rand.New(rand.NewPCG(1, uint64(len(p.nodes))))
		var mu sync.Mutex
		for _, n := range nets {
			n.CutAfter(func(int) int64 {
				mu.Lock()
				defer mu.Unlock()
				return 200 + random.Int64N(4000)
			})
		}
		ack := dial(t, p.url(0, user)).say("t", object{"frames": frames, "bytes": 40, "interval_ms": 2}, object{"on_disconnect": "preserve"})
		story := wire.NewStory("t")
		story.Epoch = ack.Str("epoch")
		made := 0
		for i := 0; ; i++ {
			if made >= cuts {
				for _, n := range nets {
					n.CutAfter(nil)
				}
			}
			url := strings.Replace(p.url(i, user), p.nodes[i%len(p.nodes)].addr, nets[i%len(nets)].Addr(), 1)
			c, err := wire.Dial(t.Context(), url, wire.Options{})
			if err != nil {
				made++ // cut inside the handshake
				continue
			}
			_, _ = c.Command("resume_chat", object{"thread_id": "t", "last_seq": story.Cursor, "epoch": story.Epoch})
			_, _, err = c.Await(0, wire.Patience, func(m wire.Message) bool { return m.Type == "turn_finished" })
			c.Cut()
			if bad := story.Add(c.Messages()); len(bad) > 0 {
				t.Fatalf("connection %d:\n%s", i, strings.Join(bad, "\n"))
			}
			if err == nil {
				break
			}
			made++
		}
		if made < cuts {
			t.Errorf("%d cuts before the turn ended, want %d", made, cuts)
		}
		if story.Text("") != wire.DemoText(frames, 40) {
			t.Errorf("text differs from what the agent said: %d bytes", len(story.Text("")))
		}
	})
}

// B11 and F4: live frames never overtake the answer to a resume.
func TestB11_F4_HeaderThenReplayThenLiveAtAThousandFramesPerSecond(t *testing.T) {
	everywhere(t, func(t *testing.T, p *place) {
		const frames = 1500
		user := someone()
		sender := dial(t, p.url(0, user))
		ack := sender.say("t", object{"frames": frames, "interval_ms": 1})
		var viewers []*viewer
		for i := range 20 { // all the way through the turn
			at := int64(i * frames / 25)
			sender.seq("t", at+1)
			v := dial(t, p.url(i, user))
			if _, err := v.Command("resume_chat", object{"thread_id": "t", "last_seq": at, "epoch": ack.Str("epoch")}); err != nil {
				t.Fatal(err)
			}
			viewers = append(viewers, v)
		}
		for i, v := range viewers {
			v.end("t", ack.Turn)
			all := v.Frames("t")
			if all[0].Type != "chat_resumed" {
				t.Errorf("viewer %d: first is %s, want the header", i, all[0])
			}
			wantNumbers(t, v, "t", int64(i*frames/25)+1, whole(frames))
		}
		if got := viewers[0].text("t", ack.Turn); got != wire.DemoText(frames, 0) {
			t.Errorf("text differs: %d bytes", len(got))
		}
	})
}

func TestB12_FinishedTurnsReplayUntilTheRetentionIsOver(t *testing.T) {
	everywhere(t, func(t *testing.T, p *place) {
		user := someone()
		a := dial(t, p.url(0, user))
		ack := a.say("t", object{"frames": 5})
		a.end("t", ack.Turn)
		ended := time.Now()
		v := dial(t, p.url(1, user))
		v.resume("t", object{"last_seq": 2, "epoch": ack.Str("epoch")})
		wantNumbers(t, v, "t", 3, whole(5))
		expired(t, p, user, "t") // looks all the time
		if took := time.Since(ended); took > 4*time.Second {
			t.Errorf("the log lived %v although the retention is 1s: looking prolongs it", took)
		}
		w := dial(t, p.url(2, user))
		got := w.resume("t", object{"last_seq": 2, "epoch": ack.Str("epoch")})
		if h := w.header("t"); h.Int("replay_count") != 0 || h.Bool("replay_incomplete") || h.Int("last_seq") != 0 || got.Str("message") != "No chat turn to resume" {
			t.Errorf("header %s, ack %s; want unknown with zeroes", h, got)
		}
		if p.redis != nil {
			keys, err := p.redis.own.Keys(context.Background(), "*:"+user+"/t:messages").Result()
			if err != nil || len(keys) != 1 {
				t.Errorf("messages keys %v, %v; want the history to remain", keys, err)
			}
		}
	}, shortRetention...)
}

func TestB13_AQuietRunningTurnKeepsItsLog(t *testing.T) {
	everywhere(t, func(t *testing.T, p *place) {
		user := someone()
		a := dial(t, p.url(0, user))
		ack := a.say("t", object{"frames": 20, "approval": object{"tool_name": "rm", "at": 10}}, object{"on_disconnect": "preserve"})
		asked := a.typed("t", "tool_approval_request")
		a.Cut()
		quietUntil := time.Now().Add(3 * time.Second) // three times the retention
		eventually(t, "the quiet time is over", func() bool { return time.Now().After(quietUntil) })
		v := dial(t, p.url(1, user))
		v.resume("t", object{"last_seq": 1, "epoch": ack.Str("epoch")})
		if h := v.header("t"); h.Bool("replay_incomplete") || h.Str("status") != "running" {
			t.Errorf("header %s, want complete", h)
		}
		v.answer("tool_approval_response", object{"approval_id": asked.Str("approval_id"), "decision": "allow"})
		end := v.end("t", ack.Turn)
		wantNumbers(t, v, "t", 2, end.Seq)
		if end.Str("outcome") != "completed" {
			t.Errorf("end %s", end)
		}
	}, shortRetention...)
}

func TestB14_AViewerTheLogWasTrimmedPastIsTold(t *testing.T) {
	everywhere(t, func(t *testing.T, p *place) {
		const frames, size = 12000, 1000
		user := someone()
		slow := dialWith(t, p.url(1, user), wire.Options{Paused: true, ReadBuffer: 64 << 10})
		if _, err := slow.Command("follow", object{"thread_id": "t"}); err != nil {
			t.Fatal(err)
		}
		follows(t, p, user, "t")
		a := dial(t, p.url(0, user))
		ack := a.say("t", object{"frames": frames, "bytes": size})
		a.end("t", ack.Turn)
		slow.Resume()
		slow.end("t", ack.Turn)
		headers := slow.count("t", func(m wire.Message) bool { return m.Type == "chat_resumed" && m.Bool("replay_incomplete") })
		if headers == 0 || len(slow.numbers("t")) >= frames {
			t.Errorf("%d headers and %d frames, want a header that announces the hole", headers, len(slow.numbers("t")))
		}
	}, "--replay.max_frames", "300")
}

// follows waits until somebody watches the thread who sent follow without reading the
// answer: the server works on a socket's commands in order, so a turn started
// by another socket may still be faster.
func follows(t testing.TB, p *place, user, thread string) {
	t.Helper()
	if p.redis == nil {
		return // one process: checked by what the viewer gets
	}
	c := p.redis.own
	eventually(t, "the viewer is there", func() bool {
		keys, err := c.Keys(context.Background(), fmt.Sprintf("*:%s/%s:viewers", user, thread)).Result()
		return err == nil && len(keys) == 1
	})
}

func TestB15_TwoThreadsOnOneConnectionNeverMix(t *testing.T) {
	everywhere(t, func(t *testing.T, p *place) {
		user := someone()
		a := dial(t, p.url(0, user))
		one := a.say("one", object{"frames": 200, "bytes": 20, "interval_ms": 2})
		two := a.say("two", object{"text": strings.Repeat("word ", 200), "interval_ms": 2})
		a.seq("one", 30)
		v := dial(t, p.url(1, user))
		v.resume("two", object{"last_seq": 3, "epoch": two.Str("epoch")})
		v.resume("one", object{"last_seq": 7, "epoch": one.Str("epoch")})
		v.seq("one", 60)
		v.resume("two", object{"last_seq": 3, "epoch": two.Str("epoch")}) // once more, in the middle of the other
		for _, w := range []*viewer{a, v} {
			w.end("one", one.Turn)
			w.end("two", two.Turn)
		}
		wantNumbers(t, a, "one", 1, whole(200))
		wantNumbers(t, a, "two", 1, whole(200))
		wantNumbers(t, v, "one", 8, whole(200))
		for _, m := range append(a.Frames("one"), v.Frames("one")...) {
			if m.Type == "chunk" && strings.Contains(m.Str("content"), "word") || m.Seq > 0 && m.Turn != one.Turn {
				t.Fatalf("frame of the other thread: %s", m)
			}
		}
		if got := a.text("two", ""); got != strings.Repeat("word ", 200) {
			t.Errorf("text of two: %.60q", got)
		}
	})
}
