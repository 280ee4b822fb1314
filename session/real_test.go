package session_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"turnlog/agent"
	"turnlog/eventlog"
	"turnlog/frame"
	"turnlog/internal/redistest"
	"turnlog/session"
)

// patience bounds every wait of the tests on a real log.
const patience = 15 * time.Second

// onRedis runs a test against the real event log, on miniredis and on redis-server.
func onRedis(t *testing.T, run func(t *testing.T, addr string)) {
	t.Run("miniredis", func(t *testing.T) {
		addr, _ := redistest.Mini(t)
		run(t, addr)
	})
	t.Run("redis-server", func(t *testing.T) { run(t, redistest.Start(t)) })
}

// realNode is a Service on the real event log, with its wake-ups.
type realNode struct {
	*session.Service
	t    *testing.T
	log  *eventlog.Log
	feed *feed
	kill context.CancelFunc
}

func startReal(t *testing.T, addr string, ag agent.Agent, opts session.Options) *realNode {
	t.Helper()
	return startLeased(t, addr, ag, 10*time.Second, opts)
}

func startLeased(t *testing.T, addr string, ag agent.Agent, lease time.Duration, opts session.Options) *realNode {
	t.Helper()
	rdb := redis.NewClient(&redis.Options{Addr: addr})
	log, err := eventlog.Open(t.Context(), rdb, eventlog.Options{NodeLease: lease})
	if err != nil {
		t.Fatal(err)
	}
	n := &realNode{t: t, log: log, feed: &feed{}}
	n.Service, err = session.New(session.On(log), n.feed, map[string]agent.Agent{"a": ag}, opts)
	if err != nil {
		t.Fatal(err)
	}
	bus := eventlog.NewBus(rdb, n.Node(), eventlog.BusOptions{})
	bus.OnWake(n.Wake)
	ctx, cancel := context.WithCancel(context.Background())
	n.kill = cancel
	var running sync.WaitGroup
	running.Go(func() { _ = bus.Run(ctx) })
	running.Go(func() { _ = n.Run(ctx) })
	t.Cleanup(func() {
		cancel()
		running.Wait()
		_ = log.Close()
		_ = rdb.Close()
	})
	await(t, "the lease", func() bool {
		select {
		case <-n.Ready():
			return true
		default:
			return false
		}
	})
	return n
}

// await polls until a condition holds.
func await(t *testing.T, what string, holds func() bool) {
	t.Helper()
	deadline := time.NewTimer(patience)
	defer deadline.Stop()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for !holds() {
		select {
		case <-tick.C:
		case <-deadline.C:
			t.Fatalf("waited in vain for %s", what)
		}
	}
}

func (n *realNode) submit(text string, change ...func(*session.Submit)) eventlog.Admission {
	n.t.Helper()
	s := session.Submit{Thread: thread, Headless: true, Data: fmt.Appendf(nil, `{"thread_id":"t1","content":%q}`, text)}
	for _, c := range change {
		c(&s)
	}
	adm, err := n.Submit(n.t.Context(), s)
	if err != nil {
		n.t.Fatalf("submit %q: %v", text, err)
	}
	return adm
}

func (n *realNode) frames() []eventlog.StoredFrame {
	n.t.Helper()
	frames, err := n.log.Frames(n.t.Context(), thread, 0, 0, 1000, 0)
	if err != nil {
		n.t.Fatal(err)
	}
	return frames
}

// shape lists the thread's frames: type, outcome, reason.
func (n *realNode) shape() string {
	var out []string
	for _, f := range n.frames() {
		s := f.Type
		for _, key := range []string{"outcome", "reason"} {
			if v, ok := frame.String(f.Frame, key); ok {
				s += ":" + v
			}
		}
		if f.Type == "chunk" {
			v, _ := frame.String(f.Frame, "content")
			s += ":" + v
		}
		out = append(out, s)
	}
	return strings.Join(out, " ")
}

func (n *realNode) wantShape(want string) {
	n.t.Helper()
	await(n.t, want, func() bool { return n.shape() == want })
}

