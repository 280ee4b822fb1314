package wsapi_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/coder/websocket"

	"turnlog/eventlog"
	"turnlog/session"
	"turnlog/wsapi"
)

func TestB104_WhatIsWrongIsAnsweredInTheOrderOfTheTable(t *testing.T) {
	invalid := func(details string) string { return `{"error":"invalid_command","details":` + details + `}` }
	rows := []struct{ name, in, out string }{
		{"not JSON", `{"command":`, `{"error":"invalid_frame","message":"the message is not valid JSON"}`},
		{"empty", ``, `{"error":"invalid_frame","message":"the message is not valid JSON"}`},
		{"bad UTF-8", "{\"command\":\"\xff\"}", `{"error":"invalid_frame","message":"strings must be valid UTF-8"}`},
		{"deep", strings.Repeat("[", 5000), `{"error":"invalid_frame","message":"the message is nested too deeply"}`},
		{"many", "[" + strings.Repeat("0,", 300000) + "0]", `{"error":"invalid_frame","message":"the message has too many elements"}`},
		{"a list", `[1]`, `{"error":"invalid_message","message":"a message must be an object with a command or a type"}`},
		{"null", `null`, `{"error":"invalid_message","message":"a message must be an object with a command or a type"}`},
		{"neither", `{"data":{}}`, `{"error":"invalid_message","message":"a message must have a command or a type"}`},
		{"unknown type", `{"type":"x"}`, `{"error":"invalid_message","message":"the frame x is not valid: {\"type\":\"is not one this server knows\"}"}`},
		{"answer without id", `{"type":"tool_result","ok":true}`, `{"error":"invalid_message","message":"the frame tool_result is not valid: {\"tool_call_id\":\"is required\"}"}`},
		{"bad decision", `{"type":"tool_approval_response","approval_id":"a","decision":"maybe"}`,
			`{"error":"invalid_message","message":"the frame tool_approval_response is not valid: {\"decision\":\"must be one of allow, allow_for_chat, deny\"}"}`},
		{"manifest", `{"type":"client_tools_manifest","tools":[{}]}`, `{"error":"invalid_message","message":"the frame client_tools_manifest must have a list of tools with names"}`},
		{"command no string", `{"command":5}`, invalid(`{"command":"must be a string"}`)},
		{"command null", `{"command":null}`, invalid(`{"command":"must be a string"}`)},
		{"data no object", `{"command":"stop","data":[]}`, invalid(`{"data":"must be an object"}`)},
		{"request id", `{"command":"stop","request_id":{}}`, invalid(`{"request_id":"must be a string or a number of at most 1024 bytes"}`)},
		{"bad data before unknown command", `{"command":"x","data":{"thread_id":5}}`, invalid(`{"thread_id":"must be a string"}`)},
		{"unknown", `{"command":"x","request_id":"r"}`, `{"error":"Unknown command","request_id":"r"}`},
		{"no thread", `{"command":"resume_chat","data":{},"request_id":1}`, `{"error":"thread_id is required for resume_chat command","request_id":1}`},
		{"bad data before no thread", `{"command":"resume_chat","data":{"last_seq":"5"}}`, invalid(`{"last_seq":"must be a number"}`)},
		{"policy", `{"command":"follow","data":{"thread_id":"t","on_disconnect":"never"}}`, invalid(`{"on_disconnect":"must be one of cancel, grace, preserve"}`)},
		{"policy clash", `{"command":"follow","data":{"thread_id":"t","preserve_running_on_disconnect":true,"close_on_disconnect":true}}`,
			`{"error":"policy_conflict","code":"policy_conflict","message":"cancel and preserve cannot be asked for together","thread_id":"t"}`},
		{"policy missing", `{"command":"set_policy","data":{"thread_id":"t"}}`, invalid(`{"on_disconnect":"is required"}`)},
		{"mode", `{"command":"set_mode","data":{"mode":"morse"}}`, invalid(`{"mode":"must be one of text, binary"}`)},
		{"long id", fmt.Sprintf(`{"command":"resume_chat","data":{"thread_id":%q}}`, strings.Repeat("x", 10000)),
			invalid(`{"thread_id":"must be valid UTF-8 of at most 256 bytes when escaped"}`)},
		{"names are case sensitive", `{"Command":"stop"}`, `{"error":"invalid_message","message":"a message must have a command or a type"}`},
	}
	w := newWorld()
	_, url := serve(t, w, wsapi.Options{}, nil)
	p := dial(t, url)
	for _, row := range rows {
		p.write(websocket.MessageText, []byte(row.in))
		if got := p.text(); !sameJSON(got, row.out) {
			t.Errorf("%s:\n got %s\nwant %s", row.name, got, row.out)
		}
	}
	p.settle()
}

