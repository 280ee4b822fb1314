package eventlog_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"turnlog/eventlog"
)

// background runs a service; stop ends it and waits.
func background(t testing.TB, run func(context.Context) error) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- run(ctx) }()
	return func() {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("run: %v", err)
		}
	}
}

func TestB22_DetachByAnOldViewerAfterANewOneAttached(t *testing.T) {
	r := newRig(eventlog.HubOptions{})
	r.append(alice, "turn_started")
	old := r.join(t, alice, eventlog.Cursor{})
	// The new viewer comes while the old one's detach is on its way to Redis.
	var late *tail
	r.on(r.before, "detach", func() {
		r.on(r.before, "detach", nil)
		late = r.join(t, alice, eventlog.Cursor{})
	})
	old.v.Leave(t.Context(), false)
	r.attached(t, true)
	r.append(alice, "chunk")
	late.drain()
	late.want("1 turn_started", "2 chunk")
	late.v.Leave(t.Context(), false)
	late.v.Leave(t.Context(), false)
	r.attached(t, false)
	if n := r.count("detach"); n != 2 {
		t.Errorf("%d detaches", n)
	}
	if _, err := late.v.Next(t.Context(), 1, 1); !errors.Is(err, eventlog.ErrClosed) {
		t.Errorf("next after leave: %v", err)
	}
	if n := r.bus.subscriptions(); n != 0 || r.hub.Following(alice) {
		t.Errorf("%d subscriptions are left", n)
	}
}

func (r *rig) attached(t *testing.T, want bool) {
	t.Helper()
	r.change(alice, func(th *fakeThread) {
		if _, ok := th.viewers["n1"]; ok != want {
			t.Errorf("attached: %v, want %v", ok, want)
		}
	})
}

func TestB20_OneLeavingKeepsTheOthers(t *testing.T) {
	r := newRig(eventlog.HubOptions{})
	r.append(alice, "turn_started")
	one, two := r.join(t, alice, eventlog.Cursor{}), r.join(t, alice, eventlog.Cursor{})
	one.v.Leave(t.Context(), false)
	r.attached(t, true)
	r.append(alice, "chunk")
	two.drain()
	two.want("1 turn_started", "2 chunk")
}

func TestDetach_IsRepeatedUntilRedisConfirms(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(eventlog.HubOptions{})
		defer r.run(t)()
		r.append(alice, "turn_started")
		tl := r.join(t, alice, eventlog.Cursor{})
		r.setFail("detach", errors.New("redis is away"))
		ended, cancel := context.WithCancel(t.Context())
		cancel()
		tl.v.Leave(ended, true)
		r.attached(t, true)
		<-time.After(4 * time.Second) // the bubble's clock
		r.setFail("detach", nil)
		<-time.After(4 * time.Second)
		r.attached(t, false)
	})
}

func TestJoin_FailsCleanly(t *testing.T) {
	r := newRig(eventlog.HubOptions{})
	broken := errors.New("redis is away")
	r.setFail("attach", broken)
	if _, err := r.hub.Join(t.Context(), alice, eventlog.Cursor{}, eventlog.JoinOptions{}); !errors.Is(err, broken) {
		t.Errorf("join: %v", err)
	}
	if r.hub.Following(alice) || r.bus.subscriptions() != 0 || r.count("detach") != 1 {
		t.Error("a failed join leaves something behind")
	}
}

func TestReserve_DeliversFromTheBegunTurnWithoutAHeader(t *testing.T) {
	r := newRig(eventlog.HubOptions{})
	r.append(alice, "turn_started", "chunk", "turn_finished")
	tl := newTail(t)
	v, err := r.hub.Reserve(t.Context(), alice, eventlog.JoinOptions{Wake: tl.wake})
	if err != nil || v.Generation() == 0 {
		t.Fatalf("reserve: %v", err)
	}
	tl.begin(v)
	c := r.append(alice, "turn_started")
	r.hub.Committed(c)
	tl.drain()
	tl.want()
	v.Start(c.Epoch, c.FirstSeq-1)
	select {
	case <-tl.woken:
	default:
		t.Error("not woken by Start")
	}
	tl.drain()
	r.hub.Committed(r.append(alice, "chunk"))
	tl.drain()
	tl.want("4 turn_started", "5 chunk")
	if len(tl.headers) != 0 || r.count("attach") != 0 {
		t.Errorf("headers %v, %d attaches", tl.headers, r.count("attach"))
	}
	v.Start("E9", 0) // a second message on a connection that already follows
	r.append(alice, "chunk")
	tl.drain()
	tl.want("4 turn_started", "5 chunk", "6 chunk")
}

func TestReserve_QueuedSubmissionFollowsFromNowOn(t *testing.T) {
	r := newRig(eventlog.HubOptions{})
	r.append(alice, "turn_started", "chunk")
	tl := newTail(t)
	v, err := r.hub.Reserve(t.Context(), alice, eventlog.JoinOptions{Wake: tl.wake})
	if err != nil {
		t.Fatal(err)
	}
	tl.begin(v)
	if err := v.Rejoin(t.Context(), eventlog.Cursor{Live: true}, eventlog.PolicyUnset); err != nil {
		t.Fatal(err)
	}
	r.append(alice, "chunk", "turn_finished")
	tl.drain()
	tl.want("3 chunk", "4 turn_finished")
	if len(tl.headers) != 0 {
		t.Errorf("headers %+v", tl.headers)
	}
}

