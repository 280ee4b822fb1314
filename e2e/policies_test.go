package e2e_test

import (
	"fmt"
	"sync"
	"syscall"
	"testing"
	"time"

	"turnlog/e2e/wire"
)

// atOnce is how long something may take that no deadline starts: far from every
// deadline, and enough for a busy machine.
const atOnce = 3 * time.Second

func TestB23_CancelEndsWithTheLastViewerOnWhateverNode(t *testing.T) {
	unwatched(t, func(t *testing.T, p *place) {
		user := someone()
		look := dial(t, p.url(1, user))
		leave := map[string]func(v *viewer, thread string){
			"cut":      func(v *viewer, _ string) { v.Cut() },
			"close":    func(v *viewer, _ string) { v.Close() },
			"unfollow": func(v *viewer, thread string) { v.ok("unfollow", object{"thread_id": thread}) },
		}
		for how, leaves := range leave {
			for last, where := range []string{"owner's node", "other node"} {
				thread := fmt.Sprint(how, last)
				viewers := []*viewer{dial(t, p.url(0, user)), dial(t, p.url(1, user))}
				ack := viewers[0].say(thread, endless, object{"on_disconnect": "cancel"})
				viewers[1].resume(thread)
				leaves(viewers[1-last], thread)
				stays := viewers[last]
				from := stays.seq(thread, 1).Seq
				stays.seq(thread, from+20)
				if turn := look.runs(thread); turn.Bool("detached") || turn.Str("on_disconnect") != "cancel" {
					t.Errorf("%s, %s: with a viewer left: %s", how, where, turn)
				}
				left := time.Now()
				leaves(stays, thread)
				if took := look.over(thread).Sub(left); took > atOnce {
					t.Errorf("%s, %s: ended after %v", how, where, took)
				}
				endedOnce(t, p, user, thread, "detached")
				eventually(t, "nothing is left of the turn", func() bool { return len(p.traces(t, user, thread)) == 0 })
				next := dial(t, p.url(last, user))
				again := next.say(thread, object{"frames": 2})
				if end := next.end(thread, again.Turn); end.Str("outcome") != "completed" || again.Turn == ack.Turn {
					t.Errorf("%s, %s: the next turn ended %s", how, where, end)
				}
			}
		}
	})
}

// The owner stands still, so the node of the last viewer has to end the turn.
func TestB23_CancelEndsAtOnceAlsoWhenTheOwnerDoesNotAnswer(t *testing.T) {
	t.Parallel()
	p := own(t, twoNodes, "--node.lease", "60s", "--node.heartbeat", "1s", "--turn.stop_timeout", "30s")
	user := someone()
	look, a, b := dial(t, p.url(1, user)), dial(t, p.url(0, user)), dial(t, p.url(1, user))
	a.say("t", endless, object{"on_disconnect": "cancel"})
	b.resume("t")
	a.ok("unfollow", object{"thread_id": "t"})
	b.seq("t", 10)
	p.nodes[0].pause()
	left := time.Now()
	b.Cut()
	took := look.over("t").Sub(left)
	p.nodes[0].cont()
	if took > atOnce {
		t.Errorf("ended after %v", took)
	}
	endedOnce(t, p, user, "t", "detached")
	a.settle() // it goes on
	next := a.say("u", object{"frames": 30, "interval_ms": 20})
	a.end("u", next.Turn)
	endedOnce(t, p, user, "t", "detached")
}

