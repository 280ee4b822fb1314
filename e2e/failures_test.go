package e2e_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"turnlog/e2e/wire"
	"turnlog/internal/netproxy"
)

func TestF2_NothingIsLostBetweenReadingAndSubscribing(t *testing.T) {
	p, nets := behindProxies(t, 2, "--replay.max_frames", "10000")
	const frames = 3000
	user := someone()
	a := dial(t, p.url(0, user))
	ack := a.say("t", object{"frames": frames, "interval_ms": 1})
	nets[1].Delay(25 * time.Millisecond) // between every request and its reply: 50 frames
	var viewers []*viewer
	var from []int64
	for i := range 20 {
		at := int64(i*100 + 1)
		a.seq("t", at)
		v := dial(t, p.url(1, user))
		if _, err := v.Command("resume_chat", object{"thread_id": "t", "last_seq": at, "epoch": ack.Str("epoch")}); err != nil {
			t.Fatal(err)
		}
		v.typed("t", "chat_resumed")
		if i%2 == 0 { // the follower ends and begins anew
			v.seq("t", at+20)
			v.Cut()
			continue
		}
		viewers, from = append(viewers, v), append(from, at+1)
	}
	for i, v := range viewers {
		v.end("t", ack.Turn)
		wantNumbers(t, v, "t", from[i], whole(frames))
	}
}

func TestF3_ATabThatStayedOpenSeesTheNextTurn(t *testing.T) {
	everywhere(t, func(t *testing.T, p *place) {
		user := someone()
		tab := dial(t, p.url(0, user))
		first := tab.say("t", object{"frames": 5})
		tab.end("t", first.Turn)
		expired(t, p, user, "t")
		second := dial(t, p.url(1, user)).say("t", object{"frames": 5})
		tab.end("t", second.Turn)
		wantNumbers(t, tab, "t", 1, 2*whole(5))
		if got := tab.text("t", second.Turn); got != wire.DemoText(5, 0) {
			t.Errorf("text %q", got)
		}
	}, shortRetention...)
}

func TestF6_ALostLiveMessageOfTheEndIsNoticed(t *testing.T) {
	p, nets := behindProxies(t, 2)
	user := someone()
	v := dial(t, p.url(1, user))
	v.ok("follow", object{"thread_id": "t"})
	var lost atomic.Int64
	nets[1].SetFilter(func(piece netproxy.Piece) netproxy.Verdict {
		if published(piece, "t:live") && bytes.Contains(piece.Data, []byte(`"turn_finished"`)) {
			lost.Add(1)
			return netproxy.Swallow
		}
		return netproxy.Pass
	})
	ack := dial(t, p.url(0, user)).say("t", object{"frames": 10, "interval_ms": 20})
	begin := time.Now()
	v.end("t", ack.Turn)
	wantNumbers(t, v, "t", 1, whole(10))
	if lost.Load() == 0 {
		t.Error("no live message was lost: nothing was tested")
	}
	if took := time.Since(begin); took > 10*time.Second {
		t.Errorf("noticed after %v", took)
	}
}

func TestF7_AnEndedTurnGetsADefiniteAnswerAtOnce(t *testing.T) {
	p := own(t, twoNodes, shortRetention...)
	user := someone()
	a := dial(t, p.url(0, user))
	ack := a.say("t", object{"frames": 5})
	last := a.end("t", ack.Turn).Seq
	cursor := object{"last_seq": last, "epoch": ack.Str("epoch")}
	ask := func(when string, v *viewer, status string) {
		t.Helper()
		begin := time.Now()
		v.resume("t", cursor)
		if h := v.header("t"); h.Str("status") != status || h.Int("replay_count") != 0 {
			t.Errorf("%s: header %s, want %s", when, h, status)
		}
		if took := time.Since(begin); took > time.Second {
			t.Errorf("%s: answered after %v", when, took)
		}
	}
	ask("at the last frame", dial(t, p.url(1, user)), "finished")
	expired(t, p, user, "t")
	ask("after the retention", dial(t, p.url(1, user)), "unknown")
	for _, n := range p.nodes {
		n.kill()
	}
	n, err := serve("--redis", p.redis.url())
	if err != nil {
		t.Fatal(err)
	}
	p.nodes = []*node{n}
	v := dial(t, p.url(0, user))
	ask("after a restart", v, "unknown")
	next := v.say("t", object{"frames": 1})
	if end := v.end("t", next.Turn); end.Seq != last+5 {
		t.Errorf("the next turn ends at %d, want %d", end.Seq, last+5)
	}
}

