package wsapi_test

import (
	"testing"

	"turnlog/wsapi"
)

const (
	call      = `{"type":"tool_call","tool_call_id":"c1","name":"look","args":{}}`
	callAt2   = `{"type":"tool_call","tool_call_id":"c1","name":"look","args":{},"thread_id":"t","turn_id":"turn-1","chat_seq":2}`
	openAt2   = `{"type":"request_open","request_id":"c1","kind":"tool_call","name":"look","thread_id":"t","turn_id":"turn-1","chat_seq":2}`
	callAgain = `{"type":"tool_call","tool_call_id":"c1","name":"look","args":{},"thread_id":"t","turn_id":"turn-1","replayed":true}`
)

// submitter dials and submits a turn on thread t.
func submitter(t *testing.T, url, manifest string) *peer {
	t.Helper()
	p := dial(t, url)
	if manifest != "" {
		p.send(`{"type":"client_tools_manifest","tools":%s}`, manifest)
	}
	p.send(`{"command":"chat_message","data":{"thread_id":"t","content":"x"}}`)
	p.next()
	p.next()
	return p
}

func TestB66_AToolCallRunsInOneViewerAndMovesOnWhenItLeaves(t *testing.T) {
	w := newWorld()
	_, url := serve(t, w, wsapi.Options{}, nil)
	p := submitter(t, url, `[{"name":"look"}]`)
	if got := string(w.submits[0].Tools); got != `[{"name":"look"}]` {
		t.Fatalf("tools %s", got)
	}
	watcher := follow(t, url) // never eligible
	w.emit("1", "t", call)
	p.want(callAt2)
	watcher.want(openAt2)
	q := dial(t, url)
	q.send(`{"command":"resume_chat","data":{"thread_id":"t","last_seq":1,"epoch":"e1"}}`)
	q.next()
	q.want(openAt2, `{"message":"Chat resumed","thread_id":"t","replay_count":1}`)
	p.ws.CloseNow()
	q.want(callAgain)
	q.settle()
	watcher.settle()
}

func TestB66_AManifestWithoutTheToolMakesAConnectionUnfitUntilItHasIt(t *testing.T) {
	w := newWorld()
	_, url := serve(t, w, wsapi.Options{}, nil)
	p := submitter(t, url, `[{"name":"other"}]`)
	w.emit("1", "t", call)
	p.want(openAt2)
	p.send(`{"type":"client_tools_manifest","tools":[{"name":"look"}]}`)
	p.want(callAgain)
	p.settle()
}

func TestOpenRequestsFromBeforeTheReplayComeUnnumbered(t *testing.T) {
	w := newWorld()
	_, url := serve(t, w, wsapi.Options{}, nil)
	w.begin("1", "t", "turn-1")
	w.emit("1", "t", call, `{"type":"tool_approval_request","approval_id":"a1"}`)
	p := dial(t, url)
	p.send(`{"command":"resume_chat","data":{"thread_id":"t","last_seq":3,"epoch":"e1"}}`)
	p.next()
	p.want(callAgain, `{"type":"tool_approval_request","approval_id":"a1","thread_id":"t","turn_id":"turn-1","replayed":true}`,
		`{"message":"Chat resumed","thread_id":"t","replay_count":0}`)
	p.settle()
}

func TestAReplayedRequestThatWasAnsweredArrivesAsClosed(t *testing.T) {
	w := newWorld()
	_, url := serve(t, w, wsapi.Options{}, nil)
	w.begin("1", "t", "turn-1")
	w.emit("1", "t", call, `{"type":"tool_approval_request","approval_id":"a1"}`,
		`{"type":"request_closed","request_id":"c1","reason":"answered"}`, `{"type":"request_closed","request_id":"a1","reason":"answered"}`)
	p := dial(t, url)
	p.send(`{"command":"resume_chat","data":{"thread_id":"t","last_seq":1,"epoch":"e1"}}`)
	p.next()
	p.want(`{"type":"request_closed","request_id":"c1","reason":"answered","thread_id":"t","turn_id":"turn-1","chat_seq":2}`,
		`{"type":"request_closed","request_id":"a1","reason":"answered","thread_id":"t","turn_id":"turn-1","chat_seq":3}`)
}

func TestB60_AnswersAreFoundByTheirIdAlone(t *testing.T) {
	w := newWorld()
	_, url := serve(t, w, wsapi.Options{}, nil)
	p := dial(t, url)
	p.send(`{"type":"tool_result","tool_call_id":"c1","thread_id":"t","ok":true,"result":{"n":1}}`)
	p.send(`{"type":"tool_approval_response","approval_id":"a1","decision":"allow_for_chat"}`)
	p.send(`{"type":"plan_approval_response","approval_id":"a2","decision":"reject","feedback":"no"}`)
	p.send(`{"type":"secret_request_response","approval_id":"a3","status":"stored"}`)
	p.settle()
	want := []string{`tool_call c1 {"ok":true,"result":{"n":1}}`, `tool_approval a1 {"decision":"allow_for_chat"}`,
		`plan_approval a2 {"decision":"reject","feedback":"no"}`, `secret a3 {"status":"stored"}`}
	for i, a := range w.answers {
		if got := a.Kind + " " + a.RequestID + " " + string(a.Payload); got != want[i] {
			t.Errorf("answer %d: %s, want %s", i, got, want[i])
		}
	}
	if len(w.answers) != len(want) {
		t.Fatalf("%d answers", len(w.answers))
	}
}