func (n *realNode) openRequest() string {
	n.t.Helper()
	var id string
	await(n.t, "a request", func() bool {
		for _, f := range slices.Backward(n.frames()) {
			if v, ok := frame.String(f.Frame, "tool_call_id"); ok && f.Type == "tool_call" {
				id = v
				return true
			}
		}
		return false
	})
	return id
}

func TestB40_B44_RealLog(t *testing.T) {
	onRedis(t, func(t *testing.T, addr string) {
		ag := agentFunc(func(ctx context.Context, turn agent.Turn) error {
			history, err := turn.History(ctx, 10)
			if err != nil {
				return err
			}
			return emit(ctx, turn, chunk(fmt.Sprint("h", len(history))), `{"type":"message","role":"assistant","content":"x"}`)
		})
		one, two := startReal(t, addr, ag, session.Options{}), startReal(t, addr, ag, session.Options{})
		adm := one.submit("hi", id("m1"))
		first := "turn_started chunk:h0 message chunk: turn_finished:completed"
		one.wantShape(first)
		if again := two.submit("hi", id("m1")); again.Verdict != eventlog.VerdictDuplicate || again.TurnID != adm.TurnID {
			t.Errorf("again: %+v", again)
		}
		_, err := two.Submit(t.Context(), session.Submit{Thread: thread, ID: "m1", Headless: true, Data: []byte(`{"content":"other"}`)})
		wantCode(t, err, session.CodeConflict)
		two.submit("more")
		two.wantShape(first + " turn_started chunk:h2 message chunk: turn_finished:completed")
		await(t, "the feed", func() bool { return len(one.feed.types()) == 5 && len(two.feed.types()) == 5 })
	})
}

func TestB41_B42_RealLog(t *testing.T) {
	onRedis(t, func(t *testing.T, addr string) {
		causes := make(chan error, 4)
		one, two := startReal(t, addr, waiting(causes), session.Options{}), startReal(t, addr, waiting(causes), session.Options{})
		one.submit("first")
		one.wantShape("turn_started chunk:word")
		two.submit("second")
		wantCause(t, causes, eventlog.OutcomeSuperseded)
		superseded := "turn_started chunk:word message:superseded turn_finished:superseded turn_started chunk:word"
		one.wantShape(superseded)
		two.submit("third", busy(eventlog.OnBusyEnqueue))
		res, err := one.Stop(t.Context(), "alice", "t1", "")
		if err != nil || !res.Stopped || len(res.Dropped) != 1 {
			t.Errorf("stop: %+v, %v", res, err)
		}
		wantCause(t, causes, eventlog.OutcomeStopped)
		one.wantShape(superseded + " message:stopped generation_stopped chunk: turn_finished:stopped")
		if _, err := one.Stop(t.Context(), "alice", "t1", ""); err != nil {
			t.Error(err)
		}
	})
}

func TestB60_B62_B64_B65_RealLog(t *testing.T) {
	onRedis(t, func(t *testing.T, addr string) {
		ag := agentFunc(func(ctx context.Context, turn agent.Turn) error {
			a, err := turn.Ask(ctx, agent.Ask{Kind: agent.KindToolCall, Name: "f"})
			if err != nil {
				return err
			}
			go func() { _, _ = turn.Ask(ctx, agent.Ask{Kind: agent.KindToolCall, Name: "g"}) }()
			in := <-turn.Inputs()
			return emit(ctx, turn, chunk(string(a.Payload)+text(in.Message)))
		})
		one, two := startReal(t, addr, ag, session.Options{}), startReal(t, addr, ag, session.Options{})
		one.submit("go")
		req := one.openRequest()
		if err := two.Answer(t.Context(), "mallory", session.Answer{RequestID: req, Payload: []byte(`"m"`)}); err != nil {
			t.Error(err)
		}
		var answers sync.WaitGroup
		for _, n := range []*realNode{one, two} {
			answers.Go(func() {
				if err := n.Answer(t.Context(), "alice", session.Answer{RequestID: req, Payload: []byte(`{"ok":true}`)}); err != nil {
					t.Error(err)
				}
			})
		}
		answers.Wait()
		one.wantShape("turn_started tool_call request_closed:answered tool_call")
		if res, err := two.Steer(t.Context(), session.Steer{Thread: thread, Data: []byte(`{"content":"!"}`)}); err != nil || !res.Delivered {
			t.Errorf("steer: %+v, %v", res, err)
		}
		one.wantShape(`turn_started tool_call request_closed:answered tool_call chunk:{"ok":true}! request_closed:turn_ended chunk: turn_finished:completed`)
	})
}

