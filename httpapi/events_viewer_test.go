package httpapi_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"turnlog/embedded"
	"turnlog/eventlog"
	"turnlog/identity"
	"turnlog/limit"
)

const endless = `{"frames":100000,"interval_ms":5}`

func TestB21_TheLastStreamGoneStartsTheGraceAndOneInTimeEndsIt(t *testing.T) {
	o := quick()
	o.Log.Grace = 1500 * time.Millisecond
	nodes := eventNodes(t, 2, o)
	s := nodes[1].open(t, "t", "follow=thread", "")
	s.headed()
	nodes[0].say(t, "t", endless, policy(eventlog.PolicyGrace))
	s.until("chunk")
	if look := nodes[0].looked(t, "t"); !look.GraceDeadline.IsZero() {
		t.Fatalf("watched by a stream, and a grace runs: %v", look.GraceDeadline)
	}
	s.close()
	eventually(t, "grace", func() bool { return !nodes[0].looked(t, "t").GraceDeadline.IsZero() })
	back := nodes[0].open(t, "t", "", s.r.LastEventID)
	back.headed()
	if look := nodes[0].looked(t, "t"); !look.GraceDeadline.IsZero() || look.Status != eventlog.StatusRunning {
		t.Fatalf("somebody is back: %+v", look)
	}
	back.until("chunk")
	back.close()
	left := time.Now()
	eventually(t, "end", func() bool { return nodes[0].looked(t, "t").Status == eventlog.StatusFinished })
	if look := nodes[0].looked(t, "t"); look.Outcome != eventlog.OutcomeDetached || time.Since(left) < time.Second {
		t.Fatalf("%s after %v", look.Outcome, time.Since(left))
	}
}

func TestB22_ALeavingStreamEndsACancelTurnAtOnceButADrainGivesItTheWindow(t *testing.T) {
	o := quick()
	o.Log.ReconnectWindow = 20 * time.Second
	nodes := eventNodes(t, 2, o)
	s := nodes[0].open(t, "t", "follow=thread", "")
	s.headed()
	nodes[1].say(t, "t", endless, policy(eventlog.PolicyCancel))
	s.until("chunk")
	s.close()
	eventually(t, "end", func() bool { return nodes[1].looked(t, "t").Status == eventlog.StatusFinished })

	s = nodes[0].open(t, "u", "follow=thread", "")
	s.headed()
	nodes[1].say(t, "u", endless, policy(eventlog.PolicyCancel))
	s.until("chunk")
	go nodes[0].drain()
	s.until("restart")
	eventually(t, "detached", func() bool { return !nodes[1].looked(t, "u").GraceDeadline.IsZero() })
	back := nodes[1].open(t, "u", "", s.r.LastEventID)
	if h := back.headed(); h["status"] != "running" {
		t.Fatalf("header %v", h)
	}
	back.until("chunk")
}

func TestB24_APreservedTurnGoesOnWithoutStreams(t *testing.T) {
	o := quick()
	o.Log.Grace = time.Second
	n := eventNodes(t, 1, o)[0]
	n.say(t, "t", `{"frames":400,"interval_ms":10}`, policy(eventlog.PolicyGrace))
	s := n.open(t, "t", "on_disconnect=preserve", "")
	if h := s.headed(); h["on_disconnect"] != "preserve" {
		t.Fatalf("header %v", h)
	}
	s.until("chunk")
	s.close()
	eventually(t, "end", func() bool { return n.looked(t, "t").Status == eventlog.StatusFinished })
	if look := n.looked(t, "t"); look.Outcome != eventlog.OutcomeCompleted {
		t.Fatalf("ended %s", look.Outcome)
	}
}

// calling asks for a tool before its second chunk.
const calling = `{"frames":3,"tool_call":{"name":"look","args":{"a":1},"at":2}}`

