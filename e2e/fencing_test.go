package e2e_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"turnlog/e2e/wire"
	"turnlog/eventlog"
)

// Says so when its turn is over, and otherwise goes on for ever.
const witness = `
exec 3<&0
( while read -r line <&3; do case "$line" in *'"stop"'*) printf '%s\n' "$line" >> "$TOLD" ;; esac; done ) &
n=0
while :; do n=$((n+1)); printf '{"type":"chunk","content":"%d: "}\n' $n; sleep 0.01; done
`

func TestB82_F30_APausedOwnerIsFencedAndComesBackUnderANewID(t *testing.T) {
	t.Parallel()
	told := filepath.Join(t.TempDir(), "told")
	path := write(t, "agent.sh", "#!/bin/sh\nTOLD="+told+"\n"+witness, 0o700)
	for name, flags := range map[string][]string{
		"demo": nil, "nothing follows": nil, "program": {"--agent", "command", "--", path},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := own(t, three, quick(flags...)...)
			p.trusted(t)
			owner, old := p.nodes[1], p.nodes[1].id
			user := someone()
			a, b := dial(t, p.url(1, user)), dial(t, p.url(0, user))
			long := object{"frames": 1_000_000, "interval_ms": 3}
			first := a.say("t", long)
			b.resume("t")
			other := b.say("elsewhere", long) // the paused node only watches this one
			a.ok("follow", object{"thread_id": "elsewhere"})
			b.seq("t", 50)

			paused := time.Now()
			owner.pause()
			end := b.end("t", first.Str("turn_id"))
			within(t, "lost", paused, end.At, lease+notice)
			if end.Str("outcome") != "owner_lost" {
				t.Errorf("end %s", end)
			}
			if name == "nothing follows" { // so that the turn's own end must keep late frames out
				owner.cont()
				owner.says(t, "goes on under a new id")
				elapse(t, time.Second)
			}
			second := b.say("t", long)
			b.await("t", "text of the second turn", func(m wire.Message) bool { return m.Turn == second.Str("turn_id") && m.Type == "chunk" })

			owner.cont()
			owner.says(t, "goes on under a new id")
			// Its viewers go on: they hear of both turns, in order, and what comes next.
			if end := a.end("t", first.Str("turn_id")); end.Str("outcome") != "owner_lost" {
				t.Errorf("the paused node's viewer saw the end %s", end)
			}
			here := b.numbers("t")
			a.seq("t", here[len(here)-1]+50)
			there := b.numbers("elsewhere")
			a.seq("elsewhere", there[len(there)-1]+50)
			for _, v := range []*viewer{a, b} {
				over := false
				for _, m := range v.Frames("t") {
					if m.Turn == first.Str("turn_id") && m.Seq > 0 && over {
						t.Errorf("a late frame: %s", m)
					}
					over = over || m.Type == "turn_finished"
				}
			}
			if n := p.oneEnd(t, user, "t"); n != 1 {
				t.Errorf("%d ended turns in the log, want 1", n)
			}
			if name == "program" {
				eventually(t, "the program is told", func() bool {
					b, err := os.ReadFile(told)
					return err == nil && strings.Contains(string(b), `"outcome":"owner_lost"`)
				})
			}
			// It runs turns again, under a name that was never declared dead.
			third := a.say("again", object{"frames": 1_000_000, "interval_ms": 3})
			a.await("again", "text", func(m wire.Message) bool { return m.Type == "chunk" })
			now := p.state(t, user, "again")["owner"]
			if now == "" || now == old || now == p.nodes[0].id || now == p.nodes[2].id {
				t.Errorf("the node's new id is %q (it was %q)", now, old)
			}
			for thread, ack := range map[string]wire.Message{"again": third, "elsewhere": other, "t": second} {
				b.ok("stop", object{"thread_id": thread})
				a.await(thread, "its end", func(m wire.Message) bool { return m.Type == "turn_finished" && m.Turn == ack.Str("turn_id") })
			}
		})
	}
}

