package eventlog_test

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"turnlog/eventlog"
)

func TestB1_B20_EveryViewerGetsEveryFrameInOrder(t *testing.T) {
	r := newRig(eventlog.HubOptions{})
	r.append(alice, "turn_started", "chunk")
	one, two := r.join(t, alice, eventlog.Cursor{}), r.join(t, alice, eventlog.Cursor{LastSeq: 1, Epoch: "E1"})
	r.append(alice, "chunk")
	r.append(alice, "chunk", "turn_finished")
	for _, tl := range []*tail{one, two} {
		tl.drain()
	}
	one.want("1 turn_started", "2 chunk", "3 chunk", "4 chunk", "5 turn_finished")
	two.want("2 chunk", "3 chunk", "4 chunk", "5 turn_finished")
	if h := two.headers[0]; h.ReplayCount != 1 || h.ReplayIncomplete || h.FirstSeq != 2 || h.Thread != alice || h.Status != eventlog.StatusRunning {
		t.Errorf("header %+v", h)
	}
}

func TestB9_F1_F2_NothingIsLostBetweenSubscribeAndRead(t *testing.T) {
	for _, when := range []string{"before", "after"} {
		t.Run(when+" the log was read", func(t *testing.T) {
			r := newRig(eventlog.HubOptions{})
			hooks := r.before
			if when == "after" {
				hooks = r.after
			}
			r.on(hooks, "attach", func() {
				r.on(hooks, "attach", nil)
				r.append(alice, "turn_started")
				r.chunks(alice, 20)
			})
			tl := r.join(t, alice, eventlog.Cursor{})
			tl.drain()
			if tl.last != 21 || len(tl.frames) != 21 {
				t.Errorf("last frame %d, %d frames: %v", tl.last, len(tl.frames), tl.frames)
			}
		})
	}
}

func TestF3_NextTurnOnAnotherNodeAfterTheLogExpired(t *testing.T) {
	r := newRig(eventlog.HubOptions{})
	r.append(alice, "turn_started", "chunk", "turn_finished")
	tl := r.join(t, alice, eventlog.Cursor{})
	tl.drain()
	r.change(alice, func(th *fakeThread) { th.frames, th.snap.Status = nil, eventlog.StatusUnknown })
	late := r.join(t, alice, eventlog.Cursor{LastSeq: 2, Epoch: "E1"})
	if h := late.headers[0]; h.Status != eventlog.StatusUnknown || h.ReplayCount != 0 || h.ReplayIncomplete || h.LastSeq != 0 {
		t.Errorf("header after the retention: %+v", h)
	}
	r.append(alice, "turn_started")
	r.append(alice, "chunk", "turn_finished")
	tl.drain()
	tl.want("1 turn_started", "2 chunk", "3 turn_finished", "4 turn_started", "5 chunk", "6 turn_finished")
	late.drain()
	late.want("4 turn_started", "5 chunk", "6 turn_finished")
	if len(tl.headers)+len(late.headers) != 2 {
		t.Errorf("new headers: %+v %+v", tl.headers, late.headers)
	}
}

func TestF3_UnknownThreadIsFollowedFromItsFirstTurn(t *testing.T) {
	for name, lose := range map[string]bool{"published": false, "first message lost": true} {
		t.Run(name, func(t *testing.T) {
			r := newRig(eventlog.HubOptions{})
			r.change(alice, func(th *fakeThread) { th.snap.LastSeq = 0 })
			tl := r.join(t, alice, eventlog.Cursor{LastSeq: 9})
			r.change(alice, func(th *fakeThread) { th.snap.LastSeq = 65536 }) // the numbers of an earlier life were skipped
			r.bus.setLose(func(string) bool { return lose })
			r.append(alice, "turn_started")
			r.bus.setLose(nil)
			r.append(alice, "chunk")
			tl.drain()
			tl.want("65537 turn_started", "65538 chunk")
			if len(tl.headers) != 1 {
				t.Errorf("headers %+v", tl.headers)
			}
		})
	}
}

