package e2e_test

import (
	"net/http"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"turnlog/e2e/wire"
)

func TestB45_EveryAdaptersBrokenAgentEndsItsTurnAndNotTheNode(t *testing.T) {
	t.Parallel()
	f := theWorkshop(t, longTool, longRetention)
	adapted(t, f, scripted, func(t *testing.T, r row) {
		a, b := r.dial(0), r.dial(1)
		for _, broken := range r.breaks {
			thread := broken.word
			b.ok("follow", object{"thread_id": thread})
			turn, _ := r.say(a, thread, broken.word)
			for _, v := range []*viewer{a, b} {
				if end := v.end(thread, turn); end.Str("outcome") != "failed" || end.Str("error") == "" {
					t.Errorf("%s: end %s", thread, end)
				}
				if e := v.typed(thread, "error"); broken.kind != "" && e.Str("error_type") != broken.kind {
					t.Errorf("%s: error %s, want error_type %s", thread, e, broken.kind)
				}
				v.await(thread, "a frame that makes it idle", func(m wire.Message) bool { return m.Type == "chunk" && m.Bool("done") })
			}
			turn, _ = r.say(b, thread, "next")
			r.completed(a, thread, turn, "heard:next")
		}
		for _, n := range f.nodes[r.first : r.first+2] {
			if got := n.readiness(); got != http.StatusOK {
				t.Errorf("node %s answers %d", n.addr, got)
			}
		}
	})
}

func TestB47_ASteerReachesEveryAdaptersAgentOrBecomesTheNextTurn(t *testing.T) {
	t.Parallel()
	f := theWorkshop(t, longTool, longRetention)
	adapted(t, f, scripted, func(t *testing.T, r row) {
		a, b := r.dial(0), r.dial(1)
		turn, _ := r.say(a, "t", "steer "+r.user)
		a.await("t", "the agent is at work", func(m wire.Message) bool { return strings.HasPrefix(m.Str("content"), "ready") })
		steer := object{"thread_id": "t", "content": "brief please", "id": "s1", "agent": r.agent}
		if ack := b.ok("steer", steer); !ack.Bool("delivered") {
			t.Errorf("ack %s, want it delivered", ack)
		}
		b.ok("steer", steer) // a retry
		if r.model {
			elapse(t, 2*time.Second) // nobody says when a model's agent could take it
			close(f.up.asked(t, r.user).release)
		}
		r.completed(a, "t", turn, "steer:brief please")
		if got := a.text("t", turn); strings.Count(got, "steer:") != 1 {
			t.Errorf("steered more than once: %q", got)
		}
		// Behind the end, and racing it: as input or as the next turn.
		for i, thread := range threads(7) {
			turn, _ := r.say(a, thread, "quick")
			if i == 0 || r.pipe {
				a.end(thread, turn)
			}
			b.ok("steer", object{"thread_id": thread, "content": "brief " + thread, "id": "s", "agent": r.agent})
			a.end(thread, turn)
			found := a.await(thread, "the steer", func(m wire.Message) bool {
				message, _ := m.Object["message"].(object)
				return message["content"] == "brief "+thread || m.Str("content") == "steer:brief "+thread || m.Str("content") == "brief "+thread
			})
			if found.Turn != turn {
				r.completed(a, thread, found.Turn, "brief "+thread)
			}
		}
	})
}

var pidText = regexp.MustCompile(`pid:([0-9]+)`)

func TestF13_AStopClosesEveryAdaptersUpstreamRequestAtOnce(t *testing.T) {
	t.Parallel()
	f := theWorkshop(t, longTool, longRetention)
	adapted(t, f, scripted, func(t *testing.T, r row) {
		for _, how := range []string{"from-the-other-node", "after-a-resume", "while-steering"} {
			a, b := r.dial(0), r.dial(1)
			key := r.user + "-" + how
			turn, since := r.say(a, how, "hold "+key)
			held := f.up.asked(t, key)
			a.await(how, "talk", func(m wire.Message) bool { return strings.HasPrefix(m.Str("content"), "talking") })
			said := a.text(how, turn)
			switch how {
			case "after-a-resume":
				a.Cut()
				b.resume(how, since)
			case "while-steering":
				b.resume(how, since)
				b.ok("steer", object{"thread_id": how, "content": "brief", "id": key, "agent": r.agent})
			default:
				b.ok("follow", object{"thread_id": how})
			}
			begin := time.Now()
			b.ok("stop", object{"thread_id": how})
			if end := b.end(how, turn); end.Str("outcome") != "stopped" {
				t.Errorf("%s: end %s", how, end)
			}
			select {
			case <-held.closed:
				within(t, how+": the request is closed", begin, held.over, time.Second)
			case <-time.After(wire.Patience):
				t.Fatalf("%s: the upstream's request stays open", how)
			}
			for _, pid := range pidText.FindAllStringSubmatch(said, -1) {
				eventually(t, "process "+pid[1]+" is gone", func() bool { return gone(pid[1]) })
				within(t, how+": a process of the group is gone", begin, time.Now(), time.Second)
			}
			if r.agent == "command" && len(pidText.FindAllString(said, -1)) != 2 {
				t.Errorf("the program said %q", said)
			}
		}
	})
}

// gone says whether a process has ended.
func gone(pid string) bool {
	b, err := os.ReadFile("/proc/" + pid + "/stat")
	if err != nil {
		return true
	}
	rest := string(b[strings.LastIndexByte(string(b), ')')+1:])
	return strings.HasPrefix(rest, " Z") || strings.HasPrefix(rest, " X")
}