func TestRejoin(t *testing.T) {
	rows := []struct {
		name       string
		cursor     eventlog.Cursor
		want       []string
		count      int64
		incomplete bool
	}{
		{"with epoch it restarts", eventlog.Cursor{LastSeq: 2, Epoch: "E1"}, []string{"3 chunk", "4 chunk", "5 chunk"}, 2, false},
		{"full restarts", eventlog.Cursor{Full: true}, []string{"1 turn_started", "2 chunk", "3 chunk", "4 chunk", "5 chunk"}, 4, false},
		{"B120 a stale cursor without epoch does not go back", eventlog.Cursor{LastSeq: 2}, []string{"5 chunk"}, 0, false},
		{"B120 a fresh one without epoch does not go back", eventlog.Cursor{}, []string{"5 chunk"}, 0, true},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			r := newRig(eventlog.HubOptions{})
			r.append(alice, "turn_started", "chunk", "chunk")
			tl := r.join(t, alice, eventlog.Cursor{})
			r.append(alice, "chunk")
			tl.drain()
			if err := tl.v.Rejoin(t.Context(), row.cursor, eventlog.PolicyUnset); err != nil {
				t.Fatal(err)
			}
			r.append(alice, "chunk")
			tl.drain()
			tl.want(row.want...)
			if len(tl.headers) != 2 || tl.headers[1].ReplayCount != row.count || tl.headers[1].ReplayIncomplete != row.incomplete {
				t.Errorf("headers %+v", tl.headers)
			}
		})
	}
}

func TestRejoin_NothingIsDeliveredWhileItAsks(t *testing.T) {
	r := newRig(eventlog.HubOptions{})
	r.append(alice, "turn_started", "chunk")
	tl := r.join(t, alice, eventlog.Cursor{})
	tl.drain()
	r.on(r.after, "attach", func() {
		r.append(alice, "chunk", "turn_finished")
		if tl.pull() {
			t.Error("frames came between the resume and its header")
		}
	})
	if err := tl.v.Rejoin(t.Context(), eventlog.Cursor{LastSeq: 2}, eventlog.PolicyUnset); err != nil {
		t.Fatal(err)
	}
	tl.drain()
	tl.want("3 chunk", "4 turn_finished")
}

func TestB6_CursorAheadWaitsForTheRepair(t *testing.T) {
	for name, repaired := range map[string]bool{"repaired in time": true, "not repaired": false} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRig(eventlog.HubOptions{})
				r.append(alice, "turn_started", "chunk")
				if repaired {
					go func() {
						<-time.After(1500 * time.Millisecond) // the bubble's clock
						r.append(alice, "chunk", "chunk")
					}()
				}
				began := time.Now()
				tl := r.join(t, alice, eventlog.Cursor{LastSeq: 3, Epoch: "E1"})
				tl.drain()
				if repaired {
					tl.want("4 chunk")
				} else {
					tl.want("1 turn_started", "2 chunk")
				}
				if h := tl.headers[0]; h.ReplayIncomplete == repaired || time.Since(began) > 2200*time.Millisecond {
					t.Errorf("after %s: %+v", time.Since(began), h)
				}
			})
		})
	}
}

func TestRequests_AnsweredBeforeTheHeader(t *testing.T) {
	r := newRig(eventlog.HubOptions{})
	r.append(alice, "turn_started", "tool_call", "tool_call", "chunk")
	r.change(alice, func(th *fakeThread) { th.snap.Open = []eventlog.OpenRequest{{ID: "b", Seq: 3}} })
	v := r.join(t, alice, eventlog.Cursor{}).v
	for id, want := range map[string]bool{"a": false, "b": true} {
		if got := v.RequestOpen(id, 3); got != want {
			t.Errorf("request %s open: %v", id, got)
		}
	}
	if !v.RequestOpen("c", 5) {
		t.Error("a request from after the header counts as answered")
	}
	aware := r.join(t, alice, eventlog.Cursor{LastSeq: 4, Epoch: "E1"})
	old := r.join(t, alice, eventlog.Cursor{LastSeq: 4})
	if n := len(aware.headers[0].Unnumbered); n != 1 {
		t.Errorf("client with epoch: %d unnumbered requests", n)
	}
	if n := len(old.headers[0].Unnumbered); n != 0 {
		t.Errorf("client without: %d unnumbered requests", n)
	}
}

func TestRetarget_ReachesEveryViewerOnce(t *testing.T) {
	r := newRig(eventlog.HubOptions{})
	r.append(alice, "turn_started")
	tl := r.join(t, alice, eventlog.Cursor{LastSeq: 1, Epoch: "E1"})
	tl.drain()
	r.bus.publish("alice/t1", "r call-1\n")
	r.hub.Retarget(alice, "call-1")
	select {
	case <-tl.woken:
	default:
		t.Error("not woken")
	}
	tl.drain()
	if len(tl.target) != 1 || tl.target[0] != "call-1" {
		t.Errorf("targets %v", tl.target)
	}
}

func TestLive_CursorHasNoHeader(t *testing.T) {
	r := newRig(eventlog.HubOptions{})
	r.append(alice, "turn_started", "chunk")
	tl := r.join(t, alice, eventlog.Cursor{Live: true})
	if epoch, last := tl.v.Position(); epoch != "E1" || last != 2 || tl.v.Header() != nil {
		t.Errorf("position %s %d, header %v", epoch, last, tl.v.Header())
	}
	r.append(alice, "chunk")
	tl.drain()
	tl.want("3 chunk")
}