// erase deletes a thread the way an operator's program does.
func (p *place) erase(t testing.TB, user, thread string) {
	t.Helper()
	rdb := redis.NewClient(&redis.Options{Addr: p.redis.addr})
	defer rdb.Close()
	log, err := eventlog.Open(t.Context(), rdb, eventlog.Options{Partitions: 64})
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	if done, err := log.Delete(t.Context(), eventlog.Thread{User: user, ID: thread}); err != nil || !done {
		t.Fatalf("delete: %v %v", done, err)
	}
}

// gone checks that nothing of a deleted thread has come back.
func (p *place) gone(t testing.TB, user, thread string) {
	t.Helper()
	for _, key := range p.keys(t, user, thread) {
		// The ids of its messages are remembered for their 24 h; they hold no content.
		if !slices.Contains([]string{"state", "viewers"}, key) && !strings.HasPrefix(key, "submit:") {
			t.Errorf("a deleted thread has a %s again", key)
		}
	}
	s := p.state(t, user, thread)
	for field := range s {
		if !slices.Contains([]string{"deleted", "epoch", "turn_id"}, field) {
			t.Errorf("the state of a deleted thread has %s=%q", field, s[field])
		}
	}
	if s["deleted"] == "" {
		t.Error("the thread is not deleted any more")
	}
	for _, index := range []string{"threads", "running", "requests"} {
		key := p.redis.own.Keys(t.Context(), "turnlog:{*}:"+user+":"+index).Val()
		if len(key) == 0 {
			continue
		}
		held, err := p.redis.own.Do(t.Context(), "SORT", key[0], "BY", "nosort").StringSlice()
		if index != "requests" && (err != nil || slices.Contains(held, thread)) {
			t.Errorf("index %s names the deleted thread: %q %v", index, held, err)
		}
	}
}

func TestB91_ADeletedThreadIsNotResurrected(t *testing.T) {
	t.Parallel()
	long := object{"frames": 1_000_000, "interval_ms": 3, "checkpoint_every": 3}
	for name, late := range map[string]func(t *testing.T, p *place, user string){
		"by an owner that goes on": func(t *testing.T, p *place, user string) {
			p.erase(t, user, "t")
		},
		"by an owner that was paused": func(t *testing.T, p *place, user string) {
			p.nodes[1].pause()
			p.erase(t, user, "t")
			elapse(t, time.Second) // less than the lease: it is still a member
			p.nodes[1].cont()
		},
		"by an owner that was declared dead": func(t *testing.T, p *place, user string) {
			p.nodes[1].pause()
			p.erase(t, user, "t")
			p.nodes[0].says(t, "node buried")
			p.nodes[1].cont()
			p.nodes[1].says(t, "goes on under a new id")
		},
		"by the reaper of a dead owner": func(t *testing.T, p *place, user string) {
			p.nodes[1].kill()
			p.erase(t, user, "t")
			p.nodes[0].says(t, "node buried")
		},
		"by a reaper whose leader died": func(t *testing.T, p *place, user string) {
			p.nodes[1].pause()
			p.nodes[0].kill()
			p.erase(t, user, "t")
			p.nodes[2].says(t, "node buried")
			p.nodes[1].cont()
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := own(t, three, quick()...)
			p.trusted(t)
			user := someone()
			a, b := dial(t, p.url(1, user)), dial(t, p.url(2, user))
			a.say("t", long, object{"on_disconnect": "preserve"})
			b.resume("t")
			b.seq("t", 30)
			late(t, p, user)
			if !p.nodes[1].Ended(0) {
				eventually(t, "the owner is done with it", func() bool {
					before := len(a.numbers("t"))
					elapse(t, 300*time.Millisecond)
					return len(a.numbers("t")) == before
				})
			}
			p.gone(t, user, "t")
			// A viewer that comes late finds nothing, and makes nothing.
			v := dial(t, p.url(2, user))
			v.resume("t", object{"last_seq": 5})
			if h := v.header("t"); h.Str("status") != "unknown" {
				t.Errorf("a resume of the deleted thread found %s", h)
			}
			elapse(t, lease+reaperLease) // reconciling, reaping and burying go on
			p.gone(t, user, "t")
		})
	}
}
