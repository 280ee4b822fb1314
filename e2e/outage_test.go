package e2e_test

import (
	"bytes"
	"context"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"turnlog/e2e/wire"
	"turnlog/internal/netproxy"
	proc "turnlog/internal/process"
)

func TestB85_AnOutageOfThreeLeasesKillsNoTurn(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		away func(links, *redisServer)
		back func(links, *redisServer)
	}{
		"connections hang": {
			func(nets links, _ *redisServer) { nets.each((*netproxy.Proxy).BlackHole) },
			func(nets links, _ *redisServer) { nets.each((*netproxy.Proxy).Resume) },
		},
		"connections are refused": {
			func(nets links, _ *redisServer) {
				nets.each((*netproxy.Proxy).Refuse)
				nets.each(func(n *netproxy.Proxy) { n.Cut() })
			},
			func(nets links, _ *redisServer) { nets.each((*netproxy.Proxy).Resume) },
		},
		"redis stands still": {
			func(_ links, r *redisServer) { r.signal(syscall.SIGSTOP) },
			func(_ links, r *redisServer) { r.signal(syscall.SIGCONT) },
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			// A grace shorter than the outage: nobody is gone because Redis is.
			p, nets := behindProxies(t, 2, quick("--disconnect.grace", "2s", "--redis.command_timeout", "1s")...)
			p.trusted(t)
			user := someone()
			a, b := dial(t, p.url(0, user)), dial(t, p.url(1, user))
			const frames = 600
			demo := object{"frames": frames, "interval_ms": 10}
			acks := map[string]wire.Message{"slow": a.say("slow", demo), "other": b.say("other", demo)}
			acks["quiet"] = a.say("quiet", object{"frames": 3, "approval": object{"tool_name": "rm", "at": 2}})
			b.resume("slow")
			a.resume("other")
			b.resume("quiet")
			alone := dial(t, p.url(1, user))
			acks["alone"] = alone.say("alone", demo, object{"on_disconnect": "preserve"})
			alone.seq("alone", 20)
			alone.Cut()
			b.seq("slow", 50)

			row.away(nets, p.redis)
			elapse(t, 3*lease)
			row.back(nets, p.redis)
			back := time.Now()
			asked := a.typed("quiet", "tool_approval_request")
			if err := b.Send(object{"type": "tool_approval_response", "approval_id": asked.Str("approval_id"), "decision": "allow"}); err != nil {
				t.Fatal(err)
			}
			a.resume("alone", object{"full": true})
			for thread, ack := range acks {
				viewers := []*viewer{a, b}
				if thread == "alone" {
					viewers = viewers[:1]
				}
				for _, v := range viewers {
					end := v.end(thread, ack.Str("turn_id"))
					if end.Str("outcome") != "completed" {
						t.Errorf("%s ended %s", thread, end)
					}
					if thread == "quiet" {
						continue
					}
					saidOnce(t, v, thread, "", wire.DemoText(frames, 0))
					wantNumbers(t, v, thread, 1, end.Seq)
				}
				p.oneEnd(t, user, thread)
			}
			for _, n := range p.nodes {
				if strings.Contains(n.stderr.String(), "declared dead") {
					t.Errorf("the outage cost a node its life:\n%s", n.stderr)
				}
			}
			t.Logf("all done %v after Redis was back", time.Since(back).Round(time.Millisecond))
		})
	}
}

func (nets links) each(f func(*netproxy.Proxy)) {
	for _, n := range nets {
		f(n)
	}
}

type links []*netproxy.Proxy

// losing cuts connections instead of passing the reply to a script call that
// holds mark: the call has worked, and its sender cannot know.
type losing struct {
	mu     sync.Mutex
	doomed map[int]bool
	lost   atomic.Int64
}

func lose(n *netproxy.Proxy, marks ...string) *losing {
	l := &losing{doomed: map[int]bool{}}
	n.SetFilter(func(piece netproxy.Piece) netproxy.Verdict {
		l.mu.Lock()
		defer l.mu.Unlock()
		if piece.Dir == netproxy.ToClient {
			if l.doomed[piece.Conn] {
				l.lost.Add(1)
				return netproxy.Cut
			}
			return netproxy.Pass
		}
		for _, mark := range marks {
			if !bytes.Contains(piece.Data, []byte(mark)) {
				return netproxy.Pass
			}
		}
		l.doomed[piece.Conn] = true
		return netproxy.Pass
	})
	return l
}

// warm runs a turn, so that Redis knows the scripts: the only reply to a call that
// it does not know is that it does not know it.
func warm(v *viewer) {
	v.t.Helper()
	ack := v.say("warm", object{"frames": 2})
	v.end("warm", ack.Str("turn_id"))
}

// A node compares what it owns with what it runs twice before it ends a turn, 30 s apart.
const reconciled = 75 * time.Second

