package e2e_test

import (
	"testing"
	"time"

	"turnlog/e2e/wire"
)

// The first node leads the reaper, so the second one is killed here: a takeover
// of the reaper is B83's.
func TestB80_AKilledOwnersTurnEndsAndItsThreadIsFree(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		demo    object
		at      int64 // frame in the log when the owner is killed
		watched bool
	}{
		"at its first frame, watched":       {object{"frames": 5, "hang_at": 1}, 1, true},
		"at its first frame, nobody there":  {object{"frames": 5, "hang_at": 1}, 1, false},
		"behind a few, nobody there":        {object{"frames": 50, "hang_at": 8}, 8, false},
		"in full flow, watched":             {object{"frames": 1_000_000, "interval_ms": 1}, 500, true},
		"in full flow, nobody there":        {object{"frames": 1_000_000, "interval_ms": 1}, 500, false},
		"while a request is open, watched":  {object{"frames": 9, "approval": object{"tool_name": "rm", "at": 4}}, 5, true},
		"with a checkpoint behind it":       {object{"frames": 50, "checkpoint_every": 2, "hang_at": 9}, 9, true},
		"while big frames are on their way": {object{"frames": 100_000, "bytes": 100_000, "interval_ms": 20}, 40, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := own(t, twoNodes, quick()...)
			p.trusted(t)
			user := someone()
			a := dial(t, p.url(1, user))
			ack := a.say("t", row.demo, object{"id": "first"})
			a.seq("t", row.at)
			var b *viewer
			if row.watched {
				b = dial(t, p.url(0, user))
				b.resume("t")
				b.say("t", object{"frames": 2}, object{"on_busy": "enqueue", "id": "second"})
			} else {
				a.Cut()
				eventually(t, "the turn is detached", func() bool { return p.key(t, user, "t", "viewers") == "" })
			}
			killed := time.Now()
			p.nodes[1].kill()
			eventually(t, "the turn is over", func() bool {
				s := p.state(t, user, "t")
				return s["turn_id"] != ack.Str("turn_id") || s["status"] != "running"
			})
			within(t, "ended", killed, time.Now(), lease+notice)
			if b == nil {
				b = dial(t, p.url(0, user))
				b.resume("t", object{"full": true})
			}
			end := b.end("t", ack.Str("turn_id"))
			if end.Str("outcome") != "owner_lost" {
				t.Errorf("end %s, want owner_lost", end)
			}
			if row.watched {
				queued := b.await("t", "the queued turn", func(m wire.Message) bool { return started(m) == 1 && m.Seq > end.Seq })
				if end := b.end("t", queued.Turn); end.Str("outcome") != "completed" {
					t.Errorf("the queued turn ended %s", end)
				}
				if owner := p.state(t, user, "t")["owner"]; owner != p.nodes[0].id {
					t.Errorf("the queued turn ran on %q, want %q", owner, p.nodes[0].id)
				}
			} else {
				b.await("t", "a frame that makes it idle", func(m wire.Message) bool { return m.Type == "chunk" && m.Bool("done") })
			}
			next := b.say("t", object{"frames": 3}, object{"on_busy": "reject"})
			if end := b.end("t", next.Str("turn_id")); end.Str("outcome") != "completed" {
				t.Errorf("the next turn ended %s", end)
			}
			p.oneEnd(t, user, "t")
		})
	}
}