func TestB66_AToolCallRunsInOneViewerOverStreamsAndSockets(t *testing.T) {
	nodes := eventNodes(t, 2, quick())
	target := nodes[0].open(t, "t", "follow=thread&tools=look,walk", "")
	target.headed()
	nodes[1].say(t, "t", calling, from(target.conn))
	other := nodes[1].open(t, "t", "tools=look", "")
	unfit := nodes[1].open(t, "t", "tools=walk", "")
	watcher := nodes[0].open(t, "t", "", "")
	w := nodes[1].socket(t) // resumed, so it may run tools
	w.send(`{"command":"resume_chat","data":{"thread_id":"t"}}`)

	got := target.until("tool_call")
	call := got[len(got)-1]
	id := call["tool_call_id"]
	for _, s := range []*sse{other, unfit, watcher} {
		all := s.until("request_open")
		if f := all[len(all)-1]; f["request_id"] != id || f["kind"] != "tool_call" || f["name"] != "look" || f["chat_seq"] != call["chat_seq"] {
			t.Fatalf("others see %v, the call is %v", f, call)
		}
	}
	if _, f := w.until("request_open"); f["request_id"] != id {
		t.Fatalf("the socket sees %v", f)
	}
	w.send(`{"command":"unfollow","data":{"thread_id":"t"}}`)
	for ack := map[string]any(nil); ack["message"] != "Unfollowed"; {
		_, ack = w.until("")
	}
	target.close()
	e, f := other.next()
	if e.ID || f["type"] != "tool_call" || f["tool_call_id"] != id || f["replayed"] != true || f["chat_seq"] != nil {
		t.Fatalf("who fits next got %+v", e)
	}
	w.send(`{"command":"resume_chat","data":{"thread_id":"t"}}`)
	w.until("request_open")
	other.close() // from a stream to a socket
	_, again := w.until("tool_call")
	if again["tool_call_id"] != id || again["replayed"] != true {
		t.Fatalf("the socket got %v", again)
	}
	w.ws.CloseNow() // and back to a stream that comes now
	late := nodes[0].open(t, "t", "tools=*", got[0]["turn_id"].(string)+":1")
	late.until("tool_call")
	sender := nodes[1].socket(t)
	sender.send(`{"type":"tool_result","tool_call_id":%q,"ok":true,"result":{"n":1}}`, id)
	for _, s := range []*sse{late, unfit, watcher} {
		if said := text(s.until("turn_finished")); !strings.Contains(said, `answer:{"ok":true,"result":{"n":1}}`) {
			t.Fatalf("the agent said %q", said)
		}
		s.ends("end")
	}
	// A reload never runs the tool twice.
	reload := nodes[0].open(t, "t", "tools=*&full=1", "")
	for _, f := range reload.until("turn_finished") {
		if f["type"] == "tool_call" {
			t.Fatalf("called again: %v", f)
		}
	}
}

func TestHeartbeatsAreEvents(t *testing.T) {
	o := quick()
	o.API.Events.PingEvery = 20 * time.Millisecond
	n := eventNodes(t, 1, o)[0]
	s := n.open(t, "t", "follow=thread", "")
	s.headed()
	for range 5 {
		e, f, err := s.read()
		if err != nil || e.Type != "ping" || e.ID || f["type"] != "ping" || f["ts"].(float64) < 1e12 {
			t.Fatalf("%+v, %v", e, err)
		}
	}
}

func TestADrainEndsStreamsIdleOnesFirstAndSendsNewOnesAway(t *testing.T) {
	o := quick()
	o.Drain = embedded.Drain{Timeout: 3 * time.Second, CloseSpread: 500 * time.Millisecond}
	nodes := eventNodes(t, 2, o)
	n := nodes[0]
	nodes[1].say(t, "busy", endless)
	busy := n.open(t, "busy", "", "")
	busy.until("chunk")
	var idle []*sse
	for i := range 3 {
		s := n.open(t, fmt.Sprint("idle", i), "follow=thread", "")
		s.headed()
		idle = append(idle, s)
	}
	go n.drain()
	for _, s := range idle {
		s.ends("restart")
		if s.r.Retry > 500*time.Millisecond {
			t.Fatalf("retry %v", s.r.Retry)
		}
	}
	busy.until("restart")
	if _, _, err := busy.read(); !errors.Is(err, io.EOF) {
		t.Fatalf("after restart: %v", err)
	}
	eventually(t, "no streams", func() bool { return n.API().Streams() == 0 })
	resp := get(t, http.DefaultClient, n.url+"/v1/threads/busy/events", "")
	if resp.StatusCode != http.StatusServiceUnavailable || resp.Header.Get("Retry-After") == "" {
		t.Fatalf("%s %v", resp.Status, resp.Header)
	}
	// A browser would give up on that.
	req, _ := http.NewRequestWithContext(t.Context(), "GET", n.url+"/v1/threads/busy/events", nil)
	req.Header.Set("Accept", "text/event-stream")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if b, _ := io.ReadAll(resp.Body); resp.StatusCode != 200 || !strings.Contains(string(b), "event: restart\n") || !strings.HasPrefix(string(b), "retry: ") {
		t.Fatalf("%s %q", resp.Status, b)
	}
	rest := nodes[1].open(t, "busy", "", busy.r.LastEventID)
	if h := rest.headed(); h["replay_incomplete"] != false {
		t.Fatalf("header %v", h)
	}
	rest.until("chunk")
}

func TestAClientThatTakesNothingIsCutAndLeaves(t *testing.T) {
	for _, protocol := range []string{"HTTP/1.1", "HTTP/2"} {
		t.Run(protocol, func(t *testing.T) {
			o := quick()
			o.API.Events.StallLimit = 500 * time.Millisecond
			n := eventNodes(t, 1, o)[0]
			s := opened(t, get(t, speaking(t, protocol), n.url+"/v1/threads/t/events?follow=thread", ""), "")
			s.headed()
			n.say(t, "t", `{"frames":6000,"bytes":4000}`)
			eventually(t, "the stream is cut", func() bool {
				viewers, _ := n.Hub().Viewers()
				return n.API().Streams() == 0 && viewers == 0
			})
			for err := error(nil); err == nil; {
				_, _, err = s.read()
			}
			_, seq, _ := strings.Cut(s.r.LastEventID, ":")
			if n.open(t, "t", "", s.r.LastEventID).headed()["status"] == "unknown" || seq == "" || seq == "6003" {
				t.Fatalf("cut after %q", s.r.LastEventID)
			}
		})
	}
}