func TestB89_ATurnWhoseBeginWasNeverHeardOfIsFoundAndEnded(t *testing.T) {
	t.Parallel()
	p, nets := behindProxies(t, 2, quick()...)
	p.trusted(t)
	user := someone()
	a, b := dial(t, p.url(1, user)), dial(t, p.url(0, user))
	warm(a)
	b.ok("follow", object{"thread_id": "t"})
	calls := lose(nets[1], "evalsha", user+"/t:state", `"content":"go"`)
	refused := a.do("chat_message", message("t", object{"frames": 5}))
	if code := refused.Str("code"); code != "unavailable" || !refused.Bool("retryable") {
		t.Errorf("the answer to a begin without a reply is %s, want unavailable and retryable", refused)
	}
	nets[1].SetFilter(nil)
	if calls.lost.Load() == 0 {
		t.Fatal("no reply was lost")
	}
	begun := b.typed("t", "turn_started") // the call itself had worked
	if s := p.state(t, user, "t"); s["status"] != "running" || s["owner"] != p.nodes[1].id {
		t.Fatalf("the turn is %v", s)
	}
	_, end, err := b.Await(0, reconciled+loaded, func(m wire.Message) bool { return m.Type == "turn_finished" && m.Turn == begun.Turn })
	if err != nil {
		t.Fatalf("the turn that nobody runs goes on: %v\n%s", err, b.recent())
	}
	if end.Str("outcome") != "owner_lost" {
		t.Errorf("end %s", end)
	}
	if strings.Contains(p.nodes[0].stderr.String(), "declared dead") {
		t.Error("its owner was declared dead; this is about living ones")
	}
	next := a.say("t", object{"frames": 3}, object{"on_busy": "reject"})
	if end := b.end("t", next.Str("turn_id")); end.Str("outcome") != "completed" {
		t.Errorf("the next turn ended %s", end)
	}
}

func TestB89_AFinishWhoseReplyIsLostEndsTheTurnOnce(t *testing.T) {
	t.Parallel()
	p, nets := behindProxies(t, 2, quick()...)
	p.trusted(t)
	user := someone()
	a, b := dial(t, p.url(1, user)), dial(t, p.url(0, user))
	warm(a)
	b.ok("follow", object{"thread_id": "t"})
	calls := lose(nets[1], user+"/t:state", "turn_finished")
	ack := a.say("t", object{"frames": 5})
	eventually(t, "replies to the finish are lost", func() bool { return calls.lost.Load() >= 3 })
	if end := b.end("t", ack.Str("turn_id")); end.Str("outcome") != "completed" {
		t.Errorf("the other node saw %s", end)
	}
	nets[1].SetFilter(nil)
	if end := a.end("t", ack.Str("turn_id")); end.Str("outcome") != "completed" {
		t.Errorf("its own node saw %s", end)
	}
	next := a.say("t", object{"frames": 5}, object{"on_busy": "reject"})
	for _, v := range []*viewer{a, b} {
		end := v.end("t", next.Str("turn_id"))
		wantNumbers(t, v, "t", 1, end.Seq)
	}
	if n := p.oneEnd(t, user, "t"); n != 2 {
		t.Errorf("%d ended turns, want 2", n)
	}
}

func TestF12_TheStopListenerOutlivesIdlenessAndRedis(t *testing.T) {
	t.Parallel()
	for name, disturb := range map[string]func(t *testing.T, p *place){
		"idle connections are closed": func(t *testing.T, p *place) {
			if err := p.redis.own.ConfigSet(context.Background(), "timeout", "1").Err(); err != nil {
				t.Fatal(err)
			}
			elapse(t, 6*time.Second)
		},
		"subscriptions are killed": func(t *testing.T, p *place) {
			n, err := p.redis.own.ClientKillByFilter(context.Background(), "TYPE", "pubsub").Result()
			if err != nil || n == 0 {
				t.Fatalf("killed %d subscriptions: %v", n, err)
			}
		},
		"redis is restarted": func(t *testing.T, p *place) {
			p.redis.signal(syscall.SIGTERM)
			<-p.redis.done
			_, port, _ := strings.Cut(p.redis.addr, ":")
			again, err := spawn(nil, "redis-server", "--port", port, "--bind", "127.0.0.1", "--save", "", "--appendonly", "yes",
				"--appendfsync", "always", "--dir", p.redis.dir, "--logfile", "", "--daemonize", "no")
			if err != nil {
				t.Fatal(err)
			}
			p.redis.process = again
			if _, err := again.stdout.Await(patience, proc.RedisReady); err != nil {
				t.Fatal(err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r, err := startRedis("--appendonly", "yes", "--appendfsync", "always")
			if err != nil {
				t.Fatal(err)
			}
			p := &place{name: name, redis: r}
			t.Cleanup(func() {
				if bad := p.close(); bad != "" {
					t.Errorf("nodes complained:\n%s", bad)
				}
			})
			for range 2 {
				n, err := serve(append([]string{"--redis", r.url()}, quick("--node.lease", "5s")...)...)
				if err != nil {
					t.Fatal(err)
				}
				p.nodes = append(p.nodes, n)
			}
			user := someone()
			a := dial(t, p.url(0, user))
			quiet := a.say("quiet", object{"frames": 5, "hang_at": 3})
			busy := a.say("busy", object{"frames": 1_000_000, "interval_ms": 20})
			disturb(t, p)
			seen := a.numbers("busy")
			a.seq("busy", seen[len(seen)-1]+10) // the owner writes again
			for thread, ack := range map[string]wire.Message{"quiet": quiet, "busy": busy} {
				begin := time.Now()
				b := dial(t, p.url(1, user))
				b.ok("stop", object{"thread_id": thread})
				end := a.end(thread, ack.Str("turn_id"))
				if end.Str("outcome") != "stopped" {
					t.Errorf("%s ended %s", thread, end)
				}
				within(t, thread+" stopped", begin, end.At, 2*time.Second)
			}
		})
	}
}