func TestF6_LostMessageOfTheTerminalFrameIsNoticed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(eventlog.HubOptions{})
		stop := r.run(t)
		defer stop()
		r.append(alice, "turn_started", "chunk")
		tl := r.join(t, alice, eventlog.Cursor{})
		tl.drain()
		r.bus.setLose(func(string) bool { return true })
		r.append(alice, "chunk", "turn_finished")
		began := time.Now()
		tl.until(4)
		if took := time.Since(began); took > 3200*time.Millisecond {
			t.Errorf("noticed after %s", took)
		}
		tl.want("1 turn_started", "2 chunk", "3 chunk", "4 turn_finished")
		// Nothing runs any more; a turn begun elsewhere is noticed at the slower pace.
		r.append(alice, "turn_started")
		began = time.Now()
		tl.until(5)
		if took := time.Since(began); took > 13*time.Second {
			t.Errorf("the next turn was noticed after %s", took)
		}
	})
}

func TestF8_TurnEndingDuringTheResume(t *testing.T) {
	r := newRig(eventlog.HubOptions{})
	r.append(alice, "turn_started", "chunk")
	r.on(r.after, "attach", func() {
		r.on(r.after, "attach", nil)
		r.append(alice, "chunk", "turn_finished")
	})
	tl := r.join(t, alice, eventlog.Cursor{LastSeq: 1, Epoch: "E1"})
	tl.drain()
	tl.want("2 chunk", "3 chunk", "4 turn_finished")
	if tl.headers[0].Status != eventlog.StatusRunning || tl.headers[0].ReplayCount != 1 {
		t.Errorf("header %+v", tl.headers[0])
	}
}

func TestLive_HoleIsReadAndRepeatsAreDropped(t *testing.T) {
	r := newRig(eventlog.HubOptions{})
	r.append(alice, "turn_started")
	tl := r.join(t, alice, eventlog.Cursor{})
	tl.drain()
	var kept []string
	r.bus.setLose(func(p string) bool { kept = append(kept, p); return len(kept) <= 3 })
	r.chunks(alice, 5)
	tl.drain()
	for _, p := range kept { // late and repeated
		r.bus.publish("alice/t1", p)
	}
	r.hub.Committed(r.append(alice, "chunk"))
	tl.drain()
	tl.want("1 turn_started", "2 chunk", "3 chunk", "4 chunk", "5 chunk", "6 chunk", "7 chunk")
	if n := r.count("frames"); n != 1 {
		t.Errorf("%d range reads for one hole", n)
	}
}

func TestF20_OneHoleIsReadOnceForAllViewers(t *testing.T) {
	r := newRig(eventlog.HubOptions{})
	r.append(alice, "turn_started")
	var tails []*tail
	for range 1000 {
		tails = append(tails, r.join(t, alice, eventlog.Cursor{Live: true}))
	}
	r.bus.setLose(func(string) bool { return true })
	r.chunks(alice, 20)
	r.bus.setLose(nil)
	r.chunks(alice, 1)
	for _, tl := range tails {
		tl.drain()
		if len(tl.frames) != 21 {
			t.Fatalf("frames %v", tl.frames)
		}
	}
	if n := r.count("frames"); n != 1 || r.bus.subscriptions() != 1 {
		t.Errorf("%d reads and %d subscriptions for 1000 viewers", n, r.bus.subscriptions())
	}
}

func TestB14_TrimmedPastASlowViewer(t *testing.T) {
	r := newRig(eventlog.HubOptions{RingFrames: 4})
	r.append(alice, "turn_started")
	tl := r.join(t, alice, eventlog.Cursor{LastSeq: 0, Epoch: "E1"})
	tl.drain()
	r.chunks(alice, 50)
	r.trim(alice, 31)
	tl.drain()
	if len(tl.headers) != 2 || !tl.headers[1].ReplayIncomplete || tl.headers[1].FirstSeq != 31 || tl.headers[1].ReplayCount != 21 {
		t.Fatalf("headers %+v", tl.headers)
	}
	if len(tl.frames) != 21 || tl.last != 51 {
		t.Errorf("frames %v", tl.frames)
	}
	// The same with nothing left at all.
	r.chunks(alice, 10)
	r.change(alice, func(th *fakeThread) { th.frames = nil })
	tl.drain()
	if h := tl.headers[len(tl.headers)-1]; len(tl.headers) != 3 || !h.ReplayIncomplete || h.ReplayCount != 0 {
		t.Errorf("headers %+v", tl.headers[1:])
	}
	r.append(alice, "chunk")
	tl.drain()
	tl.want("62 chunk")
}

