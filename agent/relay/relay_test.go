package relay_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"go.uber.org/goleak"

	"turnlog/agent"
	"turnlog/agent/agenttest"
	"turnlog/agent/relay"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// answers collects the lines that a relay passes to its agent.
type answers struct {
	mu    sync.Mutex
	lines []string
}

func (a *answers) take(_ context.Context, line []byte) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.lines = append(a.lines, string(line))
}

func newRelay(turn agent.Turn) (*relay.Relay, *answers) {
	a := &answers{}
	return relay.New(turn, "the program printed", a.take), a
}

func say(t *testing.T, r *relay.Relay, lines ...string) {
	t.Helper()
	for _, line := range lines {
		if taken, err := r.Object(t.Context(), []byte(line)); err != nil || !taken {
			t.Fatalf("%s: taken %t, %v", line, taken, err)
		}
	}
}

func TestObjectsBecomeFramesInTheirOrder(t *testing.T) {
	turn := agenttest.New(agent.Info{})
	r, _ := newRelay(turn)
	say(t, r, `{"type":"task_update","event":"x","n":1e400,"thread_id":"other"}`, `{"type":"chunk","content":"a "}`)
	if err := r.Say(t.Context(), []byte("b\xff")); err != nil {
		t.Fatal(err)
	}
	say(t, r, `{"type":"chunk","content":"hm","thinking":true}`, `{"type":"chunk","content":"{}","content_type":"json"}`,
		`{"type":"chunk","content":"c","content_type":"text"}`, `{"type":"message","role":"user","content":"not mine"}`)
	if err := r.Finish(t.Context()); err != nil {
		t.Fatal(err)
	}
	want := `[{"type":"task_update","event":"x","n":1e400} {"type":"chunk","content":"a "} {"type":"chunk","content":"b` + "\ufffd" + `"} ` +
		`{"type":"chunk","content":"hm","thinking":true} {"type":"chunk","content":"{}","content_type":"json"} ` +
		`{"type":"chunk","content":"c","content_type":"text"} {"type":"message","role":"user","content":"not mine"} ` +
		`{"type":"message","role":"assistant","content":"a b` + "\ufffd" + `c"}]`
	if got := fmt.Sprintf("%s", turn.Frames()); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

func TestAMessageOfItsOwnIsTheLastWord(t *testing.T) {
	for _, line := range []string{`{"type":"message","role":"assistant","content":"mine"}`, `{"type":"message","content":"mine"}`} {
		turn := agenttest.New(agent.Info{})
		r, _ := newRelay(turn)
		say(t, r, `{"type":"chunk","content":"a"}`, line)
		if err := r.Finish(t.Context()); err != nil || turn.Count() != 2 {
			t.Errorf("%s: %s, %v", line, turn.Frames(), err)
		}
	}
}

func TestWhatIsKeptAndNotShown(t *testing.T) {
	turn := agenttest.New(agent.Info{})
	r, _ := newRelay(turn)
	if r.State() != nil {
		t.Errorf("state %s before any", r.State())
	}
	say(t, r, `{"type":"checkpoint","state":{"n":1}}`, `{"type":"checkpoint","state":[2]}`, `{"type":"usage","usage":{"words":3}}`,
		`{"type":"usage"}`, `{"type":"protocol","version":1}`)
	if string(turn.State()) != "[2]" || string(r.State()) != "[2]" || string(turn.Usage()) != `{"words":3}` || turn.Count() != 0 {
		t.Errorf("state %s, usage %s, frames %s", turn.State(), turn.Usage(), turn.Frames())
	}
}

func TestWhatIsNoFrameIsRefusedOrText(t *testing.T) {
	for line, want := range map[string]string{
		`{"a":1}`: "", `[{"type":"x"}]`: "", `{"type":"x"`: "", `{"a":{"type":"x"}}`: "", `"type"`: "",
		`{"type":7}`:                         `the program printed an object whose "type" is 7;`,
		`{"type":"stop"}`:                    `a line of type "stop", which is one that it reads`,
		`{"type":"answer"}`:                  `a line of type "answer"`,
		`{"type":"turn_started"}`:            `a frame of type "turn_started", which only the runtime may emit`,
		`{"type":"checkpoint"}`:              `a checkpoint without "state"`,
		`{"type":"tool_call","args":{}}`:     `a tool_call without "name"`,
		`{"type":"tool_approval_request"}`:   `a tool_approval_request without "tool_name"`,
		`{"type":"protocol","version":1.5}`:  `whose "version" is 1.5;`,
		`{"type":"protocol","version":true}`: `whose "version" is true;`,
		`{"type":"protocol","version":0}`:    "speaks version 0 of the agent protocol, this node speaks version 1",
		`{"type":"protocol","version":[` + strings.Repeat("7,", 5000) + `7]}`: "version 7, 7, 7, 7, 7, 7, 7, 7 of",
	} {
		turn := agenttest.New(agent.Info{})
		r, _ := newRelay(turn)
		taken, err := r.Object(t.Context(), []byte(line))
		if taken != (want != "") || (err == nil) != (want == "") || (err != nil && !strings.Contains(err.Error(), want)) || turn.Count() != 0 {
			t.Errorf("%.60s: taken %t, %v", line, taken, err)
		}
	}
}

func TestB60_AnswersNameTheRefOfTheirRequest(t *testing.T) {
	turn := agenttest.New(agent.Info{})
	turn.Asking = func(_ context.Context, ask agent.Ask) (json.RawMessage, error) {
		if ask.Kind == agent.KindSecret {
			return nil, agent.ErrExpired
		}
		return json.RawMessage(`{"name":"` + ask.Name + `"}`), nil
	}
	for line, want := range map[string]string{
		`{"type":"tool_call","ref":{"a":[1]},"name":"f"}`:               `{"type":"answer","ref":{"a":[1]},"kind":"tool_call","request_id":"request-1","answer":{"name":"f"}}`,
		`{"type":"tool_call","tool_call_id":"own","name":"f"}`:          `{"type":"answer","ref":"own","kind":"tool_call","request_id":"request-1","answer":{"name":"f"}}`,
		`{"type":"tool_approval_request","ref":null,"tool_name":"g"}`:   `{"type":"answer","ref":null,"kind":"tool_approval","request_id":"request-1","answer":{"name":"g"}}`,
		`{"type":"plan_approval_request","plan":"p"}`:                   `{"type":"answer","kind":"plan_approval","request_id":"request-1","answer":{"name":""}}`,
		`{"type":"secret_request","approval_id":"x","ref":2,"key":"K"}`: `{"type":"answer","ref":2,"kind":"secret","request_id":"request-1","error":"expired"}`,
	} {
		asked := agenttest.New(agent.Info{})
		asked.Asking = turn.Asking
		r, got := newRelay(asked)
		say(t, r, line)
		r.Wait()
		if len(got.lines) != 1 || got.lines[0] != want+"\n" {
			t.Errorf("%s was answered with %q", line, got.lines)
		}
	}
}

func TestOpenRequestsAreBoundedAndEndWithTheTurn(t *testing.T) {
	turn := agenttest.New(agent.Info{})
	whys := make(chan error, 64)
	turn.Asking = func(ctx context.Context, _ agent.Ask) (json.RawMessage, error) {
		<-ctx.Done()
		whys <- context.Cause(ctx)
		return nil, context.Cause(ctx)
	}
	r, got := newRelay(turn)
	ctx, cancel := context.WithCancelCause(t.Context())
	defer cancel(nil)
	call := []byte(`{"type":"tool_call","name":"f"}`)
	for n := range 64 {
		if _, err := r.Object(ctx, call); err != nil {
			t.Fatalf("request %d: %v", n+1, err)
		}
	}
	if _, err := r.Object(ctx, call); err == nil || !strings.Contains(err.Error(), "more than 64 requests") {
		t.Errorf("one more: %v", err)
	}
	cancel(&agent.Ended{Outcome: "stopped"})
	r.Wait()
	if err := <-whys; !errors.Is(err, agent.ErrOver) || !errors.As(err, new(*agent.Ended)) {
		t.Errorf("the requests ended because of %v", err)
	}
	if len(got.lines) != 0 || len(turn.Asks()) != 64 {
		t.Errorf("asked %d times, answered %q", len(turn.Asks()), got.lines)
	}
}

func TestARefusedRequestFailsItsLine(t *testing.T) {
	boom := errors.New("boom")
	turn := agenttest.New(agent.Info{})
	refused := &refusing{Turn: turn, err: boom}
	r, _ := newRelay(refused)
	if _, err := r.Object(t.Context(), []byte(`{"type":"tool_call","name":"f"}`)); !errors.Is(err, boom) {
		t.Error(err)
	}
	r.Wait()
}

// refusing is a turn that takes no requests.
type refusing struct {
	agent.Turn
	err error
}

func (r *refusing) Ask(context.Context, agent.Ask) (agent.Answer, error) {
	return agent.Answer{}, r.err
}

func TestEmitErrorsAreTheTurns(t *testing.T) {
	turn := agenttest.New(agent.Info{FrameLimit: 100})
	r, _ := newRelay(turn)
	if _, err := r.Object(t.Context(), []byte(`{"type":"x","c":"`+strings.Repeat("a", 100)+`"}`)); !errors.Is(err, agent.ErrFrameTooLarge) {
		t.Error(err)
	}
	if n := r.MaxText(); n != 16 {
		t.Errorf("with small frames a piece of text may have %d bytes", n)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(&agent.Ended{Outcome: "stopped"})
	var ended *agent.Ended
	if err := r.Say(ctx, []byte("a")); !errors.As(err, &ended) {
		t.Error(err)
	}
}
