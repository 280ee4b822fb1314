package wsapi_test

import (
	"testing"

	"turnlog/eventlog"
	"turnlog/session"
	"turnlog/wsapi"
)

func TestB1_ChatMessageFollowsTheThreadFromItsTurnStartedOn(t *testing.T) {
	w := newWorld()
	_, url := serve(t, w, wsapi.Options{}, nil)
	p := dial(t, url+"?user=ann")
	p.send(`{"command":"chat_message","request_id":"r1","data":{"thread_id":"t","content":"hi","on_disconnect":"preserve","extra":[1]}}`)
	p.want(`{"message":"Chat message processing started","thread_id":"t","turn_id":"turn-1","epoch":"e1","on_disconnect":"grace","request_id":"r1"}`,
		`{"type":"turn_started","attempt":1,"thread_id":"t","turn_id":"turn-1","chat_seq":1}`)
	w.emit("ann", "t", `{"type":"chunk","content":"a"}`, `{"type":"chunk","content":"b"}`)
	p.want(`{"type":"chunk","content":"a","thread_id":"t","turn_id":"turn-1","chat_seq":2}`,
		`{"type":"chunk","content":"b","thread_id":"t","turn_id":"turn-1","chat_seq":3}`)
	p.send(`{"command":"chat_message","data":{"thread_id":"t","content":"more"}}`)
	if f := p.next(); f["type"] == "turn_started" { // an existing viewer goes on; the frame may overtake the ack
		f = p.next()
		if f["turn_id"] != "turn-2" {
			t.Fatalf("got %v", f)
		}
	} else {
		p.want(`{"type":"turn_started","attempt":1,"thread_id":"t","turn_id":"turn-2","chat_seq":4}`)
	}
	p.settle()
	s := w.submits[0]
	if s.Thread != (eventlog.Thread{User: "ann", ID: "t"}) || s.Policy != eventlog.PolicyPreserve || s.Generation != 1 || s.Conn == "" {
		t.Fatalf("submitted %+v", s)
	}
}

func TestB11_ResumeIsHeaderThenReplayThenAckThenLive(t *testing.T) {
	w := newWorld()
	_, url := serve(t, w, wsapi.Options{}, nil)
	w.begin("1", "t", "T")
	w.emit("1", "t", `{"type":"chunk","content":"a"}`, `{"type":"chunk","content":"b"}`)
	p := dial(t, url)
	p.send(`{"command":"resume_chat","request_id":7,"data":{"thread_id":"t","last_seq":1,"epoch":"e1"}}`)
	p.want(`{"type":"chat_resumed","thread_id":"t","status":"running","last_seq":3,"replay_count":2,"replay_incomplete":false,"epoch":"e1","first_seq":2,"turn_id":"T","outcome":"","on_disconnect":"grace"}`,
		`{"type":"chunk","content":"a","thread_id":"t","turn_id":"T","chat_seq":2}`,
		`{"type":"chunk","content":"b","thread_id":"t","turn_id":"T","chat_seq":3}`,
		`{"message":"Chat resumed","thread_id":"t","replay_count":2,"request_id":7}`)
	w.emit("1", "t", `{"type":"chunk","content":"c"}`)
	p.want(`{"type":"chunk","content":"c","thread_id":"t","turn_id":"T","chat_seq":4}`)
	p.send(`{"command":"resume_chat","data":{"thread_id":"t","last_seq":4,"epoch":"e1"}}`)
	if h := p.next(); h["type"] != "chat_resumed" || h["replay_count"] != 0.0 {
		t.Fatalf("got %v", h)
	}
	p.want(`{"message":"Chat resumed","thread_id":"t","replay_count":0}`)
	p.settle()
}

func TestResumeOfAThreadThatNeverRanThenItsFirstTurn(t *testing.T) {
	w := newWorld()
	_, url := serve(t, w, wsapi.Options{}, nil)
	p := dial(t, url)
	p.send(`{"command":"resume_chat","request_id":null,"data":{"thread_id":"t","last_seq":null}}`)
	p.want(`{"type":"chat_resumed","thread_id":"t","status":"unknown","last_seq":0,"replay_count":0,"replay_incomplete":false,"epoch":"","first_seq":0,"turn_id":"","outcome":"","on_disconnect":""}`,
		`{"message":"No chat turn to resume","thread_id":"t"}`)
	w.begin("1", "t", "T")
	p.want(`{"type":"turn_started","attempt":1,"thread_id":"t","turn_id":"T","chat_seq":1}`)
}