func TestF15_B63_AnswersSurviveALostWakeUpAndAReconnect(t *testing.T) {
	p, nets := behindProxies(t, 2)
	user := someone()
	a, b := dial(t, p.url(0, user)), dial(t, p.url(1, user))
	ask := func(thread string) (turn, id string) {
		ack := a.say(thread, approval)
		return ack.Turn, a.typed(thread, "tool_approval_request").Str("approval_id")
	}
	answered := func(thread, turn, id string) {
		t.Helper()
		begin := time.Now()
		b.answer("tool_approval_response", object{"approval_id": id, "decision": "allow"})
		a.end(thread, turn)
		if got := a.text(thread, ""); !strings.Contains(got, `"decision":"allow"`) {
			t.Errorf("%s: the agent said %q", thread, got)
		}
		t.Logf("%s: took effect after %v", thread, time.Since(begin).Round(time.Millisecond))
	}

	turn, id := ask("wake-up lost")
	var lost atomic.Int64
	nets[0].SetFilter(func(piece netproxy.Piece) netproxy.Verdict {
		if published(piece, "turnlog:node:") {
			lost.Add(1)
			return netproxy.Swallow
		}
		return netproxy.Pass
	})
	answered("wake-up lost", turn, id)
	if lost.Load() == 0 {
		t.Error("no wake-up was lost: nothing was tested")
	}
	nets[0].SetFilter(nil)

	turn, id = ask("owner reconnects")
	nets[0].Cut()
	answered("owner reconnects", turn, id)

	turn, id = ask("everybody reconnects")
	nets[0].Cut()
	nets[1].Cut()
	answered("everybody reconnects", turn, id)

	// The owner cannot reach Redis while the answer is given.
	turn, id = ask("owner is cut off")
	nets[0].Refuse()
	nets[0].Cut()
	b.answer("tool_approval_response", object{"approval_id": id, "decision": "allow"})
	b.settle()
	nets[0].Resume()
	a.end("owner is cut off", turn)
}

func TestF16_MessagesTypedAsTheTurnEndsAreNotLost(t *testing.T) {
	everywhere(t, func(t *testing.T, p *place) {
		user := someone()
		a, b := dial(t, p.url(0, user)), dial(t, p.url(1, user))
		const tries = 60
		for i := range tries {
			a.say("t", object{"frames": 1, "interval_ms": 1})
			moment(5 * time.Millisecond)
			word := fmt.Sprintf("word-%d.", i)
			if i%2 == 0 {
				b.ok("steer", object{"thread_id": "t", "content": word, "id": word})
			} else {
				b.ok("chat_message", object{"thread_id": "t", "content": word, "id": word, "on_busy": "enqueue", "demo": object{"text": "heard:" + word}})
			}
			// As input of the turn, or as the message of the next one.
			a.await("t", word, func(m wire.Message) bool {
				if m.Type == "turn_started" {
					msg, _ := m.Object["message"].(object)
					return msg["content"] == word
				}
				return m.Type == "chunk" && strings.Contains(m.Str("content"), word)
			})
			a.await("t", "the end of "+word, func(wire.Message) bool {
				return a.count("t", func(m wire.Message) bool { return m.Type == "turn_started" }) ==
					a.count("t", func(m wire.Message) bool { return m.Type == "turn_finished" })
			})
		}
		a.settle()
		for i := range tries {
			word := fmt.Sprintf("word-%d.", i)
			n := a.count("t", func(m wire.Message) bool {
				msg, _ := m.Object["message"].(object)
				return m.Type == "turn_started" && msg["content"] == word || m.Type == "chunk" && m.Str("content") == "steer:"+word+" "
			})
			if n != 1 {
				t.Errorf("%s was heard %d times", word, n)
			}
		}
	})
}

