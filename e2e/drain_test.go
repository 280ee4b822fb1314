package e2e_test

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/coder/websocket"

	"turnlog/e2e/wire"
)

func TestB87_ADrainingNodeRefusesClosesAndFinishes(t *testing.T) {
	t.Parallel()
	const spread, idlers = 3 * time.Second, 30
	p := own(t, twoNodes, quick("--drain.close_spread", spread.String(), "--drain.timeout", "60s")...)
	user := someone()
	leaving := p.nodes[1]
	a := dial(t, p.url(1, user))
	const frames = 700
	ack := a.say("t", object{"frames": frames, "interval_ms": 10})
	var idle []*viewer
	for range idlers {
		idle = append(idle, dial(t, p.url(1, user)))
	}
	a.seq("t", 20)
	signalled := time.Now()
	leaving.signal(syscall.SIGTERM)
	eventually(t, "readiness is down", func() bool { return leaving.readiness() == 503 })
	if took := time.Since(signalled); took > time.Second {
		t.Errorf("readiness went down after %v", took)
	}
	// The socket with the turn closes last; what it asks for now is refused.
	refused := a.do("chat_message", message("late", object{"frames": 2}, object{"id": "late"}))
	if refused.Str("code") != "draining" || !refused.Bool("retryable") {
		t.Errorf("the refusal is %s", refused)
	}
	told := a.await("late", "an error frame", func(m wire.Message) bool { return m.Type == "error" })
	if told.Seq != 0 || told.Str("code") != "draining" {
		t.Errorf("the refusal's frame is %s", told)
	}
	if keys := p.keys(t, user, "late"); len(keys) > 0 && !slices.Equal(keys, []string{"viewers"}) {
		t.Errorf("a refused message left %v", keys)
	}
	_, resp, err := websocket.Dial(t.Context(), p.url(1, user), nil)
	if err == nil || resp == nil || resp.StatusCode != 503 || resp.Header.Get("Retry-After") == "" {
		t.Errorf("a new socket got %v %v, want 503 with Retry-After", resp, err)
	}
	var first, last time.Time
	for _, v := range append(idle, a) {
		select {
		case <-v.Done():
		case <-time.After(patience):
			t.Fatal("a socket stays open")
		}
		if v.CloseCode() != 1012 {
			t.Errorf("closed with %d, want 1012", v.CloseCode())
		}
		if now := time.Now(); first.IsZero() {
			first = now
		} else {
			last = now
		}
	}
	if took := last.Sub(signalled); took < spread/2 {
		t.Errorf("all sockets were closed within %v, want them spread over %v", took, spread)
	}
	// The turn is followed through the other node.
	select {
	case <-leaving.done:
		t.Fatalf("the node ended before its turn:\n%s", leaving.stderr)
	default:
	}
	story := wire.NewStory("t")
	bad := story.Add(a.Messages())
	b := dial(t, p.url(0, user))
	b.resume("t", object{"last_seq": story.Cursor, "epoch": story.Epoch + ack.Str("epoch")})
	if end := b.end("t", ack.Str("turn_id")); end.Str("outcome") != "completed" {
		t.Errorf("end %s", end)
	}
	if bad = append(bad, story.Add(b.Messages())...); len(bad) > 0 || story.Incomplete > 0 {
		t.Errorf("missed or repeated: %v, %d incomplete", bad, story.Incomplete)
	}
	if got := story.Text(ack.Str("turn_id")); got != wire.DemoText(frames, 0) {
		t.Errorf("text %s", difference(got, wire.DemoText(frames, 0)))
	}
	if code := leaving.exit(t); code != 0 {
		t.Errorf("exit code %d", code)
	}
	if left := p.redis.own.ZScore(context.Background(), "turnlog:{nodes}:lease", leaving.id).Err(); left == nil {
		t.Error("its lease lingers")
	}
	// What was refused is a message like any other elsewhere.
	again := b.say("late", object{"frames": 2}, object{"id": "late"})
	if end := b.end("late", again.Str("turn_id")); again.Bool("duplicate") || end.Str("outcome") != "completed" {
		t.Errorf("the refused message, sent again: %s %s", again, end)
	}
}