func TestB47_B23_RealLog(t *testing.T) {
	onRedis(t, func(t *testing.T, addr string) {
		release := make(chan struct{})
		causes := make(chan error, 1)
		ag := agentFunc(func(ctx context.Context, turn agent.Turn) error {
			if text(turn.Info().Message) == "wait" {
				return waiting(causes)(ctx, turn)
			}
			select {
			case <-release:
			case <-ctx.Done():
				return context.Cause(ctx)
			}
			return emit(ctx, turn, chunk(text(turn.Info().Message)))
		})
		n := startReal(t, addr, ag, session.Options{})
		n.submit("go")
		for range 2 {
			if _, err := n.Steer(t.Context(), session.Steer{Thread: thread, ID: "s1", Headless: true, Data: []byte(`{"content":"late"}`)}); err != nil {
				t.Fatal(err)
			}
		}
		close(release)
		done := "turn_started chunk:go chunk: turn_finished:completed turn_started chunk:late chunk: turn_finished:completed"
		n.wantShape(done)

		n.submit("wait", func(s *session.Submit) { s.Policy, s.Headless, s.Generation = eventlog.PolicyCancel, false, 1 })
		n.wantShape(done + " turn_started chunk:word")
		res, err := n.log.Detach(t.Context(), thread, n.Node(), 2, false)
		if err != nil || !res.Ending {
			t.Fatalf("detach: %+v, %v", res, err)
		}
		n.Detached(t.Context(), thread, res)
		wantCause(t, causes, eventlog.OutcomeDetached)
		n.wantShape(done + " turn_started chunk:word message:detached chunk: turn_finished:detached")
	})
}

func TestB45_B48_RealLog(t *testing.T) {
	onRedis(t, func(t *testing.T, addr string) {
		ag := agentFunc(func(ctx context.Context, turn agent.Turn) error {
			if err := emit(ctx, turn, chunk("a")); err != nil {
				return err
			}
			return errors.New("no luck")
		})
		n := startReal(t, addr, ag, session.Options{Quota: 1})
		for i := range 3 { // a failed turn frees its place
			adm := n.submit("go", onThread(fmt.Sprint("t", i)))
			if adm.Verdict != eventlog.VerdictStarted {
				t.Errorf("admission %+v", adm)
			}
			await(t, "the end", func() bool { return n.RunningHere() == 0 })
		}
		n.wantShape("turn_started chunk:a message:failed error chunk: turn_finished:failed")
	})
}

func TestB81_B90_RealLog(t *testing.T) {
	onRedis(t, func(t *testing.T, addr string) {
		causes := make(chan error, 1)
		ag := restartable{func(ctx context.Context, turn agent.Turn) error {
			if info := turn.Info(); info.Attempt > 1 {
				return emit(ctx, turn, chunk(fmt.Sprintf("%d from %s after %d", info.Attempt, info.Checkpoint, len(info.Emitted))))
			}
			if err := turn.Checkpoint(ctx, []byte("here")); err != nil {
				return err
			}
			return waiting(causes)(ctx, turn)
		}}
		// The first node never renews its lease, so that it can be declared dead.
		lease := 200 * time.Millisecond
		one := startLeased(t, addr, ag, lease, session.Options{Attempts: 2, Heartbeat: time.Hour})
		two := startLeased(t, addr, ag, lease, session.Options{Attempts: 2, Heartbeat: lease / 10})
		one.submit("go")
		two.wantShape("turn_started chunk:word")
		dead := one.Node()
		await(t, "the death of the first node", func() bool {
			gone, err := two.log.DeclareDead(t.Context(), dead)
			return err == nil && gone
		})
		if _, err := two.log.Bury(t.Context(), dead); err != nil {
			t.Fatal(err)
		}
		two.wantShape("turn_started chunk:word turn_started chunk:2 from here after 2 chunk: turn_finished:completed")
		if _, err := one.Stop(t.Context(), "alice", "t1", ""); err != nil {
			t.Error(err)
		}
	})
}