func TestB123_EveryRefusedChatMessageBringsAnErrorFrame(t *testing.T) {
	w := newWorld()
	_, url := serve(t, w, wsapi.Options{}, nil)
	w.onSubmit = func(s session.Submit) (eventlog.Admission, error) {
		switch s.Thread.ID {
		case "busy":
			return eventlog.Admission{}, &session.Refusal{Code: session.CodeBusy, Message: "a turn is running", Retryable: true}
		case "away":
			return eventlog.Admission{}, fmt.Errorf("begin: %w", eventlog.ErrUnavailable)
		}
		return eventlog.Admission{}, fmt.Errorf("a bug")
	}
	p := dial(t, url)
	p.send(`{"command":"chat_message","request_id":"r","data":{"thread_id":"busy","content":"x"}}`)
	p.want(`{"error":"busy","code":"busy","message":"a turn is running","thread_id":"busy","retryable":true,"request_id":"r"}`,
		`{"type":"error","message":"a turn is running","code":"busy","thread_id":"busy","retryable":true}`)
	p.send(`{"command":"chat_message","data":{"thread_id":"away","content":"x"}}`)
	p.want(`{"error":"unavailable","code":"unavailable","message":"the server cannot reach its storage, try again","thread_id":"away","retryable":true}`,
		`{"type":"error","message":"the server cannot reach its storage, try again","code":"unavailable","thread_id":"away","retryable":true}`)
	p.send(`{"command":"chat_message","data":{"thread_id":"bug","content":"x"}}`)
	p.want(`{"error":"unavailable","code":"unavailable","message":"something went wrong on the server, try again","thread_id":"bug","retryable":true}`,
		`{"type":"error","message":"something went wrong on the server, try again","code":"unavailable","thread_id":"bug","retryable":true}`)
	for _, data := range []string{`{"thread_id":"t"}`, `{"thread_id":"t","content":[]}`, `{"thread_id":"t","content":[null]}`, `{"content":"x"}`, `[]`} {
		p.send(`{"command":"chat_message","data":%s}`, data)
		if f := p.next(); f["error"] == nil {
			t.Errorf("%s: %v", data, f)
		}
		if f := p.next(); f["type"] != "error" || f["code"] != "invalid_command" || f["retryable"] != false {
			t.Errorf("%s: %v", data, f)
		}
	}
	p.settle()
	eventually(t, "no viewer is left behind", func() bool {
		w.mu.Lock()
		defer w.mu.Unlock()
		return len(w.left) == 3
	})
}

func TestVerbsThatGuideATurn(t *testing.T) {
	w := newWorld()
	_, url := serve(t, w, wsapi.Options{}, nil)
	p := dial(t, url)
	p.send(`{"command":"steer","data":{"thread_id":"t","content":"left"}}`)
	p.want(`{"message":"Steer accepted","thread_id":"t","turn_id":"turn-1","delivered":true}`)
	p.send(`{"command":"set_policy","data":{"thread_id":"t","on_disconnect":"preserve","scope":"thread"}}`)
	p.want(`{"message":"Policy set","thread_id":"t","on_disconnect":"preserve","scope":"thread"}`)
	p.send(`{"command":"set_permission_mode","data":{"thread_id":"t","permission_mode":"auto"}}`)
	p.want(`{"message":"Permission mode set to auto","thread_id":"t","permission_mode":"auto"}`)
	p.send(`{"type":"pong"}`)
	p.settle()
}

func TestAConnectionFollowsNoMoreThreadsThanItMay(t *testing.T) {
	w := newWorld()
	_, url := serve(t, w, wsapi.Options{ThreadsPerConnection: 2}, nil)
	p := dial(t, url)
	for _, id := range []string{"a", "b"} {
		p.send(`{"command":"chat_message","data":{"thread_id":%q,"content":"x"}}`, id)
		p.next()
		p.next()
	}
	p.send(`{"command":"follow","data":{"thread_id":"c"}}`)
	if f := p.next(); f["code"] != "quota_exceeded" {
		t.Fatalf("got %v", f)
	}
	w.emit("1", "a", `{"type":"turn_finished","outcome":"completed"}`)
	p.next()
	p.send(`{"command":"follow","data":{"thread_id":"c"}}`)
	if f := p.next(); f["message"] != "Following" {
		t.Fatalf("got %v", f)
	}
}

// Clients that resume every thread they know, and know nothing of unfollow, do
// not run into the limit with threads that never ran.
func TestThreadsThatNeverRanMakeRoom(t *testing.T) {
	w := newWorld()
	_, url := serve(t, w, wsapi.Options{ThreadsPerConnection: 2}, nil)
	p := dial(t, url)
	resume := func(id string) {
		t.Helper()
		p.send(`{"command":"resume_chat","data":{"thread_id":%q}}`, id)
		if f := p.next(); f["status"] != "unknown" {
			t.Fatalf("%s: %v", id, f)
		}
		if f := p.next(); f["message"] != "No chat turn to resume" {
			t.Fatalf("%s: %v", id, f)
		}
	}
	for i := range 5 {
		resume(fmt.Sprint("never", i))
	}
	// One that runs now and one that the client asked to follow stay.
	p.send(`{"command":"chat_message","data":{"thread_id":"runs","content":"x"}}`)
	p.next()
	p.next()
	p.send(`{"command":"follow","data":{"thread_id":"wanted"}}`)
	if f := p.next(); f["message"] != "Following" {
		t.Fatalf("got %v", f)
	}
	p.send(`{"command":"resume_chat","data":{"thread_id":"never9"}}`)
	if f := p.next(); f["code"] != "quota_exceeded" {
		t.Fatalf("got %v", f)
	}
	// What began meanwhile is no thread that never ran.
	q := dial(t, url)
	q.send(`{"command":"resume_chat","data":{"thread_id":"begins"}}`)
	q.next()
	q.next()
	w.begin("1", "begins", "T")
	q.until("its turn", isType("turn_started"))
	w.emit("1", "begins", `{"type":"turn_finished","outcome":"completed"}`)
	q.until("its end", isType("turn_finished"))
	for i := range 3 {
		q.send(`{"command":"resume_chat","data":{"thread_id":"q%d"}}`, i)
		q.next()
		q.next()
	}
	w.emit("1", "begins", `{"type":"chunk","content":"x"}`)
	q.until("it is still followed", isType("chunk"))
}
