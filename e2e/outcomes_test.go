package e2e_test

import (
	"math/rand/v2"
	"strconv"
	"syscall"
	"testing"
	"time"

	"turnlog/e2e/wire"
)

func TestF33_OutcomesTellWhatHappened(t *testing.T) {
	t.Parallel()
	p := own(t, three, quick("--disconnect.grace", "1s", "--drain.timeout", "1s")...)
	p.trusted(t)
	user := someone()
	long := object{"frames": 1_000_000, "interval_ms": 10}
	acks, want := map[string]wire.Message{}, map[string]string{}
	b := dial(t, p.url(0, user))
	begin := func(on int, outcome string, demo object, more ...object) *viewer {
		a := dial(t, p.url(on, user))
		acks[outcome], want[outcome] = a.say(outcome, demo, more...), outcome
		a.seq(outcome, 3)
		return a
	}
	begin(0, "completed", object{"frames": 3})
	begin(0, "failed", object{"frames": 9, "fail_at": 4})
	begin(0, "superseded", long).say("superseded", object{"frames": 2})
	begin(0, "stopped", long).ok("stop", object{"thread_id": "stopped"})
	begin(0, "detached", long).Cut()
	want["cancelled"] = "detached"
	cancelled := dial(t, p.url(0, user))
	acks["cancelled"] = cancelled.say("cancelled", long, object{"on_disconnect": "cancel"})
	cancelled.seq("cancelled", 3)
	cancelled.Cut()
	begin(1, "owner_lost", long)
	begin(2, "shutdown", long)
	for _, thread := range []string{"owner_lost", "shutdown"} {
		b.resume(thread)
	}
	p.nodes[1].kill()
	p.nodes[2].signal(syscall.SIGTERM)

	for thread, outcome := range want {
		eventually(t, thread+" is over", func() bool {
			s := p.state(t, user, thread)
			return s["status"] == "finished"
		})
		v := dial(t, p.url(0, user))
		v.resume(thread, object{"full": true})
		end := v.end(thread, acks[thread].Str("turn_id"))
		if end.Str("outcome") != outcome {
			t.Errorf("%s: the frame says %s", thread, end)
		}
		if h := v.header(thread); thread != "superseded" && h.Str("outcome") != outcome {
			t.Errorf("%s: the header says %s", thread, h)
		}
		stops := v.count(thread, func(m wire.Message) bool { return m.Type == "generation_stopped" })
		if wanted := map[bool]int{true: 1}[outcome == "stopped"]; stops != wanted {
			t.Errorf("%s: %d generation_stopped, want %d: only a user's stop is one", thread, stops, wanted)
		}
	}
}

func TestF35_AViewerLeavingAtTheInstantOfTheEnd(t *testing.T) {
	t.Parallel()
	p := own(t, twoNodes, quick("--disconnect.grace", "1s", "--limits.running_turns_per_user", "0")...)
	p.trusted(t)
	const rounds = 150
	random := rand.New(rand.NewPCG(35, 1))
	user := someone()
	outcomes := map[string]int{}
	for i := range rounds {
		thread := "t" + strconv.Itoa(i)
		policy := []string{"cancel", "grace"}[i%2]
		a := dial(t, p.url(i/2, user))
		frames := 5
		ack := a.say(thread, object{"frames": frames, "interval_ms": 2}, object{"on_disconnect": policy})
		if i/4%2 == 1 { // the only viewer is on another node than the owner
			b := dial(t, p.url(i/2+1, user))
			b.resume(thread)
			a.ok("unfollow", object{"thread_id": thread})
			a = b
		}
		told := false
		if i%3 == 0 {
			// Not before the end is told, which it is when it has happened: a last
			// frame, or with less luck the frame before it.
			a.await(thread, "the end", func(m wire.Message) bool { return m.Type == "chunk" && m.Bool("done") || m.Type == "turn_finished" })
			told = true
		} else {
			a.seq(thread, int64(frames+1))
			<-time.After(time.Duration(random.IntN(4000)) * time.Microsecond)
		}
		a.Cut()
		eventually(t, "the turn is over", func() bool { return p.state(t, user, thread)["status"] == "finished" })
		s := p.state(t, user, thread)
		if s["turn_id"] != ack.Str("turn_id") {
			t.Errorf("round %d: another turn %s", i, s["turn_id"])
		}
		outcomes[s["outcome"]]++
		switch s["outcome"] {
		case "completed":
		case "detached":
			if told {
				t.Errorf("round %d: a turn whose end was told is %s", i, s["outcome"])
			}
			if policy == "grace" {
				t.Errorf("round %d: reaped although it ended within its grace", i)
			}
		default:
			t.Errorf("round %d: outcome %s", i, s["outcome"])
		}
	}
	elapse(t, time.Second+notice) // any grace that was begun is over, and the reaper has looked
	for i := range rounds {
		thread := "t" + strconv.Itoa(i)
		if n := p.oneEnd(t, user, thread); n != 1 {
			t.Errorf("round %d: %d ends", i, n)
		}
		ends := 0
		for _, e := range p.logged(t, user, thread) {
			if e.Values["type"] == "turn_finished" {
				ends++
			}
		}
		if ends != 1 {
			t.Errorf("round %d: %d terminal frames", i, ends)
		}
	}
	t.Logf("outcomes %v", outcomes)
}