// speaking is a client of one version of HTTP.
func speaking(t *testing.T, protocol string) *http.Client {
	t.Helper()
	versions := new(http.Protocols)
	versions.SetHTTP1(protocol == "HTTP/1.1")
	versions.SetUnencryptedHTTP2(protocol == "HTTP/2")
	transport := &http.Transport{Protocols: versions, DisableCompression: true}
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport}
}

func TestStreamsOverHTTP2OutliveTheStallLimitWhileNothingHappens(t *testing.T) {
	o := quick()
	o.API.Events.StallLimit = 50 * time.Millisecond
	o.API.Events.PingEvery = 200 * time.Millisecond
	n := eventNodes(t, 1, o)[0]
	client := speaking(t, "HTTP/2")
	resp := get(t, client, n.url+"/v1/threads/t/events?follow=thread", "")
	if resp.ProtoMajor != 2 {
		t.Fatalf("spoken: %s", resp.Proto)
	}
	s := opened(t, resp, "")
	s.headed()
	for range 3 {
		if e, _, err := s.read(); err != nil || e.Type != "ping" {
			t.Fatalf("%+v, %v", e, err)
		}
	}
	n.say(t, "t", `{"frames":100}`)
	if got := text(s.until("turn_finished")); got != chunks(100) {
		t.Fatalf("text %q", got)
	}
	s.close()
	eventually(t, "left", func() bool { return n.API().Streams() == 0 })
}

// expiring gives everybody a token that ends soon.
type expiring struct {
	identity.NoAuth
	after time.Duration
}

func (e expiring) Authenticate(ctx context.Context, r *http.Request) (identity.Identity, error) {
	who, err := e.NoAuth.Authenticate(ctx, r)
	who.Expires = time.Now().Add(e.after)
	return who, err
}

func TestB101_AStreamEndsWithItsTokenAndTheTurnGoesOn(t *testing.T) {
	o := quick()
	o.Auth = expiring{after: 300 * time.Millisecond}
	o.Log.ReconnectWindow = 20 * time.Second
	n := eventNodes(t, 1, o)[0]
	s := n.open(t, "t", "follow=thread", "")
	s.headed()
	n.say(t, "t", endless, policy(eventlog.PolicyCancel))
	s.until("expired")
	if _, _, err := s.read(); !errors.Is(err, io.EOF) {
		t.Fatalf("after expired: %v", err)
	}
	eventually(t, "window", func() bool { return !n.looked(t, "t").GraceDeadline.IsZero() })
	if look := n.looked(t, "t"); look.Status != eventlog.StatusRunning {
		t.Fatalf("%+v", look)
	}
}

func TestStreamsCountAsConnections(t *testing.T) {
	users, err := limit.New(limit.Options{Connections: 10, ConnectionsPerUser: 2})
	if err != nil {
		t.Fatal(err)
	}
	o := quick()
	o.Sockets.Limits = users
	n := eventNodes(t, 1, o)[0]
	n.socket(t)
	s := n.open(t, "t", "follow=thread", "")
	refused := get(t, http.DefaultClient, n.url+"/v1/threads/t/events?follow=thread", "")
	if refused.StatusCode != http.StatusTooManyRequests || refused.Header.Get("Retry-After") == "" {
		t.Fatalf("%s", refused.Status)
	}
	s.close()
	eventually(t, "room", func() bool { return n.API().Streams() == 0 && users.Connections() == 1 })
	n.open(t, "t", "follow=thread", "").headed()
}

func TestWhatIsNoStreamIsRefusedBeforeItBegins(t *testing.T) {
	n := eventNodes(t, 1, quick())[0]
	n.say(t, "t", `{"frames":1}`)
	n.open(t, "t", "", "").until("turn_finished")
	for query, want := range map[string]int{"after=x": 400, "full=2": 400, "follow=x": 400, "on_disconnect=x": 400, "tools=a,": 400} {
		resp := get(t, http.DefaultClient, n.url+"/v1/threads/t/events?"+query, "")
		if resp.StatusCode != want || resp.Header.Get("Content-Type") != "application/problem+json" {
			t.Errorf("%s: %s", query, resp.Status)
		}
	}
	head, err := http.Head(n.url + "/v1/threads/t/events")
	if err != nil || head.StatusCode != http.StatusMethodNotAllowed || head.Header.Get("Allow") != "GET" {
		t.Fatalf("HEAD: %v, %v", head, err)
	}
	if viewers, _ := n.Hub().Viewers(); viewers != 0 {
		t.Fatalf("%d viewers are left", viewers)
	}
}
