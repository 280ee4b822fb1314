package session_test

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"turnlog/agent"
	"turnlog/eventlog"
	"turnlog/session"
)

func TestB44_SameMessageIDSameTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log := newFakeLog()
		one := startNode(t, log, waiting(nil), session.Options{})
		two := startNode(t, log, waiting(nil), session.Options{})
		adm := one.submit("hi", id("m1"))
		settle()
		again := two.submit("hi", id("m1"), func(s *session.Submit) {
			// Other key order, white space and transport keys.
			s.Data = []byte(`{ "content":"hi", "on_disconnect":"grace", "thread_id":"t1", "role":"user"}`)
		})
		if again.Verdict != eventlog.VerdictDuplicate || again.TurnID != adm.TurnID || again.Status != eventlog.StatusRunning {
			t.Errorf("again: %+v", again)
		}
		settle()
		if two.RunningHere() != 0 {
			t.Error("the other node runs the turn too")
		}
		_, err := two.trySubmit("ho", id("m1"))
		wantCode(t, err, session.CodeConflict)
		_, err = two.trySubmit("hi", id("m1"), func(s *session.Submit) {
			s.Data = []byte(`{"thread_id":"t1","content":"hi","temperature":1.0}`)
		})
		wantCode(t, err, session.CodeConflict)
		if _, err := one.Stop(t.Context(), "alice", "t1", ""); err != nil {
			t.Fatal(err)
		}
		settle()
		again = two.submit("hi", id("m1"))
		if again.Verdict != eventlog.VerdictDuplicate || again.TurnID != adm.TurnID || again.Status != eventlog.StatusFinished {
			t.Errorf("after the end: %+v", again)
		}
		one.stop()
		two.stop()
	})
}

func TestB51_LostRepliesOfBegin(t *testing.T) {
	for _, after := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			log := newFakeLog()
			n := startNode(t, log, agentFunc(func(ctx context.Context, turn agent.Turn) error {
				return emit(ctx, turn, chunk("a"))
			}), session.Options{})
			log.fail("begin", 3, after)
			if adm := n.submit("hi", id("m1")); adm.Verdict != eventlog.VerdictStarted {
				t.Errorf("after=%t: %+v", after, adm)
			}
			settle()
			wantLog(t, log, thread, "turn_started", "chunk a", "chunk done", "turn_finished completed")
			n.stop()
		})
	}
}

func TestB51_LostRepliesWhileQueueingAndSuperseding(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log := newFakeLog()
		n := startNode(t, log, waiting(nil), session.Options{})
		n.submit("one")
		settle()
		log.fail("begin", 2, true)
		if adm := n.submit("two", busy(eventlog.OnBusyEnqueue)); adm.Verdict != eventlog.VerdictQueued || adm.Position != 1 {
			t.Errorf("queued: %+v", adm)
		}
		log.fail("begin", 2, true)
		log.fail("frames", 2, false)
		if adm := n.submit("three"); adm.Verdict != eventlog.VerdictStarted {
			t.Errorf("superseding: %+v", adm)
		}
		settle()
		if got := ends(log, thread); len(got) != 1 || got[0] != "superseded" {
			t.Errorf("ends %v", got)
		}
		n.stop()
	})
}

func TestB51_LostRepliesOfAppendInputAndFinish(t *testing.T) {
	for _, after := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			log := newFakeLog()
			n := startNode(t, log, agentFunc(func(ctx context.Context, turn agent.Turn) error {
				a, err := turn.Ask(ctx, agent.Ask{Kind: agent.KindToolCall, Name: "f"})
				if err != nil {
					return err
				}
				return emit(ctx, turn, chunk(string(a.Payload)))
			}), session.Options{})
			log.fail("append", 2, after)
			n.submit("hi")
			for len(log.frames(thread)) < 2 {
				time.Sleep(10 * time.Millisecond)
			}
			for _, method := range []string{"find_request", "input", "inputs", "append", "finish", "poll"} {
				log.fail(method, 2, after)
			}
			req := openRequest(t, log, thread)
			if err := n.Answer(t.Context(), "alice", session.Answer{RequestID: req, Payload: []byte(`{"ok":true}`)}); err != nil {
				t.Fatal(err)
			}
			time.Sleep(10 * time.Second)
			settle()
			wantLog(t, log, thread, "turn_started", "tool_call", "request_closed answered", `chunk {"ok":true}`, "chunk done", "turn_finished completed")
			n.stop()
		})
	}
}

func TestUnavailableIsRefusedAfterTheBudget(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log := newFakeLog()
		n := startNode(t, log, waiting(nil), session.Options{AdmitBudget: 2 * time.Second})
		log.setDown(true)
		_, err := n.trySubmit("hi")
		wantCode(t, err, session.CodeUnavailable)
		_, err = n.Stop(t.Context(), "alice", "t1", "")
		wantCode(t, err, session.CodeUnavailable)
		wantCode(t, n.Answer(t.Context(), "alice", session.Answer{RequestID: "r"}), session.CodeUnavailable)
		log.setDown(false)
		n.stop()
	})
}

func TestOutageBeyondTheBudgetFailsTheTurnOnceRedisIsBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log := newFakeLog()
		log.outage = 5 * time.Second
		proceed := make(chan struct{})
		n := startNode(t, log, agentFunc(func(ctx context.Context, turn agent.Turn) error {
			_ = emit(ctx, turn, chunk("a"))
			<-proceed
			return emit(ctx, turn, chunk("b"))
		}), session.Options{})
		n.submit("hi")
		settle()
		log.setDown(true)
		close(proceed)
		time.Sleep(30 * time.Second)
		log.setDown(false)
		time.Sleep(5 * time.Second)
		settle()
		wantLog(t, log, thread, "turn_started", "chunk a", "message a failed assistant", "error", "chunk done", "turn_finished failed")
		n.stop()
	})
}

func TestShortOutageKillsNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log := newFakeLog()
		proceed := make(chan struct{})
		n := startNode(t, log, agentFunc(func(ctx context.Context, turn agent.Turn) error {
			_ = emit(ctx, turn, chunk("a"))
			<-proceed
			return emit(ctx, turn, chunk("b"), chunk("c"))
		}), session.Options{})
		n.submit("hi")
		settle()
		log.setDown(true)
		close(proceed)
		time.Sleep(40 * time.Second)
		log.setDown(false)
		time.Sleep(5 * time.Second)
		settle()
		wantLog(t, log, thread, "turn_started", "chunk a", "chunk b", "chunk c", "chunk done", "turn_finished completed")
		n.stop()
	})
}

func TestInvalidSubmissions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log := newFakeLog()
		n := startNode(t, log, waiting(nil), session.Options{})
		deep := strings.Repeat("[", 600) + strings.Repeat("]", 600)
		for name, data := range map[string]string{
			"not an object": `[]`, "not JSON": `{`, "no content": `{"thread_id":"t1"}`, "null content": `{"content":null}`,
			"role": `{"content":"x","role":7}`, "too deep": `{"content":` + deep + `}`,
		} {
			_, err := n.trySubmit("", func(s *session.Submit) { s.Data = []byte(data) })
			if err == nil {
				t.Errorf("%s was accepted", name)
				continue
			}
			wantCode(t, err, session.CodeInvalid)
		}
		_, err := n.trySubmit("x", func(s *session.Submit) { s.Agent = "nobody" })
		wantCode(t, err, session.CodeUnknownAgent)
		if c := log.called("begin"); c != 0 {
			t.Errorf("the log was asked %d times", c)
		}
		n.stop()
	})
}