func TestEpoch_AnotherOneBringsANewHeaderToEveryViewer(t *testing.T) {
	for _, how := range []string{"live message", "own commit", "lost message"} {
		t.Run(how, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRig(eventlog.HubOptions{})
				defer r.run(t)()
				r.append(alice, "turn_started", "chunk", "chunk")
				one, two := r.join(t, alice, eventlog.Cursor{}), r.join(t, alice, eventlog.Cursor{LastSeq: 3, Epoch: "E1"})
				one.drain()
				r.change(alice, func(th *fakeThread) { th.snap.Epoch, th.snap.LastSeq = "E2", 65536 })
				r.bus.setLose(func(string) bool { return how != "live message" })
				c := r.append(alice, "turn_started", "chunk")
				if how == "own commit" {
					r.hub.Committed(c)
				}
				for _, tl := range []*tail{one, two} {
					tl.until(65538)
					tl.want("65537 turn_started", "65538 chunk")
					if len(tl.headers) != 2 || tl.headers[1].Epoch != "E2" || !tl.headers[1].ReplayIncomplete {
						t.Errorf("headers %+v", tl.headers)
					}
				}
			})
		})
	}
}

func TestEpoch_StaleMessageOfAnOlderOneChangesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(eventlog.HubOptions{})
		defer r.run(t)()
		r.append(alice, "turn_started", "chunk")
		tl := r.join(t, alice, eventlog.Cursor{})
		tl.drain()
		r.bus.publish("alice/t1", encodePayload(eventlog.Commit{Epoch: "E0", Ordinal: 1, TurnID: "x", FirstSeq: 3,
			Entries: []eventlog.Entry{{Type: "chunk", Frame: []byte(`{"type":"chunk"}`)}}}))
		synctest.Wait()
		r.append(alice, "chunk")
		tl.until(3)
		tl.want("1 turn_started", "2 chunk", "3 chunk")
		if len(tl.headers) != 1 {
			t.Errorf("headers %+v", tl.headers)
		}
	})
}

func TestDeletedThread_ViewersAreToldAndFollowTheNextLife(t *testing.T) {
	r := newRig(eventlog.HubOptions{})
	r.append(alice, "turn_started", "chunk")
	tl := r.join(t, alice, eventlog.Cursor{})
	tl.drain()
	r.change(alice, func(th *fakeThread) {
		th.frames, th.snap = nil, eventlog.Snapshot{Status: eventlog.StatusUnknown}
	})
	r.bus.publish("alice/t1", "d\n")
	tl.drain()
	if len(tl.headers) != 2 || tl.headers[1].Status != eventlog.StatusUnknown {
		t.Fatalf("headers %+v", tl.headers)
	}
	r.change(alice, func(th *fakeThread) { th.snap.Epoch = "E2" })
	r.append(alice, "turn_started", "chunk")
	tl.drain()
	tl.want("1 turn_started", "2 chunk")
}

func TestB15_ThreadsNeverMix(t *testing.T) {
	r := newRig(eventlog.HubOptions{})
	bob := eventlog.Thread{User: "alice", ID: "t2"}
	r.append(alice, "turn_started")
	r.append(bob, "turn_started", "chunk")
	one, two := r.join(t, alice, eventlog.Cursor{}), r.join(t, bob, eventlog.Cursor{LastSeq: 1})
	for range 10 {
		r.append(alice, "chunk")
		r.append(bob, "thought")
	}
	one.drain()
	two.drain()
	if one.last != 11 || two.last != 12 || two.frames[10] != "12 thought" || one.frames[10] != "11 chunk" {
		t.Errorf("one %v, two %v", one.frames, two.frames)
	}
}

func TestNext_ErrorsLeaveThePositionAlone(t *testing.T) {
	r := newRig(eventlog.HubOptions{RingFrames: 2})
	r.append(alice, "turn_started")
	tl := r.join(t, alice, eventlog.Cursor{})
	tl.drain()
	r.chunks(alice, 10)
	broken := errors.New("redis is away")
	for _, op := range []string{"frames"} {
		r.setFail(op, broken)
		if _, err := tl.v.Next(t.Context(), 100, 1<<20); !errors.Is(err, broken) {
			t.Errorf("%s: %v", op, err)
		}
		r.setFail(op, nil)
	}
	tl.drain()
	if tl.last != 11 || len(tl.frames) != 11 {
		t.Errorf("frames %v", tl.frames)
	}
}

// run runs the hub until the returned function is called.
func (r *rig) run(t *testing.T) (stop func()) {
	t.Helper()
	return background(t, r.hub.Run)
}