func TestB28_ANodesDeathTakesItsViewersWithIt(t *testing.T) {
	t.Parallel()
	const grace = 3 * time.Second
	p := own(t, twoNodes, quick("--disconnect.grace", grace.String())...)
	p.trusted(t)
	user := someone()
	a, b := dial(t, p.url(0, user)), dial(t, p.url(1, user))
	only := a.say("only", object{"frames": 100_000, "interval_ms": 20})
	both := a.say("both", object{"frames": 100_000, "interval_ms": 20})
	b.resume("only")
	b.resume("both")
	a.ok("unfollow", object{"thread_id": "only"}) // from here on the second node alone watches it

	elapse(t, grace+time.Second) // watched: no grace runs
	if s := p.state(t, user, "only"); s["status"] != "running" {
		t.Fatalf("a watched turn is %s %s", s["status"], s["outcome"])
	}
	killed := time.Now()
	p.nodes[1].kill()
	eventually(t, "the grace starts", func() bool { return p.state(t, user, "only")["detached_at"] != "" })
	detached := time.Now()
	if s := p.state(t, user, "only"); s["status"] != "running" {
		t.Errorf("ended %s as its viewers' node died, without a grace", s["outcome"])
	}
	within(t, "detached", killed, detached, lease+notice)
	eventually(t, "the grace is over", func() bool { return p.state(t, user, "only")["status"] != "running" })
	if took := time.Since(detached); took < grace-500*time.Millisecond {
		t.Errorf("ended %v after it was detached, want the grace of %v", took, grace)
	}
	within(t, "ended", detached, time.Now(), grace+notice)
	if got := p.state(t, user, "only")["outcome"]; got != "detached" {
		t.Errorf("outcome %q, want detached", got)
	}
	at := a.numbers("both")
	a.seq("both", at[len(at)-1]+20)
	if s := p.state(t, user, "both"); s["status"] != "running" {
		t.Errorf("the turn that the other node watches too is %s %s", s["status"], s["outcome"])
	}
	a.ok("stop", object{"thread_id": "both"})
	a.end("both", both.Str("turn_id"))
	a.resume("only", object{"full": true})
	if end := a.end("only", only.Str("turn_id")); end.Str("outcome") != "detached" {
		t.Errorf("end %s", end)
	}
}

func TestF9_AfterTheDeathOfAllNodesTheNextMessageIsAccepted(t *testing.T) {
	t.Parallel()
	p := own(t, three, quick()...)
	p.trusted(t)
	user := someone()
	names := threads(6)
	for i, thread := range names {
		a := dial(t, p.url(i, user))
		a.say(thread, object{"frames": 100_000, "interval_ms": 5})
		a.seq(thread, 10)
	}
	for _, n := range p.nodes {
		n.signal(9)
	}
	for i, n := range p.nodes {
		<-n.done
		again, err := serve(append([]string{"--redis", p.redis.url()}, quick()...)...)
		if err != nil {
			t.Fatal(err)
		}
		p.nodes[i] = again
	}
	back := time.Now()

	v := dial(t, p.url(0, user))
	// By default a new message takes the place of the old turn at once.
	ack := v.say(names[0], object{"frames": 3})
	if end := v.end(names[0], ack.Str("turn_id")); end.Str("outcome") != "completed" {
		t.Errorf("end %s", end)
	}
	within(t, "superseded", back, time.Now(), notice)
	// One that waits its turn is accepted once the dead nodes are buried.
	for _, thread := range names[1:] {
		v.resume(thread)
		var ack wire.Message
		eventually(t, "the thread is free", func() bool {
			ack = v.do("chat_message", message(thread, object{"frames": 3}, object{"on_busy": "reject"}))
			if code := ack.Str("code"); code != "" && code != "busy" {
				t.Fatalf("refused %s", ack)
			}
			return !ack.Has("error")
		})
		within(t, "accepted", back, time.Now(), lease+reaperLease+notice)
		if end := v.end(thread, ack.Str("turn_id")); end.Str("outcome") != "completed" {
			t.Errorf("end %s", end)
		}
		lost := v.await(thread, "the lost turn's end", func(m wire.Message) bool { return m.Type == "turn_finished" })
		if lost.Str("outcome") != "owner_lost" {
			t.Errorf("the lost turn ended %s", lost)
		}
		if n := p.oneEnd(t, user, thread); n != 2 {
			t.Errorf("thread %s holds %d ended turns, want 2", thread, n)
		}
	}
}
