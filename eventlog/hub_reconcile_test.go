package eventlog_test

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"turnlog/eventlog"
)

func TestReconcile_AStrangeEntryIsDetachedWhenSeenTwice(t *testing.T) {
	r := newRig(eventlog.HubOptions{})
	bob := eventlog.Thread{User: "bob", ID: "t1"}
	tl := r.join(t, bob, eventlog.Cursor{})
	// A detach of this node that Redis confirmed, and lost.
	r.change(alice, func(th *fakeThread) { th.viewers["n1"], th.viewers["n2"] = 1, 1 })
	r.hub.Reconcile(t.Context())
	r.attached(t, true)
	r.hub.Reconcile(t.Context())
	r.attached(t, false)
	r.change(alice, func(th *fakeThread) {
		if len(th.viewers) != 1 {
			t.Errorf("viewers %v, want those of other nodes untouched", th.viewers)
		}
	})
	r.change(bob, func(th *fakeThread) {
		if len(th.viewers) != 1 {
			t.Errorf("viewers %v of a followed thread", th.viewers)
		}
	})
	tl.v.Leave(t.Context(), false)
}

func TestReconcile_AViewerThatComesMeanwhileIsNotDetached(t *testing.T) {
	r := newRig(eventlog.HubOptions{})
	r.change(alice, func(th *fakeThread) { th.viewers["n1"] = 1 })
	r.hub.Reconcile(t.Context())
	var tl *tail
	// It comes when the entry was found strange for the second time, and attaches first.
	r.on(r.before, "detach", func() {
		r.on(r.before, "detach", nil)
		tl = r.join(t, alice, eventlog.Cursor{})
	})
	r.hub.Reconcile(t.Context())
	if tl == nil {
		t.Fatal("nothing was detached")
	}
	r.attached(t, true)
	// One that comes between two rounds is no stranger either.
	tl.v.Leave(t.Context(), false)
	r.change(alice, func(th *fakeThread) { th.viewers["n1"] = 1 })
	r.hub.Reconcile(t.Context())
	tl = r.join(t, alice, eventlog.Cursor{})
	r.hub.Reconcile(t.Context())
	r.attached(t, true)
	tl.v.Leave(t.Context(), false)
	r.attached(t, false)
}

func TestReconcile_AMissingEntryIsMadeAgainEvery30SecondsAndAfterReconnects(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(eventlog.HubOptions{})
		defer r.run(t)()
		r.append(alice, "turn_started")
		tl := r.join(t, alice, eventlog.Cursor{})
		tl.drain()
		lose := func() { r.change(alice, func(th *fakeThread) { clear(th.viewers) }) }
		lose()
		<-time.After(31 * time.Second)
		synctest.Wait()
		r.attached(t, true)
		lose()
		for _, reconnected := range r.bus.hooks {
			reconnected()
		}
		synctest.Wait()
		r.attached(t, true)
		tl.v.Leave(t.Context(), false)
		r.attached(t, false)
	})
}

func TestReconcile_SurvivesARedisThatDoesNotAnswer(t *testing.T) {
	r := newRig(eventlog.HubOptions{})
	r.change(alice, func(th *fakeThread) { th.viewers["n1"] = 1 })
	r.hub.Reconcile(t.Context())
	r.setFail("viewing", errors.New("away"))
	r.hub.Reconcile(t.Context())
	r.setFail("viewing", nil)
	r.setFail("detach", errors.New("away"))
	r.hub.Reconcile(t.Context())
	r.attached(t, true)
	r.setFail("detach", nil)
	r.hub.Reconcile(t.Context())
	r.hub.Reconcile(t.Context())
	r.attached(t, false)
}

func TestReattach_FollowedThreadsMoveToTheNewNode(t *testing.T) {
	r := newRig(eventlog.HubOptions{RingFrames: 2})
	bob := eventlog.Thread{User: "bob", ID: "t1"}
	r.append(alice, "turn_started", "chunk")
	one, two := r.join(t, alice, eventlog.Cursor{}), r.join(t, bob, eventlog.Cursor{})
	one.drain()
	// Declared dead: what was published meanwhile did not reach us, as nobody knew of us.
	r.change(alice, func(th *fakeThread) { clear(th.viewers) })
	r.change(bob, func(th *fakeThread) { clear(th.viewers) })
	r.bus.setLose(func(string) bool { return true })
	r.chunks(alice, 5)
	r.bus.setLose(nil)
	r.hub.Reattach(t.Context(), "n1-again")
	for _, thread := range []eventlog.Thread{alice, bob} {
		r.change(thread, func(th *fakeThread) {
			if _, ok := th.viewers["n1-again"]; !ok || len(th.viewers) != 1 {
				t.Errorf("viewers of %s: %v", thread, th.viewers)
			}
		})
	}
	one.until(7) // woken by the reattachment itself
	if len(one.headers) != 1 {
		t.Errorf("%d headers, want no new one", len(one.headers))
	}
	r.append(bob, "turn_started")
	two.until(1)
	// Whoever leaves now leaves as the new node.
	one.v.Leave(t.Context(), false)
	two.v.Leave(t.Context(), false)
	r.change(alice, func(th *fakeThread) {
		if len(th.viewers) != 0 {
			t.Errorf("viewers %v are left", th.viewers)
		}
	})
}

func TestReattach_TheLastViewerLeavesMeanwhile(t *testing.T) {
	r := newRig(eventlog.HubOptions{})
	r.append(alice, "turn_started")
	tl := r.join(t, alice, eventlog.Cursor{})
	r.on(r.before, "attach", func() {
		r.on(r.before, "attach", nil)
		tl.v.Leave(t.Context(), false) // its detach comes before our attach
	})
	r.hub.Reattach(t.Context(), "n1-again")
	r.change(alice, func(th *fakeThread) {
		if _, ok := th.viewers["n1-again"]; ok {
			t.Errorf("viewers %v are left", th.viewers)
		}
	})
}
