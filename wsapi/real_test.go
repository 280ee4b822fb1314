package wsapi_test

import (
	"fmt"
	"testing"
)

func TestB10_TwentyReconnectsOnAlternatingNodesLoseAndRepeatNothing(t *testing.T) {
	a, b := pair(t)
	p := dial(t, a)
	p.send(`{"command":"chat_message","data":{"thread_id":"t","content":"x","on_disconnect":"preserve","demo":{"frames":600,"interval_ms":1}}}`)
	epoch := p.until("ack", func(f map[string]any) bool { return f["message"] != nil })[0]["epoch"]
	text, last := "", 0.0
	for i := range 20 {
		var frames []map[string]any
		for range 7 {
			frames = append(frames, p.next())
		}
		part, at := contents(t, frames, last)
		text, last = text+part, at
		p.ws.CloseNow()
		p = dial(t, []string{b, a}[i%2])
		p.send(`{"command":"resume_chat","data":{"thread_id":"t","last_seq":%.0f,"epoch":%q}}`, last, epoch)
	}
	part, _ := contents(t, p.until("end", isType("turn_finished")), last)
	text += part
	want := ""
	for n := 1; n <= 600; n++ {
		want += fmt.Sprintf("%d: ", n)
	}
	if text != want {
		t.Fatalf("text of %d bytes, want %d: %.80s...", len(text), len(want), text)
	}
}

func TestB11_ResumeWhileTheAgentTalks(t *testing.T) {
	a, b := pair(t)
	p := dial(t, a)
	p.send(`{"command":"chat_message","data":{"thread_id":"t","content":"x","demo":{"frames":1000,"interval_ms":1}}}`)
	p.until("start", isType("chunk"))
	q := dial(t, b)
	q.send(`{"command":"resume_chat","request_id":"r","data":{"thread_id":"t"}}`)
	frames := q.until("ack", func(f map[string]any) bool { return f["message"] == "Chat resumed" })
	h := frames[0]
	if h["type"] != "chat_resumed" || h["status"] != "running" || h["replay_incomplete"] != true {
		t.Fatalf("first %v", h)
	}
	if got := float64(len(frames) - 2); h["replay_count"] != got || frames[len(frames)-1]["replay_count"] != got {
		t.Fatalf("%v frames before the ack, header %v, ack %v", got, h, frames[len(frames)-1])
	}
	_, last := contents(t, frames, 0)
	if last != h["last_seq"] {
		t.Fatalf("ack after frame %v, last_seq %v", last, h["last_seq"])
	}
	contents(t, q.until("end", isType("turn_finished")), last)
}

func TestB42_StopFromAnyNode(t *testing.T) {
	a, b := pair(t)
	for _, from := range []string{a, b} {
		p := dial(t, a)
		p.send(`{"command":"chat_message","data":{"thread_id":"t","content":"x","demo":{"frames":100000,"interval_ms":1}}}`)
		p.until("chunk", isType("chunk"))
		if from == a {
			p.send(`{"command":"stop","data":{"thread_id":"t"}}`)
		} else {
			q := dial(t, b)
			q.send(`{"command":"stop","data":{"thread_id":"t"}}`)
			q.want(stopAck, stopFrame)
			q.settle()
		}
		stops, ended := 0, false
		for _, f := range p.until("end", isType("turn_finished")) {
			switch f["type"] {
			case "generation_stopped":
				stops++
			case "chunk":
				if stops > 0 && f["content"] != "" {
					t.Fatalf("text after generation_stopped: %v", f)
				}
			case "turn_finished":
				ended = f["outcome"] == "stopped"
			}
		}
		if stops != 1 || !ended {
			t.Fatalf("%d generation_stopped, stopped: %v", stops, ended)
		}
	}
}

func TestB43_StopRacingTheNaturalEnd(t *testing.T) {
	a, b := pair(t)
	for i := range 60 {
		p := dial(t, []string{a, b}[i%2])
		p.send(`{"command":"chat_message","data":{"thread_id":"r%d","content":"x","demo":{"frames":%d}}}`, i, 1+i%7)
		p.until("start", isType("turn_started"))
		p.send(`{"command":"stop","request_id":"s","data":{"thread_id":"r%d"}}`, i)
		stops, ended, acked := 0, false, false
		for !ended || !acked || stops == 0 {
			f := p.next()
			switch {
			case f["type"] == "generation_stopped":
				stops++
			case f["type"] == "turn_finished":
				ended = true
			case f["request_id"] == "s":
				acked = true
			case f["type"] == "chunk" && stops > 0 && f["content"] != "":
				t.Fatalf("text after generation_stopped: %v", f)
			}
		}
		p.settle()
		p.ws.CloseNow()
	}
}

