package e2e_test

import (
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"turnlog/e2e/wire"
)

func TestB21_TheGraceRunsFromTheLeavingOfTheLastViewer(t *testing.T) {
	unwatched(t, func(t *testing.T, p *place) {
		user := someone()
		look, a, b := dial(t, p.url(1, user)), dial(t, p.url(0, user)), dial(t, p.url(1, user))
		ack := a.say("t", endless)
		b.resume("t")
		a.Cut()
		alone := time.Now().Add(grace + time.Second)
		b.await("t", "a frame beyond the grace of a turn that is watched", func(m wire.Message) bool { return m.Seq > 0 && m.At.After(alone) })
		if turn := look.runs("t"); turn.Bool("detached") || turn.Has("grace_deadline") {
			t.Errorf("watched, but listed as %s", turn)
		}

		left := time.Now()
		b.Cut()
		turn := look.detached("t")
		dies := deadline(t, turn)
		if early, late := left.Add(grace-5*time.Millisecond), time.Now().Add(grace); dies.Before(early) || dies.After(late) {
			t.Errorf("grace ends %v, want between %v and %v", dies, early, late)
		}
		if gone := look.over("t"); gone.Before(dies) {
			t.Errorf("ended %v before its grace was over", dies.Sub(gone))
		}
		endedOnce(t, p, user, "t", "detached")

		late := dial(t, p.url(0, user))
		late.resume("t", object{"last_seq": 1, "epoch": ack.Str("epoch")})
		if h := late.header("t"); h.Str("status") != "finished" || h.Str("outcome") != "detached" || h.Bool("replay_incomplete") || h.Has("grace_deadline") {
			t.Errorf("header %s", h)
		}
		said := late.text("t", "")
		if whole := wire.DemoText(10_000, 0); said == "" || !strings.HasPrefix(whole, said) {
			t.Errorf("what was said is no beginning of what the agent says: %.200q", said)
		}
	})
}

func TestB21_AViewerBackInTimeEndsTheGrace(t *testing.T) {
	unwatched(t, func(t *testing.T, p *place) {
		user := someone()
		look, v := dial(t, p.url(1, user)), dial(t, p.url(0, user))
		ack := v.say("t", endless)
		story := wire.NewStory("t")
		var dies time.Time
		v.seq("t", 1)      // its cursor is not that of a fresh client
		for i := range 3 { // together longer than one grace
			v.Cut()
			if bad := story.Add(v.Messages()); len(bad) > 0 {
				t.Fatal(bad)
			}
			dies = deadline(t, look.detached("t"))
			until(t, dies.Add(-grace/2))
			v = dial(t, p.url(i+1, user))
			v.resume("t", object{"last_seq": story.Cursor, "epoch": ack.Str("epoch")})
			if h := v.header("t"); h.Str("status") != "running" || h.Has("grace_deadline") || h.Bool("replay_incomplete") {
				t.Errorf("header %s", h)
			}
			if turn := look.runs("t"); turn.Bool("detached") || turn.Has("grace_deadline") {
				t.Errorf("watched again, but listed as %s", turn)
			}
		}
		v.await("t", "a frame beyond every deadline", func(m wire.Message) bool { return m.Seq > 0 && m.At.After(dies.Add(time.Second)) })
		look.runs("t")
		look.ok("stop", object{"thread_id": "t"})
		v.end("t", ack.Turn)
		if bad := story.Add(v.Messages()); len(bad) > 0 || story.Incomplete > 0 {
			t.Error(bad, story.Incomplete)
		}
	})
}

// F35, B21, B23: the viewer leaves in the moment the turn ends.
func TestF35_LeavingAtTheEndDoesNotEndTheTurnTwice(t *testing.T) {
	unwatched(t, func(t *testing.T, p *place) {
		user := someone()
		look := dial(t, p.url(1, user))
		outcomes := map[string]int{}
		for i := range 60 {
			policy := []string{"cancel", "grace", "preserve"}[i%3]
			a := dial(t, p.url(i, user))
			ack := a.say("t", object{"frames": 3, "interval_ms": 1}, object{"on_disconnect": policy})
			if i%2 == 0 {
				a.end("t", ack.Turn)
			} else {
				a.seq("t", 2)
				moment(6 * time.Millisecond)
			}
			a.Cut()
			left := time.Now()
			if took := look.over("t").Sub(left); took > atOnce {
				t.Errorf("try %d, %s: over after %v", i, policy, took)
			}
			v := dial(t, p.url(rand.IntN(2), user))
			v.resume("t")
			outcome := v.header("t").Str("outcome")
			if ends := p.oneEnd(t, user, "t"); ends != i+1 || outcome != "completed" && (policy != "cancel" || outcome != "detached") || i%2 == 0 && outcome != "completed" {
				t.Errorf("try %d, %s: %d turns ended, the last as %s", i, policy, ends, outcome)
			}
			outcomes[outcome]++
			v.Cut()
		}
		t.Log(outcomes)
	})
}
