package client_test

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	"turnlog/client"

	"github.com/coder/websocket"
)

func noTool(context.Context, client.Call) (any, error) { return nil, nil }

func (c *fakeConn) sendBatch(frames ...object) {
	b, _ := json.Marshal(frames)
	_ = c.ws.Write(context.Background(), websocket.MessageText, b)
}

func TestB114_WhatWasWrittenOfflineIsSentOnceWithIDs(t *testing.T) {
	s := newFakeServer(t)
	e, h := newEvents()
	c, conn := begin(t, s, client.Options{Handler: h})
	conn.send(frame("tool_approval_request", 2, object{"approval_id": "ap1", "tool_name": "rm"}))
	await(t, e.requests, "request")
	var down atomic.Bool
	down.Store(true)
	s.mu.Lock()
	s.refuse = func(w http.ResponseWriter, _ *http.Request) bool {
		if down.Load() {
			w.WriteHeader(http.StatusBadGateway)
		}
		return down.Load()
	}
	s.mu.Unlock()
	conn.cut()
	for await(t, e.states, "waiting").Phase != client.Waiting {
	}
	if err := c.Approve("ap1", client.Allow); err != nil {
		t.Fatal(err)
	}
	p, err := c.Send("t2", client.Message{Content: "typed offline"})
	if err != nil {
		t.Fatal(err)
	}
	down.Store(false)

	conn = s.next()
	resume := conn.want(object{"command": "resume_chat", "data": object{"thread_id": "t1"}})
	conn.want(object{"type": "tool_approval_response", "approval_id": "ap1", "decision": "allow"})
	m := conn.want(object{"command": "chat_message", "data": object{"thread_id": "t2", "id": p.ID}})
	// The header was made before the answer arrived: the open request follows it.
	conn.resume(resume, object{"last_seq": 2})
	conn.send(frame("tool_approval_request", 0, object{"approval_id": "ap1", "tool_name": "rm", "replayed": true}))
	conn.quiet() // not answered twice, not asked twice
	conn.cut()   // the acknowledgement of the message is lost

	conn = s.next()
	for range 2 { // t1 runs, t2 may run
		r := conn.want(object{"command": "resume_chat"})
		conn.resume(r, object{"last_seq": 2})
	}
	m2 := conn.want(object{"command": "chat_message", "data": object{"id": p.ID}})
	if m2["request_id"] != m["request_id"] {
		t.Errorf("request ids %v and %v, want the same", m["request_id"], m2["request_id"])
	}
	conn.accept(m2, "turn-2", object{"duplicate": true})
	await(t, p.Done(), "ack")
	if ack, err := p.Wait(t.Context()); err != nil || !ack.Duplicate {
		t.Errorf("ack %+v, %v; want duplicate", ack, err)
	}
	// The answer died with its socket after all: asked again, answered from memory.
	conn.send(frame("tool_approval_request", 0, object{"approval_id": "ap1", "replayed": true}))
	sawAnswer(conn)
	if n := len(e.requests); n != 0 {
		t.Errorf("%d more requests shown, want none", n)
	}
}

// sawAnswer waits for an approval among resumes.
func sawAnswer(c *fakeConn) {
	c.t.Helper()
	for {
		if o := c.recv(); o["type"] == "tool_approval_response" {
			return
		}
	}
}