func TestF21_FollowersDoNotSlowTheWriter(t *testing.T) {
	p := at(t, twoNodes)
	user := someone()
	rate := func(thread string) float64 {
		a := dial(t, p.url(0, user))
		begin := time.Now()
		ack := a.say(thread, object{"frames": 1500, "bytes": 50})
		a.end(thread, ack.Turn)
		return 1500 / time.Since(begin).Seconds()
	}
	alone := rate("alone")
	for range 20 {
		dial(t, p.url(1, user)).ok("follow", object{"thread_id": "followed"})
	}
	followed := rate("followed")
	t.Logf("%.0f frames/s alone, %.0f with 20 followers", alone, followed)
	// The fault is one frame per blocking read; readers that share the machine cost something too.
	if followed < 200 && followed < alone/10 {
		t.Errorf("%.0f frames/s with followers, %.0f without", followed, alone)
	}
}

// The network delivers a write and drops its reply, again and again: every retry must find
// out that its write was there.
func TestF23_LostRepliesLoseAndDoubleNothing(t *testing.T) {
	p, nets := behindProxies(t, 2)
	user := someone()
	var cuts atomic.Int64
	for i, n := range nets {
		random := rand.New(rand.NewPCG(7, uint64(i)))
		var mu sync.Mutex
		doomed := map[int]bool{}
		n.SetFilter(func(piece netproxy.Piece) netproxy.Verdict {
			mu.Lock()
			defer mu.Unlock()
			if piece.Dir == netproxy.ToServer {
				if bytes.Contains(piece.Data[:min(len(piece.Data), 40)], []byte("\r\nevalsha\r\n")) && random.IntN(25) == 0 {
					doomed[piece.Conn] = true
				}
				return netproxy.Pass
			}
			if doomed[piece.Conn] {
				cuts.Add(1)
				return netproxy.Cut
			}
			return netproxy.Pass
		})
	}
	a, b := dial(t, p.url(0, user)), dial(t, p.url(1, user))
	const frames, rounds = 300, 6
	b.ok("follow", object{"thread_id": "t"})
	next := int64(1)
	for i := range rounds {
		ack := a.say("t", object{"frames": frames, "interval_ms": 1, "approval": object{"tool_name": "rm", "at": 100}}, object{"id": fmt.Sprint("m", i)})
		asked := a.await("t", "request", func(m wire.Message) bool { return m.Type == "tool_approval_request" && m.Turn == ack.Turn })
		b.answer("tool_approval_response", object{"approval_id": asked.Str("approval_id"), "decision": "allow"})
		for _, v := range []*viewer{a, b} {
			if end := v.end("t", ack.Turn); end.Str("outcome") != "completed" {
				t.Fatalf("end %s", end)
			}
			got := v.text("t", ack.Turn)
			said, _, _ := strings.Cut(got, "answer:")
			_, rest, _ := strings.Cut(got, "} ")
			if said+rest != wire.DemoText(frames, 0) {
				t.Fatalf("round %d: the agent said %q", i, got)
			}
		}
		next = a.end("t", ack.Turn).Seq + 1
	}
	wantNumbers(t, a, "t", 1, next-1)
	wantNumbers(t, b, "t", 1, next-1)
	if cuts.Load() < 20 {
		t.Errorf("only %d replies were lost", cuts.Load())
	}
	t.Logf("%d replies lost", cuts.Load())
}