func TestB14_AHeaderInsideAReplayCountsAnewAndTheAckFollowsIt(t *testing.T) {
	w := newWorld()
	_, url := serve(t, w, wsapi.Options{}, nil)
	w.begin("1", "t", "T")
	p := dial(t, url)
	p.send(`{"command":"resume_chat","data":{"thread_id":"t","last_seq":1,"epoch":"e1"}}`)
	p.next()
	p.want(`{"message":"Chat resumed","thread_id":"t","replay_count":0}`)
	w.emit("1", "t", `{"type":"chunk","content":"a"}`)
	p.next()
	w.reattach("1", "t", 1)
	if h := p.next(); h["type"] != "chat_resumed" || h["replay_incomplete"] != true || h["replay_count"] != 1.0 {
		t.Fatalf("got %v", h)
	}
	p.want(`{"type":"chunk","content":"a","thread_id":"t","turn_id":"T","chat_seq":2}`)
	p.settle()
}

func TestB15_TwoThreadsOnOneConnectionNeverMix(t *testing.T) {
	w := newWorld()
	_, url := serve(t, w, wsapi.Options{}, nil)
	w.begin("1", "a", "A")
	w.begin("1", "b", "B")
	for range 200 {
		w.emit("1", "a", `{"type":"chunk","content":"a"}`)
		w.emit("1", "b", `{"type":"chunk","content":"b"}`)
	}
	p := dial(t, url)
	p.send(`{"command":"resume_chat","data":{"thread_id":"a","last_seq":1,"epoch":"e1"}}`)
	p.send(`{"command":"resume_chat","data":{"thread_id":"b","last_seq":1,"epoch":"e1"}}`)
	next := map[string]float64{"a": 2, "b": 2}
	for acks := 0; acks < 2; {
		f := p.next()
		id := f["thread_id"].(string)
		switch {
		case f["message"] == "Chat resumed":
			acks++
			if next[id] != 202 {
				t.Fatalf("ack of %s after frame %v", id, next[id]-1)
			}
		case f["type"] == "chunk":
			if f["content"] != id || f["chat_seq"] != next[id] {
				t.Fatalf("thread %s wants %v, got %v", id, next[id], f)
			}
			next[id]++
		}
	}
}

func TestFollowAndUnfollow(t *testing.T) {
	w := newWorld()
	_, url := serve(t, w, wsapi.Options{}, nil)
	w.begin("1", "t", "T")
	p := dial(t, url)
	p.send(`{"command":"follow","data":{"thread_id":"t"}}`)
	p.want(`{"message":"Following","thread_id":"t","last_seq":1,"epoch":"e1","status":"running"}`)
	w.emit("1", "t", `{"type":"chunk","content":"a"}`)
	p.want(`{"type":"chunk","content":"a","thread_id":"t","turn_id":"T","chat_seq":2}`)
	p.send(`{"command":"unfollow","data":{"thread_id":"t"}}`)
	p.want(`{"message":"Unfollowed","thread_id":"t"}`)
	w.emit("1", "t", `{"type":"chunk","content":"b"}`)
	p.settle()
	if len(w.left) != 1 || w.left[0].byServer {
		t.Fatalf("left %v", w.left)
	}
}

func TestQueuedSubmissionShowsNothingBeforeATurnStarts(t *testing.T) {
	w := newWorld()
	_, url := serve(t, w, wsapi.Options{}, nil)
	w.begin("1", "t", "A")
	w.onSubmit = func(session.Submit) (eventlog.Admission, error) {
		w.emit("1", "t", `{"type":"chunk","content":"of A"}`)
		return eventlog.Admission{Verdict: eventlog.VerdictQueued, TurnID: "B", Position: 1}, nil
	}
	p := dial(t, url)
	p.send(`{"command":"chat_message","data":{"thread_id":"t","content":"x","on_busy":"enqueue"}}`)
	p.want(`{"message":"Chat message queued","thread_id":"t","turn_id":"B","position":1}`)
	w.emit("1", "t", `{"type":"turn_finished","outcome":"completed"}`)
	w.begin("1", "t", "B")
	p.want(`{"type":"turn_started","attempt":1,"thread_id":"t","turn_id":"B","chat_seq":4}`)
}

func TestListChatTurns(t *testing.T) {
	w := newWorld()
	_, url := serve(t, w, wsapi.Options{}, nil)
	w.begin("1", "t", "T")
	p := dial(t, url)
	p.send(`{"command":"list_chat_turns","request_id":"x"}`)
	p.want(`{"type":"chat_turn_active","thread_id":"t","status":"running","last_seq":1,"turn_id":"T","detached":true,"on_disconnect":"grace","grace_deadline":"2027-01-15T08:00:00.000Z"}`,
		`{"message":"Chat turns listed","count":1,"request_id":"x"}`)
}
