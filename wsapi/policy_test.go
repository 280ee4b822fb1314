package wsapi_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/coder/websocket"

	"turnlog/wsapi"
)

// waiting is data of a message whose turn waits for an approval until it is ended.
const waiting = `"content":"go","demo":{"frames":1,"approval":{"tool_name":"x","at":1}}`

// active asks for the user's running turns and returns the thread's.
func (p *peer) active(thread string) map[string]any {
	p.t.Helper()
	p.send(`{"command":"list_chat_turns"}`)
	var found map[string]any
	for _, f := range p.until("list", func(f map[string]any) bool { return f["message"] == "Chat turns listed" }) {
		if f["type"] == "chat_turn_active" && f["thread_id"] == thread {
			found = f
		}
	}
	return found
}

// B25: each command that takes a policy raises the running turn's, in each spelling, from any node.
func TestB25_EveryCommandRaisesThePolicyInEverySpelling(t *testing.T) {
	a, b := pair(t)
	p, q := dial(t, a), dial(t, b)
	for i, command := range []string{"resume_chat", "follow", "set_policy"} {
		for j, spelling := range []string{`"on_disconnect":"preserve"`, `"preserve_running_on_disconnect":true`, `"on_disconnect":"grace","preserve_running_on_disconnect":true`} {
			thread := fmt.Sprintf("t%d%d", i, j)
			p.send(`{"command":"chat_message","data":{"thread_id":%q,%s,"close_on_disconnect":true}}`, thread, waiting)
			p.until("the approval", isType("tool_approval_request"))
			if got := p.active(thread)["on_disconnect"]; got != "cancel" {
				t.Fatalf("%s: it began as %v", thread, got)
			}
			q.send(`{"command":%q,"request_id":"r","data":{"thread_id":%q,"last_seq":0,%s}}`, command, thread, spelling)
			seen := q.until("the acknowledgement", func(f map[string]any) bool { return f["request_id"] == "r" })
			if command == "resume_chat" && seen[0]["on_disconnect"] != "preserve" {
				t.Errorf("%s %s: header %v", command, spelling, seen[0])
			}
			if got := p.active(thread)["on_disconnect"]; got != "preserve" {
				t.Errorf("%s %s: %v", command, spelling, got)
			}
			// Never lowered again, whoever asks.
			q.send(`{"command":%q,"request_id":"s","data":{"thread_id":%q,"close_on_disconnect":true}}`, command, thread)
			q.until("the acknowledgement", func(f map[string]any) bool { return f["request_id"] == "s" })
			if got := p.active(thread)["on_disconnect"]; got != "preserve" {
				t.Errorf("%s: lowered to %v", command, got)
			}
		}
	}
}

// B25: viewers of two nodes that raise at once, in any order, end at the strongest.
func TestB25_ViewersOfTwoNodesRaiseAtOnce(t *testing.T) {
	a, b := pair(t)
	p := dial(t, a)
	p.send(`{"command":"chat_message","data":{"thread_id":"t",%s,"on_disconnect":"cancel"}}`, waiting)
	p.until("the approval", isType("tool_approval_request"))
	var all sync.WaitGroup
	for i, policy := range []string{"preserve", "grace", "cancel", "grace"} {
		q := dial(t, []string{a, b}[i%2])
		all.Go(func() {
			q.send(`{"command":"resume_chat","request_id":"r","data":{"thread_id":"t","on_disconnect":%q}}`, policy)
			q.until("the acknowledgement", func(f map[string]any) bool { return f["request_id"] == "r" })
		})
	}
	all.Wait()
	if got := p.active("t")["on_disconnect"]; got != "preserve" {
		t.Errorf("it ended at %v", got)
	}
}

// B27: both older spellings together are refused by each command, and nothing changes.
func TestB27_CancelTogetherWithPreserveIsRefusedByEveryCommand(t *testing.T) {
	a, _ := pair(t)
	p := dial(t, a)
	for _, command := range []string{"chat_message", "resume_chat", "follow", "set_policy"} {
		for _, both := range []string{
			`"preserve_running_on_disconnect":true,"close_on_disconnect":true`,
			`"on_disconnect":"cancel","preserve_running_on_disconnect":true`,
			`"on_disconnect":"preserve","close_on_disconnect":true`,
		} {
			p.send(`{"command":%q,"data":{"thread_id":"t","content":"x",%s}}`, command, both)
			f := p.next()
			if f["error"] != "policy_conflict" || f["message"] != "cancel and preserve cannot be asked for together" {
				t.Errorf("%s with %s: %v", command, both, f)
			}
			if command == "chat_message" && p.next()["type"] != "error" {
				t.Errorf("%s with %s: no error frame", command, both)
			}
		}
	}
	if f := p.active("t"); f != nil {
		t.Errorf("a turn runs: %v", f)
	}
}