func TestB25_PreserveComesInFiveWaysAndEndsWithTheTurn(t *testing.T) {
	unwatched(t, func(t *testing.T, p *place) {
		user := someone()
		look, a, b := dial(t, p.url(1, user)), dial(t, p.url(0, user)), dial(t, p.url(1, user))
		preserve, older := object{"on_disconnect": "preserve"}, object{"preserve_running_on_disconnect": true}
		ask := func(v *viewer, command, thread string, more ...object) {
			v.ok(command, message(thread, nil, more...))
		}
		ways := map[string]func(thread string){
			"nothing": func(thread string) { a.say(thread, endless) },
			"at-creation": func(thread string) {
				ask(b, "set_policy", thread, preserve, object{"scope": "thread"})
				a.say(thread, endless)
			},
			"chat_message":       func(thread string) { a.say(thread, endless, preserve) },
			"chat_message-older": func(thread string) { a.say(thread, endless, older) },
			"resume_chat":        func(thread string) { a.say(thread, endless); ask(b, "resume_chat", thread, preserve) },
			"resume_chat-older":  func(thread string) { a.say(thread, endless); ask(b, "resume_chat", thread, older) },
			"follow":             func(thread string) { a.say(thread, endless); ask(b, "follow", thread, preserve) },
			"follow-again":       func(thread string) { a.say(thread, endless); ask(a, "follow", thread, preserve) },
			"set_policy":         func(thread string) { a.say(thread, endless); ask(b, "set_policy", thread, preserve) },
			"set_policy-thread": func(thread string) {
				a.say(thread, endless)
				ask(b, "set_policy", thread, preserve, object{"scope": "thread"})
			},
			"over-cancel": func(thread string) {
				a.say(thread, endless, object{"on_disconnect": "cancel"})
				ask(b, "set_policy", thread, older)
			},
			"while-detached": func(thread string) { a.say(thread, endless) },
		}
		for thread, way := range ways {
			way(thread)
		}
		a.Cut()
		b.Cut()
		left := time.Now()
		look.detached("while-detached")
		if got := look.ok("set_policy", object{"thread_id": "while-detached", "on_disconnect": "preserve"}); got.Str("on_disconnect") != "preserve" {
			t.Errorf("set_policy says %s", got)
		}
		if over := look.over("nothing"); over.Before(left.Add(grace - 10*time.Millisecond)) {
			t.Errorf("an ordinary thread ended after %v", over.Sub(left)) // B29
		}
		endedOnce(t, p, user, "nothing", "detached")
		until(t, left.Add(3*grace))
		for thread := range ways {
			if thread == "nothing" {
				continue
			}
			if turn := look.runs(thread); turn.Str("on_disconnect") != "preserve" || !turn.Bool("detached") || turn.Has("grace_deadline") {
				t.Errorf("%s: %s", thread, turn)
			}
		}
		// What the turn was given does not outlive it; what the thread was given does.
		next := dial(t, p.url(0, user))
		for thread := range ways {
			want := "grace"
			if thread == "at-creation" || thread == "set_policy-thread" {
				want = "preserve"
			}
			ack := next.say(thread, object{"frames": 1})
			if got := ack.Str("on_disconnect"); got != want {
				t.Errorf("%s: the next turn has policy %q, want %q", thread, got, want)
			}
			next.end(thread, ack.Turn)
		}
	})
}

func TestB25_APolicyOnlyRisesWhoeverAsksFirst(t *testing.T) {
	unwatched(t, func(t *testing.T, p *place) {
		user := someone()
		look := dial(t, p.url(1, user))
		viewers := []*viewer{dial(t, p.url(0, user)), dial(t, p.url(1, user)), dial(t, p.url(0, user))}
		for i := range 15 {
			thread := fmt.Sprint("t", i)
			viewers[i%3].say(thread, hanging, object{"on_disconnect": "cancel"})
			var all sync.WaitGroup
			for k, policy := range []string{"preserve", "grace", "cancel"} {
				command := []string{"resume_chat", "follow", "set_policy"}[(i+k)%3]
				v := viewers[k]
				all.Go(func() {
					if m, err := v.Do(command, object{"thread_id": thread, "on_disconnect": policy}); err != nil || m.Has("error") {
						t.Errorf("%s %s: %s, %v", command, policy, m, err)
					}
				})
			}
			all.Wait()
			if turn := look.runs(thread); turn.Str("on_disconnect") != "preserve" {
				t.Errorf("try %d: %s", i, turn)
			}
			for _, lower := range []string{"grace", "cancel"} {
				if got := viewers[1].ok("set_policy", object{"thread_id": thread, "on_disconnect": lower}); got.Str("on_disconnect") != "preserve" {
					t.Errorf("lowered to %s: %s", lower, got)
				}
				viewers[2].resume(thread, object{"on_disconnect": lower})
				if h := viewers[2].header(thread); h.Str("on_disconnect") != "preserve" {
					t.Errorf("lowered to %s: %s", lower, h)
				}
			}
			viewers[0].ok("stop", object{"thread_id": thread})
		}
	})
}

func TestB27_ContradictionsAreRefusedAndStoreNothing(t *testing.T) {
	unwatched(t, func(t *testing.T, p *place) {
		user := someone()
		look, v := dial(t, p.url(1, user)), dial(t, p.url(0, user))
		v.ok("set_policy", object{"thread_id": "kept", "on_disconnect": "preserve", "scope": "thread"})
		v.ok("set_policy", object{"thread_id": "runs", "on_disconnect": "preserve", "scope": "thread"})
		v.say("runs", hanging)
		both := []object{
			{"on_disconnect": "cancel", "preserve_running_on_disconnect": true},
			{"on_disconnect": "preserve", "close_on_disconnect": true},
			{"preserve_running_on_disconnect": true, "close_on_disconnect": true},
		}
		cancel := []object{{"on_disconnect": "cancel"}, {"close_on_disconnect": true}}
		for _, command := range []string{"chat_message", "resume_chat", "follow", "set_policy"} {
			for thread, wants := range map[string][]object{"new": both, "kept": append(cancel, both...), "runs": append(cancel, both...)} {
				for _, want := range wants {
					mark := v.Mark()
					got := v.do(command, message(thread, endless, want))
					if got.Str("code") != "policy_conflict" || got.Str("message") == "" || got.Bool("retryable") {
						t.Errorf("%s on %s with %v: %s", command, thread, want, got)
					}
					if command == "chat_message" {
						refusal := v.awaitFrom(mark, thread, "an error frame", func(m wire.Message) bool { return m.Type == "error" })
						if refusal.Str("code") != "policy_conflict" || refusal.Has("chat_seq") {
							t.Errorf("error frame %s", refusal)
						}
					}
				}
			}
		}
		for _, thread := range []string{"new", "kept"} {
			if turn, found := look.running(thread); found {
				t.Errorf("a refused message runs: %s", turn)
			}
		}
		if turn := look.runs("runs"); turn.Str("on_disconnect") != "preserve" {
			t.Errorf("after the refusals: %s", turn)
		}
		v.ok("stop", object{"thread_id": "runs"})
	})
}

