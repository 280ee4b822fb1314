package session_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"go.uber.org/goleak"

	"turnlog/agent"
	"turnlog/eventlog"
	"turnlog/internal/redistest"
	"turnlog/session"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m, goleak.Cleanup(func(code int) {
		redistest.Stop()
		os.Exit(code)
	}))
}

var thread = eventlog.Thread{User: "alice", ID: "t1"}

// agentFunc is an agent in a function.
type agentFunc func(ctx context.Context, turn agent.Turn) error

func (f agentFunc) Run(ctx context.Context, turn agent.Turn) error { return f(ctx, turn) }

// feed remembers what it was fed.
type feed struct {
	mu      sync.Mutex
	commits []eventlog.Commit
}

func (f *feed) Committed(c eventlog.Commit) {
	f.mu.Lock()
	defer f.mu.Unlock()
	c.Entries = slices.Clone(c.Entries)
	f.commits = append(f.commits, c)
}

func (f *feed) types() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	var out []string
	for _, c := range f.commits {
		for _, e := range c.Entries {
			out = append(out, e.Type)
		}
	}
	return out
}

// node is a running Service on a fake log.
type node struct {
	*session.Service
	t    *testing.T
	log  *fakeLog
	feed *feed
	end  context.CancelFunc
	done chan struct{}
}

// startNode runs a Service in the synctest bubble of the test.
func startNode(t *testing.T, log *fakeLog, ag agent.Agent, opts session.Options) *node {
	t.Helper()
	return startAgents(t, log, map[string]agent.Agent{"a": ag}, opts)
}

func startAgents(t *testing.T, log *fakeLog, agents map[string]agent.Agent, opts session.Options) *node {
	t.Helper()
	f := &feed{}
	svc, err := session.New(log, f, agents, opts)
	if err != nil {
		t.Fatal(err)
	}
	log.mu.Lock()
	before := log.wake
	log.wake = func() {
		if before != nil {
			before()
		}
		svc.Wake(-1)
	}
	log.mu.Unlock()
	ctx, end := context.WithCancel(t.Context())
	n := &node{Service: svc, t: t, log: log, feed: f, end: end, done: make(chan struct{})}
	go func() {
		defer close(n.done)
		if err := svc.Run(ctx); err != nil {
			t.Error(err)
		}
	}()
	<-svc.Ready()
	return n
}

// stop ends the node and waits for it.
func (n *node) stop() {
	n.end()
	<-n.done
}

// submit starts a turn that says text.
func (n *node) submit(text string, change ...func(*session.Submit)) eventlog.Admission {
	n.t.Helper()
	adm, err := n.trySubmit(text, change...)
	if err != nil {
		n.t.Fatalf("submit %q: %v", text, err)
	}
	return adm
}

func (n *node) trySubmit(text string, change ...func(*session.Submit)) (eventlog.Admission, error) {
	s := session.Submit{Thread: thread, Data: fmt.Appendf(nil, `{"thread_id":"t1","content":%q}`, text)}
	for _, c := range change {
		c(&s)
	}
	return n.Submit(n.t.Context(), s)
}

func id(s string) func(*session.Submit) { return func(x *session.Submit) { x.ID = s } }
func busy(o eventlog.OnBusy) func(*session.Submit) {
	return func(x *session.Submit) { x.OnBusy = o }
}
func onThread(name string) func(*session.Submit) {
	return func(x *session.Submit) { x.Thread.ID = name }
}

func wantCode(t *testing.T, err error, code string) {
	t.Helper()
	var r *session.Refusal
	if !errors.As(err, &r) || r.Code != code {
		t.Errorf("got %v, want a refusal %q", err, code)
	}
}

func wantLog(t *testing.T, log *fakeLog, name eventlog.Thread, want ...string) {
	t.Helper()
	if got := log.brief(name); !slices.Equal(got, want) {
		t.Errorf("the log holds\n  %s\nwant\n  %s", strings.Join(got, "\n  "), strings.Join(want, "\n  "))
	}
}

// ends counts the terminal frames of the thread's log by outcome.
func ends(log *fakeLog, name eventlog.Thread) (out []string) {
	for _, s := range log.brief(name) {
		if o, ok := strings.CutPrefix(s, "turn_finished "); ok {
			out = append(out, o)
		}
	}
	return out
}

// text is what a message row of the thread says.
func text(m json.RawMessage) string {
	var row struct{ Content string }
	_ = json.Unmarshal(m, &row)
	return row.Content
}

func emit(ctx context.Context, t agent.Turn, frames ...string) error {
	for _, f := range frames {
		if err := t.Emit(ctx, []byte(f)); err != nil {
			return err
		}
	}
	return nil
}

func chunk(s string) string { return fmt.Sprintf(`{"type":"chunk","content":%q}`, s) }

// waiting says one word and waits for its end; it reports the cause.
func waiting(causes chan<- error) agentFunc {
	return func(ctx context.Context, t agent.Turn) error {
		if err := emit(ctx, t, chunk("word")); err != nil {
			return err
		}
		<-ctx.Done()
		if causes != nil {
			causes <- context.Cause(ctx)
		}
		return context.Cause(ctx)
	}
}

func wantCause(t *testing.T, causes <-chan error, outcome eventlog.Outcome) {
	t.Helper()
	var ended *agent.Ended
	if err := <-causes; !errors.As(err, &ended) || ended.Outcome != string(outcome) {
		t.Errorf("the agent saw %v, want %s", err, outcome)
	}
}

func settle() { synctest.Wait() }