// B21: a turn whose last viewer left shows when its grace ends, until somebody is back.
func TestB21_TheGraceDeadlineIsShownWhileItRuns(t *testing.T) {
	a, b := pair(t)
	p, q := dial(t, a), dial(t, b)
	p.send(`{"command":"chat_message","data":{"thread_id":"t",%s}}`, waiting)
	p.until("the approval", isType("tool_approval_request"))
	if f := q.active("t"); f["detached"] != false || f["grace_deadline"] != nil || f["on_disconnect"] != "grace" {
		t.Errorf("watched: %v", f)
	}
	p.ws.CloseNow()
	var f map[string]any
	for deadline := time.Now().Add(patience); f["detached"] != true; f = q.active("t") {
		if time.Now().After(deadline) {
			t.Fatalf("not detached: %v", f)
		}
	}
	at, err := time.Parse(time.RFC3339, fmt.Sprint(f["grace_deadline"]))
	if err != nil || time.Until(at) < 8*time.Minute || time.Until(at) > 10*time.Minute {
		t.Errorf("grace_deadline %v, %v", f["grace_deadline"], err)
	}
	q.send(`{"command":"resume_chat","data":{"thread_id":"t"}}`)
	seen := q.until("the header", isType("chat_resumed"))
	if h := seen[len(seen)-1]; h["on_disconnect"] != "grace" || h["grace_deadline"] != nil {
		t.Errorf("header %v", h)
	}
	if f := q.active("t"); f["detached"] != false || f["grace_deadline"] != nil {
		t.Errorf("watched again: %v", f)
	}
}

// B26: what the handshake says about the client reaches the admission rules.
func TestB26_ClientOfTheHandshakeReachesAdmission(t *testing.T) {
	for query, want := range map[string]string{"": "", "?client=mobile-app": "mobile-app", "?client=" + strings.Repeat("x", 65): "", "?client=%ff": ""} {
		w := newWorld()
		_, url := serve(t, w, wsapi.Options{}, nil)
		p := dial(t, url+query)
		p.send(`{"command":"chat_message","data":{"thread_id":"t","content":"x"}}`)
		p.until("the acknowledgement", func(f map[string]any) bool { return f["message"] == "Chat message processing started" })
		w.mu.Lock()
		got := w.submits[0].Client
		w.mu.Unlock()
		if got != want {
			t.Errorf("%q: client %q, want %q", query, got, want)
		}
		p.ws.Close(websocket.StatusNormalClosure, "")
	}
}

// counted is what the server told its metrics.
type counted struct {
	mu  sync.Mutex
	all map[string]int
}

var _ wsapi.Metrics = (*counted)(nil)

func (c *counted) add(what string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.all[what]++
}

func (c *counted) Connected()            { c.add("connected") }
func (c *counted) Disconnected(code int) { c.add(fmt.Sprint("disconnected ", code)) }
func (c *counted) Sent(int, int)         {}
func (c *counted) Received(int)          {}
func (c *counted) Replayed(kind string)  { c.add("replayed " + kind) }
func (c *counted) Refused(code string)   { c.add("refused " + code) }

func TestMetricsTellReplaysAndRefusals(t *testing.T) {
	w, seen := newWorld(), &counted{all: map[string]int{}}
	_, url := serve(t, w, wsapi.Options{Metrics: seen}, nil)
	p := dial(t, url)
	p.send(`{"command":"resume_chat","data":{"thread_id":"never"}}`)
	p.until("the header", isType("chat_resumed"))
	p.send(`{"command":"follow","data":{"thread_id":"t","on_disconnect":"cancel","preserve_running_on_disconnect":true}}`)
	p.send(`{"command":"follow","data":{"thread_id":5}}`)
	p.until("the refusals", func(f map[string]any) bool { return f["error"] == "invalid_command" })
	seen.mu.Lock()
	defer seen.mu.Unlock()
	for _, want := range []string{"connected", "replayed unknown", "refused policy_conflict", "refused invalid_command"} {
		if seen.all[want] != 1 {
			t.Errorf("%s: %d times; %v", want, seen.all[want], seen.all)
		}
	}
}
