package e2e_test

import (
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"turnlog/e2e/wire"
)

func restarting(more ...string) []string {
	return quick(append([]string{"--turn.on_owner_lost", "restart"}, more...)...)
}

// saidOnce checks that what the chunks of a turn say is exactly text.
func saidOnce(t testing.TB, v *viewer, thread, turn, text string) {
	t.Helper()
	if got := v.text(thread, turn); got != text {
		t.Errorf("the turn said %d bytes, want %d: %s", len(got), len(text), difference(got, text))
	}
}

// difference shows where two texts part.
func difference(got, want string) string {
	i := 0
	for i < len(got) && i < len(want) && got[i] == want[i] {
		i++
	}
	from := max(0, i-40)
	return strconv.Quote(got[from:min(len(got), i+40)]) + " instead of " + strconv.Quote(want[from:min(len(want), i+40)])
}

func TestB81_B90_ALostTurnGoesOnOnAnotherNode(t *testing.T) {
	t.Parallel()
	for name, demo := range map[string]object{
		"with checkpoints":               {"checkpoint_every": 7},
		"from what was emitted":          {},
		"with the log's start trimmed":   {"checkpoint_every": 5, "bytes": 3000},
		"in the middle of an approval":   {"checkpoint_every": 3, "approval": object{"tool_name": "rm", "at": 61}},
		"with an answer already in hand": {"checkpoint_every": 3, "approval": object{"tool_name": "rm", "at": 3}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := own(t, three, restarting("--replay.max_bytes", "100KiB", "--limits.frame_bytes", "16KiB")...)
			p.trusted(t)
			user := someone()
			const frames = 200
			demo["frames"], demo["interval_ms"] = frames, 10
			a, b := dial(t, p.url(1, user)), dial(t, p.url(0, user))
			b.ok("follow", object{"thread_id": "t"})
			ack := a.say("t", demo)
			allow := func(attempt int64) {
				asked := b.await("t", "request", func(m wire.Message) bool {
					return m.Type == "tool_approval_request" && (attempt == 1 || started(b.started("t", attempt)) == attempt && m.Seq > b.started("t", attempt).Seq)
				})
				b.ok("set_mode", object{"mode": "text"})
				if err := b.Send(object{"type": "tool_approval_response", "approval_id": asked.Str("approval_id"), "decision": "allow"}); err != nil {
					t.Fatal(err)
				}
			}
			kill := int64(50)
			if approval, ok := demo["approval"].(object); ok {
				if approval["at"] == 3 {
					allow(1)
				} else {
					kill = 62 // the request itself
				}
			}
			a.seq("t", kill)
			killed := time.Now()
			p.nodes[1].kill()
			again := b.await("t", "the second attempt", func(m wire.Message) bool { return started(m) == 2 })
			within(t, "restarted", killed, again.At, lease+notice)
			if again.Turn != ack.Str("turn_id") {
				t.Errorf("the second attempt is of turn %s, want %s", again.Turn, ack.Str("turn_id"))
			}
			if kill == 62 {
				closed := b.typed("t", "request_closed")
				if closed.Str("reason") != "restarted" {
					t.Errorf("the open request was closed: %s", closed)
				}
				allow(2)
			}
			end := b.end("t", ack.Str("turn_id"))
			if end.Str("outcome") != "completed" {
				t.Errorf("end %s", end)
			}
			got := answers.ReplaceAllString(b.text("t", ack.Str("turn_id")), "")
			size, _ := demo["bytes"].(int)
			if want := wire.DemoText(frames, size); got != want {
				t.Errorf("said %s", difference(got, want))
			}
			if n := b.count("t", func(m wire.Message) bool { return m.Type == "turn_started" }); n != 2 {
				t.Errorf("%d turn_started, want 2", n)
			}
			wantNumbers(t, b, "t", 1, end.Seq)
			p.oneEnd(t, user, "t")
		})
	}
}

var answers = regexp.MustCompile(`answer:\{[^}]*\} `)

// started is the newest turn_started of the attempt so far.
func (v *viewer) started(thread string, attempt int64) (found wire.Message) {
	for _, m := range v.Frames(thread) {
		if started(m) == attempt {
			found = m
		}
	}
	return found
}