func TestB114_TheQueueIsBounded(t *testing.T) {
	c, err := client.New("ws://127.0.0.1:1", client.Options{QueueLimit: 2})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	for range 2 {
		if _, err := c.Send("t", client.Message{Content: "x"}); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := c.Send("t", client.Message{Content: "x"}); !errors.Is(err, client.ErrQueueFull) {
		t.Errorf("third send: %v, want ErrQueueFull", err)
	}
}

func TestB115_AToolRunsOnceAlsoWhenReplayed(t *testing.T) {
	s := newFakeServer(t)
	e, h := newEvents()
	var runs atomic.Int32
	release := make(chan struct{})
	tool := client.Tool{Name: "clock", Run: func(_ context.Context, call client.Call) (any, error) {
		runs.Add(1)
		<-release
		return map[string]string{"args": string(call.Args)}, nil
	}}
	_, conn := begin(t, s, client.Options{Handler: h, Tools: []client.Tool{tool}})
	call := object{"tool_call_id": "call-1", "name": "clock", "args": object{"zone": "UTC"}}
	conn.send(frame("tool_call", 2, call))
	for await(t, e.frames, "tool_call").Type != "tool_call" {
	}
	conn.cut()

	conn = s.next()
	conn.want(object{"type": "client_tools_manifest"})
	conn.resume(conn.want(object{"command": "resume_chat"}), object{"last_seq": 2})
	call["replayed"] = true
	conn.send(frame("tool_call", 0, call)) // still runs: nothing happens
	conn.quiet()
	close(release)
	conn.want(object{
		"type": "tool_result", "tool_call_id": "call-1", "ok": true, "result": object{"args": `{"zone":"UTC"}`},
	})
	conn.cut()
	conn = s.next()
	conn.want(object{"type": "client_tools_manifest"})
	conn.resume(conn.want(object{"command": "resume_chat"}), object{"last_seq": 2})
	conn.send(frame("tool_call", 0, call))
	conn.want(object{"type": "tool_result", "tool_call_id": "call-1", "ok": true}) // from memory
	conn.send(frame("request_closed", 3, object{"request_id": "call-1", "reason": "answered"}))
	conn.send(frame("tool_call", 0, call))
	conn.quiet()
	if n := runs.Load(); n != 1 {
		t.Errorf("ran %d times, want once", n)
	}
}

func TestB115_AClosedRequestEndsItsTool(t *testing.T) {
	s := newFakeServer(t)
	_, h := newEvents()
	ended := make(chan error, 1)
	running := make(chan struct{})
	tool := client.Tool{Name: "wait", Run: func(ctx context.Context, _ client.Call) (any, error) {
		close(running)
		<-ctx.Done()
		ended <- context.Cause(ctx)
		return nil, ctx.Err()
	}}
	_, conn := begin(t, s, client.Options{Handler: h, Tools: []client.Tool{tool}})
	conn.send(frame("tool_call", 2, object{"tool_call_id": "c1", "name": "wait", "args": object{}}))
	await(t, running, "the tool")
	conn.send(frame("turn_finished", 3, object{"outcome": "stopped"}))
	if err := await(t, ended, "the tool's end"); err == nil {
		t.Error("tool ended without a cause")
	}
	conn.quiet()
}

func TestB115_ARequestThatIsClosedBeforeItIsSeenDoesNotRun(t *testing.T) {
	s := newFakeServer(t)
	_, h := newEvents()
	var runs atomic.Int32
	tool := client.Tool{Name: "clock", Run: func(context.Context, client.Call) (any, error) { runs.Add(1); return nil, nil }}
	_, conn := begin(t, s, client.Options{Handler: h, Tools: []client.Tool{tool}})
	conn.send(frame("request_closed", 2, object{"request_id": "c1", "reason": "answered"}))
	conn.send(frame("tool_call", 0, object{"tool_call_id": "c1", "name": "clock", "replayed": true}))
	conn.quiet()
	if runs.Load() != 0 {
		t.Error("it ran")
	}
}

func TestB115_APanickingToolAnswersWithAnError(t *testing.T) {
	s := newFakeServer(t)
	_, h := newEvents()
	tool := client.Tool{Name: "bad", Run: func(context.Context, client.Call) (any, error) { panic("boom") }}
	_, conn := begin(t, s, client.Options{Handler: h, Tools: []client.Tool{tool}})
	conn.send(frame("tool_call", 2, object{"tool_call_id": "c1", "name": "bad"}))
	conn.want(object{"type": "tool_result", "ok": false, "error": "tool bad panicked: boom"})
}

func TestB116_ATokenIsFetchedForEachConnect(t *testing.T) {
	s := newFakeServer(t)
	_, h := newEvents()
	var n atomic.Int32
	token := func(context.Context) (string, error) { return string('a' + n.Add(1) - 1), nil }
	start(t, s.url, client.Options{Handler: h, Token: token})
	for _, want := range []string{"Bearer a", "Bearer b", "Bearer c"} {
		conn := s.next()
		if got := conn.request.Header.Get("Authorization"); got != want {
			t.Errorf("authorization %q, want %q", got, want)
		}
		if conn.ws.Subprotocol() != "turnlog.v1" {
			t.Errorf("subprotocol %q, want turnlog.v1", conn.ws.Subprotocol())
		}
		go conn.ws.Close(4001, "token expired")
		await(t, conn.gone, "close")
		conn.cut()
	}
}

func TestB116_WithoutATokenSourceARefusalIsFinal(t *testing.T) {
	s := newFakeServer(t)
	s.refuse = func(w http.ResponseWriter, _ *http.Request) bool { w.WriteHeader(http.StatusUnauthorized); return true }
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	if _, err := client.Dial(ctx, s.url, client.Options{}); !errors.Is(err, client.ErrUnauthorized) {
		t.Errorf("dial: %v, want ErrUnauthorized", err)
	}
}

func TestB116_FreshTokensThatAreRefusedThreeTimesAreFinal(t *testing.T) {
	s := newFakeServer(t)
	s.refuse = func(w http.ResponseWriter, _ *http.Request) bool { w.WriteHeader(http.StatusUnauthorized); return true }
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	asked := 0
	c, err := client.New(s.url, client.Options{Token: func(context.Context) (string, error) { asked++; return "x", nil }})
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Run(ctx); !errors.Is(err, client.ErrUnauthorized) || asked != 3 {
		t.Errorf("after %d tokens: %v, want ErrUnauthorized after 3", asked, err)
	}
}

func TestRefusalsReachTheCallerAndDrainingIsRetriedElsewhere(t *testing.T) {
	s := newFakeServer(t)
	c := start(t, s.url, client.Options{})
	conn := s.next()
	p, _ := c.Send("t1", client.Message{Content: "x"})
	r := conn.want(object{"command": "chat_message"})
	conn.send(object{"error": "refused", "code": "busy", "message": "a turn is running", "retryable": true, "request_id": r["request_id"]})
	_, err := p.Wait(t.Context())
	var refused *client.Refused
	if !errors.As(err, &refused) || refused.Code != "busy" || !refused.Retryable {
		t.Fatalf("wait: %v, want busy", err)
	}
	p, _ = c.Send("t1", client.Message{Content: "y"})
	r = conn.want(object{"command": "chat_message"})
	conn.send(object{"error": "refused", "code": "draining", "retryable": true, "request_id": r["request_id"]})
	conn.quiet()
	go conn.ws.Close(websocket.StatusServiceRestart, "draining")
	conn = s.next()
	conn.want(object{"command": "resume_chat"})
	conn.accept(conn.want(object{"command": "chat_message", "data": object{"id": p.ID}}), "turn-1", nil)
	if _, err := p.Wait(t.Context()); err != nil {
		t.Errorf("after drain: %v", err)
	}
}

func TestCloseFailsWhatWaitsAndIsSafeTwice(t *testing.T) {
	s := newFakeServer(t)
	c, err := client.Dial(t.Context(), s.url, client.Options{Silence: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	p, _ := c.Send("t1", client.Message{Content: "x"})
	if err := errors.Join(c.Close(), c.Close()); err != nil {
		t.Error(err)
	}
	if _, err := p.Wait(t.Context()); !errors.Is(err, client.ErrClosed) {
		t.Errorf("wait: %v, want ErrClosed", err)
	}
	if _, err := c.Send("t1", client.Message{Content: "x"}); !errors.Is(err, client.ErrClosed) {
		t.Errorf("send: %v, want ErrClosed", err)
	}
}