func TestB27_ACancelTurnIsNotDeadAtBirth(t *testing.T) {
	unwatched(t, func(t *testing.T, p *place) {
		for i := range 30 {
			v := dial(t, p.url(i, someone()))
			ack := v.say("t", object{"frames": 3, "interval_ms": 5}, object{"on_disconnect": "cancel"})
			if end := v.end("t", ack.Turn); end.Str("outcome") != "completed" {
				t.Errorf("try %d: %s", i, end)
			}
			v.Cut()
		}
	})
}

// B27: who closes the socket makes the difference.
func TestB27_ASocketThatTheServerClosesHasTimeToComeBack(t *testing.T) {
	t.Parallel()
	const window = 4 * time.Second // time to come back on a busy machine
	p := own(t, twoNodes, shortLived("--disconnect.reconnect_window", window.String(), "--drain.close_spread", "0s", "--drain.timeout", "20s")...)
	user := someone()
	owner, watching := dial(t, p.url(0, user)), dial(t, p.url(1, user))
	acks := map[string]wire.Message{}
	for _, thread := range []string{"back", "gone"} {
		acks[thread] = owner.say(thread, endless, object{"on_disconnect": "cancel"})
		watching.resume(thread)
		owner.ok("unfollow", object{"thread_id": thread})
		watching.seq(thread, 20)
	}
	drained := time.Now()
	p.nodes[1].signal(syscall.SIGTERM)
	select {
	case <-watching.Done():
	case <-time.After(patience):
		t.Fatal("the draining node did not close the socket")
	}
	if code := watching.CloseCode(); code != 1012 {
		t.Errorf("closed with %d, want 1012", code)
	}
	dies := deadline(t, owner.detached("gone"))
	if early, late := drained.Add(window-5*time.Millisecond), time.Now().Add(window); dies.Before(early) || dies.After(late) {
		t.Errorf("the window ends %v, want between %v and %v", dies, early, late)
	}
	returned := dial(t, p.url(0, user))
	returned.resume("back", object{"last_seq": 1, "epoch": acks["back"].Str("epoch")})
	if h := returned.header("back"); h.Str("status") != "running" || h.Str("on_disconnect") != "cancel" || h.Has("grace_deadline") {
		t.Errorf("header %s", h)
	}
	if gone := owner.over("gone"); gone.Before(dies) {
		t.Errorf("ended %v before its window was over", dies.Sub(gone))
	}
	endedOnce(t, p, user, "gone", "detached")
	returned.await("back", "a frame beyond the window", func(m wire.Message) bool { return m.Seq > 0 && m.At.After(dies.Add(time.Second)) })
	left := time.Now()
	returned.Cut() // by itself, this time
	if took := owner.over("back").Sub(left); took > atOnce {
		t.Errorf("ended %v after its viewer closed", took)
	}
	endedOnce(t, p, user, "back", "detached")
	if code := p.nodes[1].exit(t); code != 0 {
		t.Errorf("the drained node ended with %d", code)
	}
}

func TestB29_ThreadsBesidePreservedOnesKeepTheirOwnPolicy(t *testing.T) {
	unwatched(t, func(t *testing.T, p *place) {
		user := someone()
		look, a := dial(t, p.url(1, user)), dial(t, p.url(0, user))
		for i := range 3 {
			a.say(fmt.Sprint("preserve", i), endless, object{"on_disconnect": "preserve"})
			a.say(fmt.Sprint("grace", i), endless)
			a.say(fmt.Sprint("cancel", i), endless, object{"on_disconnect": "cancel"})
		}
		left := time.Now()
		a.Cut()
		for i := range 3 {
			if took := look.over(fmt.Sprint("cancel", i)).Sub(left); took > atOnce {
				t.Errorf("cancel ended after %v", took)
			}
			if turn, running := look.running(fmt.Sprint("grace", i)); running && time.Since(left) < grace {
				if turn.Str("on_disconnect") != "grace" {
					t.Errorf("%s", turn)
				}
			} else if time.Since(left) < grace {
				t.Error("grace ended with cancel")
			}
		}
		for i := range 3 {
			look.over(fmt.Sprint("grace", i))
			endedOnce(t, p, user, fmt.Sprint("grace", i), "detached")
			endedOnce(t, p, user, fmt.Sprint("cancel", i), "detached")
		}
		until(t, left.Add(2*grace+time.Second))
		for i := range 3 {
			thread := fmt.Sprint("preserve", i)
			if turn := look.runs(thread); turn.Str("on_disconnect") != "preserve" {
				t.Errorf("%s", turn)
			}
			look.ok("stop", object{"thread_id": thread})
		}
	})
}