func TestB81_AttemptsAreBounded(t *testing.T) {
	t.Parallel()
	p := own(t, three, restarting()...)
	extra, err := serve(append([]string{"--redis", p.redis.url()}, restarting()...)...)
	if err != nil {
		t.Fatal(err)
	}
	p.nodes = append(p.nodes, extra)
	p.trusted(t)
	user := someone()
	a := dial(t, p.url(1, user))
	ack := a.say("t", object{"frames": 9, "hang_at": 5}, object{"on_disconnect": "preserve"})
	const attempts = 3
	dead := map[string]bool{}
	said := func(s map[string]string) int { n, _ := strconv.Atoi(s["last_seq"]); return n }
	for attempt := 1; attempt <= attempts; attempt++ {
		var owner *node
		eventually(t, "attempt "+strconv.Itoa(attempt)+" runs", func() bool {
			s := p.state(t, user, "t")
			for _, n := range p.nodes {
				if n.id == s["owner"] && !dead[n.id] && s["attempt"] == strconv.Itoa(attempt) && s["status"] == "running" && said(s) >= 4+attempt {
					owner = n
				}
			}
			return owner != nil
		})
		dead[owner.id] = true
		owner.kill()
	}
	var last *node
	for _, n := range p.nodes {
		if !dead[n.id] {
			last = n
		}
	}
	eventually(t, "the turn is given up", func() bool { return p.state(t, user, "t")["status"] == "finished" })
	v := dial(t, last.url(user, ""))
	v.resume("t", object{"full": true})
	if end := v.end("t", ack.Str("turn_id")); end.Str("outcome") != "owner_lost" {
		t.Errorf("end %s, want owner_lost", end)
	}
	for attempt := range int64(attempts) {
		if v.started("t", attempt+1).Seq == 0 {
			t.Errorf("attempt %d was not announced", attempt+1)
		}
	}
	if n := v.count("t", func(m wire.Message) bool { return m.Type == "turn_started" }); n != attempts {
		t.Errorf("%d attempts, want %d", n, attempts)
	}
	saidOnce(t, v, "t", ack.Str("turn_id"), wire.DemoText(4, 0))
	next := v.say("t", object{"frames": 2})
	if end := v.end("t", next.Str("turn_id")); end.Str("outcome") != "completed" {
		t.Errorf("the next turn ended %s", end)
	}
}

// counting is a program that goes on behind what it is told was said before.
const counting = `
read -r start
case "$start" in *checkpoint*emitted*) ;; *'"attempt":1'*) ;; *) echo "no checkpoint came back" >&2; exit 4 ;; esac
said=$(printf '%s' "$start" | sed -n 's/.*"emitted"://p' | grep -o '"content":"[0-9]*:' | tail -n 1 | tr -dc 0-9)
saved=$(printf '%s' "$start" | sed -n 's/.*"checkpoint":{"n":\([0-9]*\)}.*/\1/p')
if [ -n "$saved" ] && [ "$saved" -gt "${said:-0}" ]; then echo "checkpoint $saved is ahead of ${said:-0}" >&2; exit 5; fi
printf '{"type":"task_update","event":"resumed","checkpoint":"%s"}\n' "$saved"
n=${said:-0}
while [ $n -lt 150 ]; do
  n=$((n+1))
  printf '{"type":"chunk","content":"%d: "}\n{"type":"checkpoint","state":{"n":%d}}\n' $n $n
  sleep 0.02
done
`

func TestB90_AProgramGoesOnFromItsCheckpoint(t *testing.T) {
	t.Parallel()
	path := write(t, "agent.sh", "#!/bin/sh\n"+counting, 0o700)
	p := own(t, twoNodes, restarting("--agent", "command", "--", path)...)
	p.trusted(t)
	user := someone()
	a, b := dial(t, p.url(1, user)), dial(t, p.url(0, user))
	b.ok("follow", object{"thread_id": "t"})
	ack := a.say("t", nil)
	b.seq("t", 60)
	p.nodes[1].kill()
	end := b.end("t", ack.Str("turn_id"))
	if end.Str("outcome") != "completed" {
		t.Fatalf("end %s", end)
	}
	saidOnce(t, b, "t", ack.Str("turn_id"), wire.DemoText(150, 0))
	var saved []string
	for _, m := range b.Frames("t") {
		if m.Type == "task_update" {
			saved = append(saved, m.Str("checkpoint"))
		}
	}
	if len(saved) != 2 || saved[0] != "" || saved[1] == "" || strings.Trim(saved[1], "0123456789") != "" {
		t.Errorf("the attempts were given the checkpoints %q, want none and a number", saved)
	}
	wantNumbers(t, b, "t", 1, end.Seq)
}