func TestB60_ToolResultFromAnotherNodeReachesTheAgent(t *testing.T) {
	a, b := pair(t)
	p := dial(t, a)
	p.send(`{"type":"client_tools_manifest","tools":[{"name":"look"}]}`)
	p.send(`{"command":"chat_message","data":{"thread_id":"t","content":"x","on_disconnect":"preserve","demo":{"frames":3,"tool_call":{"name":"look","args":{"a":1},"at":2}}}}`)
	frames := p.until("call", isType("tool_call"))
	id := frames[len(frames)-1]["tool_call_id"].(string)
	q := dial(t, b)
	q.send(`{"command":"resume_chat","data":{"thread_id":"t","last_seq":0}}`)
	frames = q.until("open", isType("request_open"))
	if got := frames[len(frames)-1]["request_id"]; got != id {
		t.Fatalf("open %v, want %v", got, id)
	}
	p.ws.CloseNow() // the target leaves; q takes over
	frames = q.until("call", isType("tool_call"))
	if f := frames[len(frames)-1]; f["tool_call_id"] != id || f["replayed"] != true || f["chat_seq"] != nil {
		t.Fatalf("got %v", f)
	}
	dial(t, a).send(`{"type":"tool_result","tool_call_id":%q,"ok":true,"result":{"n":1}}`, id)
	text, _ := "", 0
	for _, f := range q.until("end", isType("turn_finished")) {
		if f["type"] == "chunk" {
			text += f["content"].(string)
		}
	}
	if want := `answer:{"ok":true,"result":{"n":1}} 2: 3: `; text != want {
		t.Fatalf("text %q, want %q", text, want)
	}
}

func TestB44_TheSameMessageIdAgainIsTheSameTurn(t *testing.T) {
	a, b := pair(t)
	const message = `{"command":"chat_message","data":{"thread_id":"t","id":"m1","content":"x","on_disconnect":"preserve","demo":{"frames":50,"interval_ms":5}}}`
	p := dial(t, a)
	p.send(message)
	ack := p.next()
	p.ws.CloseNow()
	q := dial(t, b)
	q.send(message)
	again := q.next()
	if again["duplicate"] != true || again["turn_id"] != ack["turn_id"] || again["message"] != ack["message"] {
		t.Fatalf("first %v, again %v", ack, again)
	}
	text, _ := contents(t, q.until("end", isType("turn_finished")), 0)
	if text != demoText(50, 0) {
		t.Fatalf("text %q", text)
	}
	q.send(`{"command":"chat_message","data":{"thread_id":"t","id":"m1","content":"other"}}`)
	if f := q.next(); f["code"] != "idempotency_conflict" {
		t.Fatalf("got %v", f)
	}
}

func TestB41_EnqueuedMessagesRunNextAndAreFollowed(t *testing.T) {
	a, b := pair(t)
	p := dial(t, a)
	p.send(`{"command":"chat_message","data":{"thread_id":"t","content":"x","demo":{"frames":40,"interval_ms":5}}}`)
	p.until("chunk", isType("chunk"))
	q := dial(t, b)
	q.send(`{"command":"chat_message","data":{"thread_id":"t","content":"y","on_busy":"enqueue","demo":{"frames":3}}}`)
	ack := q.next()
	if ack["message"] != "Chat message queued" || ack["position"] != 1.0 {
		t.Fatalf("got %v", ack)
	}
	frames := q.until("end", isType("turn_finished"))
	if frames[0]["type"] != "turn_started" || frames[0]["turn_id"] != ack["turn_id"] {
		t.Fatalf("first frame %v", frames[0])
	}
	p.until("end", isType("turn_finished"))
	p.until("the next turn's end", isType("turn_finished"))
}

func TestB100_AnotherUsersThreadIsLikeNone(t *testing.T) {
	a, _ := pair(t)
	p := dial(t, a+"?user=ann")
	p.send(`{"command":"chat_message","data":{"thread_id":"t","content":"x","demo":{"frames":100000,"interval_ms":5}}}`)
	p.until("chunk", isType("chunk"))
	q := dial(t, a+"?user=bob")
	for _, id := range []string{"t", "none"} {
		q.send(`{"command":"resume_chat","data":{"thread_id":%q}}`, id)
		if h := q.next(); h["status"] != "unknown" || h["epoch"] != "" {
			t.Fatalf("got %v", h)
		}
		q.want(fmt.Sprintf(`{"message":"No chat turn to resume","thread_id":%q}`, id))
		q.send(`{"command":"stop","data":{"thread_id":%q}}`, id)
		q.next()
		q.next()
	}
	q.settle()
	p.send(`{"command":"stop","data":{"thread_id":"t"}}`)
	p.until("end", isType("turn_finished"))
}

func TestB27_CancelWhereTheThreadSaysPreserveIsRefused(t *testing.T) {
	a, _ := pair(t)
	p := dial(t, a)
	p.send(`{"command":"set_policy","data":{"thread_id":"t","on_disconnect":"preserve","scope":"thread"}}`)
	p.want(`{"message":"Policy set","thread_id":"t","on_disconnect":"preserve","scope":"thread"}`)
	for _, command := range []string{"chat_message", "resume_chat", "follow", "set_policy"} {
		p.send(`{"command":%q,"data":{"thread_id":"t","content":"x","close_on_disconnect":true}}`, command)
		if f := p.next(); f["code"] != "policy_conflict" {
			t.Errorf("%s: %v", command, f)
		}
		if command == "chat_message" {
			if f := p.next(); f["type"] != "error" || f["code"] != "policy_conflict" {
				t.Errorf("error frame: %v", f)
			}
		}
	}
	p.settle()
}