func TestB87_WhatIsNotFinishedInTimeEndsAsShutdown(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		timeout string
		signals int
		demo    object
	}{
		"after the timeout":         {"3s", 1, object{"frames": 1_000_000, "interval_ms": 5}},
		"at the second signal":      {"240s", 2, object{"frames": 1_000_000, "interval_ms": 5}},
		"also when the agent hangs": {"2s", 1, object{"frames": 9, "hang_at": 3, "ignore_stop": true}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := own(t, twoNodes, quick("--drain.timeout", row.timeout)...)
			user := someone()
			a, b := dial(t, p.url(1, user)), dial(t, p.url(0, user))
			ack := a.say("t", row.demo)
			b.resume("t")
			b.seq("t", 3)
			queued := b.say("t", object{"frames": 2}, object{"on_busy": "enqueue"})
			begin := time.Now()
			p.nodes[1].signal(syscall.SIGTERM)
			bound, _ := time.ParseDuration(row.timeout)
			if row.signals > 1 {
				eventually(t, "it drains", func() bool { return p.nodes[1].readiness() == 503 })
				p.nodes[1].signal(syscall.SIGTERM)
				bound = time.Second
			}
			end := b.end("t", ack.Str("turn_id"))
			within(t, "ended", begin, end.At, bound+2*time.Second) // the stop timeout
			if end.Str("outcome") != "shutdown" {
				t.Errorf("end %s", end)
			}
			if row.signals == 1 && end.At.Sub(begin) < bound-500*time.Millisecond {
				t.Errorf("ended after %v, before the timeout of %v", end.At.Sub(begin), bound)
			}
			if n := b.count("t", func(m wire.Message) bool { return m.Type == "generation_stopped" }); n > 0 {
				t.Error("a shutdown was told as a user's stop")
			}
			next := b.end("t", queued.Str("turn_id"))
			if next.Str("outcome") != "completed" {
				t.Errorf("the queued turn ended %s", next)
			}
			if code := p.nodes[1].exit(t); code != 0 {
				t.Errorf("exit code %d", code)
			}
		})
	}
}

// child is the process that a wrapper started.
func child(t testing.TB, p *process) *os.Process {
	t.Helper()
	var pid int
	eventually(t, "the wrapper has a child", func() bool {
		b, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/children", p.Pid(), p.Pid()))
		if err != nil {
			return false
		}
		pid, err = strconv.Atoi(strings.TrimSpace(string(b)))
		return err == nil
	})
	inside, err := os.FindProcess(pid)
	if err != nil {
		t.Fatal(err)
	}
	return inside
}

// As the first process of a container a program gets no signal that it has no handler for.
func TestB87_F10_AsFirstProcessOfAContainer(t *testing.T) {
	t.Parallel()
	for name, wrap := range map[string][]string{
		"unshare": {"unshare", "--user", "--map-root-user", "--fork", "--kill-child", "--pid", "--mount-proc"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := own(t, oneNode, quick()...)
			args := append(wrap[1:], binary(), "serve", "--listen", "127.0.0.1:0", "--redis", p.redis.url())
			wrapper, err := spawn(nil, wrap[0], append(args, quick("--drain.timeout", "30s")...)...)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(wrapper.kill)
			addr, id, err := wrapper.Listening(patience)
			if err != nil {
				t.Fatalf("%v (needs the right to make user and process namespaces)", err)
			}
			n := &node{process: wrapper, addr: addr, id: id}
			inside := child(t, wrapper)
			if b, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", inside.Pid)); err != nil || !firstOfItsKind(string(b)) {
				t.Fatalf("the node is not process 1 of a namespace of its own: %v\n%s", err, b)
			}
			user := someone()
			a, b := dial(t, n.url(user, "")), dial(t, p.url(0, user))
			ack := a.say("t", object{"frames": 300, "interval_ms": 10})
			b.resume("t")
			signalled := time.Now()
			if err := inside.Signal(syscall.SIGTERM); err != nil {
				t.Fatal(err)
			}
			eventually(t, "readiness is down", func() bool { return n.readiness() == 503 })
			if end := b.end("t", ack.Str("turn_id")); end.Str("outcome") != "completed" {
				t.Errorf("end %s", end)
			}
			saidOnce(t, b, "t", "", wire.DemoText(300, 0))
			if code := wrapper.exit(t); code != 0 {
				t.Errorf("exit code %d", code)
			}
			within(t, "ended", signalled, time.Now(), 5*time.Second)
			if p.redis.own.ZScore(context.Background(), "turnlog:{nodes}:lease", n.id).Err() == nil {
				t.Error("its lease lingers")
			}
		})
	}
}

// firstOfItsKind says whether a process's status names it 1 in its innermost namespace.
func firstOfItsKind(status string) bool {
	for line := range strings.Lines(status) {
		if ids, ok := strings.CutPrefix(line, "NSpid:"); ok {
			all := strings.Fields(ids)
			return len(all) > 1 && all[len(all)-1] == "1"
		}
	}
	return false
}

func TestF10_TheReapersLeaseDoesNotLinger(t *testing.T) {
	t.Parallel()
	p := own(t, twoNodes, quick()...)
	if p.leader(t) != p.nodes[0] {
		t.Fatal("the first node does not lead")
	}
	p.nodes[0].signal(syscall.SIGTERM)
	if code := p.nodes[0].exit(t); code != 0 {
		t.Errorf("exit code %d", code)
	}
	gone := time.Now()
	p.nodes[1].says(t, "reaper leads")
	if took := time.Since(gone); took > reaperLease-time.Second {
		t.Errorf("the next reaper led %v after the node had ended: it waited for the lease", took)
	}
}
