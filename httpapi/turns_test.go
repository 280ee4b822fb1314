package httpapi_test

import (
	"fmt"
	"strings"
	"testing"

	"turnlog/embedded"
	"turnlog/eventlog"
	"turnlog/session"
)

func TestSubmit_RunsATurnThatCanBeReadInPages(t *testing.T) {
	onBoth(t, embedded.Options{}, func(n *restNode) {
		got := n.call("POST", "/v1/threads/t/turns", `{"content":"hello","demo":{"frames":20}}`, "Idempotency-Key", "one")
		if got.status != 202 || got.json["status"] != "started" || got.json["chat_seq"] != 1.0 || got.json["epoch"] == "" ||
			got.json["on_disconnect"] != "preserve" || got.json["duplicate"] != false || got.header.Get("Location") != "/v1/threads/t/events?after=0" {
			n.Fatalf("%d %s %v", got.status, got.text, got.header)
		}
		turn := got.json["turn_id"]
		again := n.want(202, "POST", "/v1/threads/t/turns", `{"content":"hello","id":"one","demo":{"frames":20}}`)
		if again["duplicate"] != true || again["turn_id"] != turn || again["chat_seq"] != 1.0 {
			n.Fatalf("again: %v", again)
		}
		if other := n.want(409, "POST", "/v1/threads/t/turns", `{"content":"other"}`, "Idempotency-Key", `"one"`); other["code"] != "idempotency_conflict" {
			n.Fatalf("other: %v", other)
		}
		wantField(n, n.want(400, "POST", "/v1/threads/t/turns", `{"content":"x","id":"a"}`, "Idempotency-Key", "b"), "Idempotency-Key")
		wantField(n, n.want(400, "POST", "/v1/threads/t/turns", `{"content":"x"}`, "Idempotency-Key", strings.Repeat("k", 300)), "Idempotency-Key")
		now := n.finished("/v1/threads/t")
		if now["outcome"] != "completed" || now["turn_id"] != turn || now["first_held"] != 1.0 {
			n.Fatalf("thread: %v", now)
		}
		if done := n.want(202, "POST", "/v1/threads/t/turns", `{"content":"hello","id":"one","demo":{"frames":20}}`); done["status"] != "finished" {
			n.Fatalf("a duplicate of a finished turn: %v", done)
		}
		text, next := "", 0.0
		for next < now["last_seq"].(float64) {
			page := n.want(200, "GET", fmt.Sprintf("/v1/threads/t/frames?after=%.0f&limit=7&epoch=%s", next, now["epoch"]), "")
			if page["epoch"] != now["epoch"] || page["incomplete"] != nil || page["status"] != "finished" {
				n.Fatalf("page: %v", page)
			}
			for _, f := range page["frames"].([]any) {
				f := f.(map[string]any)
				if f["type"] == "turn_started" && f["epoch"] != now["epoch"] {
					n.Fatalf("turn_started without its epoch: %v", f)
				}
				if next++; f["chat_seq"] != next || f["turn_id"] != turn || f["thread_id"] != "t" {
					n.Fatalf("frame %v after %v", f, next-1)
				}
				if s, ok := f["content"].(string); ok && f["type"] == "chunk" {
					text += s
				}
			}
			if page["next"] != next {
				n.Fatalf("next %v, want %v", page["next"], next)
			}
		}
		if !strings.HasPrefix(text, "1: 2: 3: ") || !strings.HasSuffix(text, "20: ") {
			n.Fatalf("text %q", text)
		}
		for query, incomplete := range map[string]any{"after=3&epoch=other": true, "after=9999": true, "after=" + fmt.Sprint(next): nil, "": nil} {
			if page := n.want(200, "GET", "/v1/threads/t/frames?"+query, ""); page["incomplete"] != incomplete || page["next"] != next {
				n.Errorf("%s: %v", query, page)
			}
		}
		for query, field := range map[string]string{"after=-1": "after", "after=x": "after", "limit=0": "limit", "limit=5000": "limit"} {
			wantField(n, n.want(400, "GET", "/v1/threads/t/frames?"+query, ""), field)
		}
		n.want(200, "GET", "/v1/threads/t/frames?unknown=1", "")
	})
}

func TestFrames_ThatAreNoLongerHeldMakeAPageIncomplete(t *testing.T) {
	onBoth(t, embedded.Options{Log: eventlog.Options{ReplayMaxFrames: 10}}, func(n *restNode) {
		n.want(202, "POST", "/v1/threads/t/turns", `{"content":"x","demo":{"frames":400}}`)
		now := n.finished("/v1/threads/t")
		held := now["first_held"].(float64)
		if held < 2 {
			n.Fatalf("nothing was trimmed: %v", now)
		}
		for after, incomplete := range map[float64]any{0: true, 1: true, held - 2: true, held - 1: nil, held: nil} {
			page := n.want(200, "GET", fmt.Sprintf("/v1/threads/t/frames?after=%.0f&limit=5", after), "")
			first := page["frames"].([]any)[0].(map[string]any)["chat_seq"]
			if page["incomplete"] != incomplete || first != max(after+1, held) {
				n.Errorf("after %v of %v: incomplete %v, first %v", after, held, page["incomplete"], first)
			}
		}
	})
}

func TestPages_EndEarlyWhenWhatTheyHoldIsLarge(t *testing.T) {
	onBoth(t, embedded.Options{}, func(n *restNode) {
		large := strings.Repeat("x", 2<<20)
		for i := range 4 {
			n.want(202, "POST", "/v1/threads/t/turns", fmt.Sprintf(`{"content":"%d%s","demo":{"frames":1}}`, i, large))
			n.finished("/v1/threads/t")
		}
		rows, before := 0, ""
		for pages := range 10 {
			got := n.call("GET", "/v1/threads/t/messages?limit=200&before="+before, "")
			if len(got.text) > 9<<20 {
				n.Fatalf("a page of %d bytes", len(got.text))
			}
			rows += len(got.json["messages"].([]any))
			if got.json["next"] == nil {
				if pages == 0 || rows != 8 {
					n.Fatalf("%d rows on %d pages", rows, pages+1)
				}
				break
			}
			before = got.json["next"].(string)
		}
		if got := n.call("GET", "/v1/threads/t/frames", ""); len(got.text) > 5<<20 || got.json["next"] == got.json["last_seq"] {
			n.Fatalf("%d bytes of frames up to %v of %v", len(got.text), got.json["next"], got.json["last_seq"])
		}
	})
}

func TestMessages_ArePagedFromTheNewest(t *testing.T) {
	onBoth(t, embedded.Options{}, func(n *restNode) {
		for i := range 4 {
			n.want(202, "POST", "/v1/threads/t/turns", fmt.Sprintf(`{"content":"q%d","big":12345678901234567890,"demo":{"frames":1}}`, i))
			n.finished("/v1/threads/t")
		}
		var got []string
		for before, pages := "", 0; pages < 10; pages++ {
			page := n.want(200, "GET", "/v1/threads/t/messages?limit=3&before="+before, "")
			var part []string
			for _, m := range page["messages"].([]any) {
				m := m.(map[string]any)
				if m["thread_id"] != "t" || m["epoch"] == "" || m["turn_id"] == "" || m["type"] != nil {
					n.Fatalf("row %v", m)
				}
				part = append(part, fmt.Sprintf("%v %v", m["role"], m["content"]))
			}
			got = append(part, got...)
			if page["next"] == nil {
				break
			}
			before = page["next"].(string)
		}
		want := "user q0,assistant 1: ,user q1,assistant 1: ,user q2,assistant 1: ,user q3,assistant 1: "
		if strings.Join(got, ",") != want {
			n.Fatalf("got %q\nwant %q", strings.Join(got, ","), want)
		}
		for _, before := range []string{"0", "-1", "x", "1@", "@a"} {
			wantField(n, n.want(400, "GET", "/v1/threads/t/messages?before="+before, ""), "before")
		}
	})
}

func TestMessages_OfABranchGoBackToItsRoot(t *testing.T) {
	onBoth(t, embedded.Options{}, func(n *restNode) {
		for i := range 3 {
			n.want(202, "POST", "/v1/threads/root%2F1/turns", fmt.Sprintf(`{"content":"r%d","demo":{"frames":1}}`, i))
			n.finished("/v1/threads/root%2F1")
		}
		rows := n.want(200, "GET", "/v1/threads/root%2F1/messages", "")["messages"].([]any)
		at := rows[3].(map[string]any)["chat_seq"].(float64)
		branch := n.want(201, "PUT", "/v1/threads/b", fmt.Sprintf(`{"branch_of":"root/1","branch_seq":%.0f}`, at))
		if branch["branch_of"] != "root/1" || branch["branch_seq"] != at {
			n.Fatalf("branch: %v", branch)
		}
		n.want(202, "POST", "/v1/threads/b/turns", `{"content":"b0","demo":{"frames":1}}`)
		n.finished("/v1/threads/b")
		if got := n.want(200, "PUT", "/v1/threads/b", `{"branch_of":"root/1"}`); got["branch_of"] != "root/1" {
			n.Fatalf("named again: %v", got)
		}
		wantField(n, n.want(400, "PUT", "/v1/threads/b", `{"branch_of":"elsewhere"}`), "branch_of")
		for _, limit := range []int{1, 2, 3, 10} {
			var got []string
			for before, pages := "", 0; pages < 10; pages++ {
				page := n.want(200, "GET", fmt.Sprintf("/v1/threads/b/messages?limit=%d&before=%s", limit, before), "")
				var part []string
				for _, m := range page["messages"].([]any) {
					m := m.(map[string]any)
					if m["role"] == "user" {
						part = append(part, fmt.Sprint(m["thread_id"], " ", m["content"]))
					}
				}
				got = append(part, got...)
				if page["next"] == nil {
					break
				}
				before = strings.ReplaceAll(page["next"].(string), "/", "%2F")
			}
			if want := "root/1 r0,root/1 r1,b b0"; strings.Join(got, ",") != want {
				n.Fatalf("pages of %d: %q, want %q", limit, strings.Join(got, ","), want)
			}
		}
	})
}

func TestQueueStopAndSteer(t *testing.T) {
	onBoth(t, embedded.Options{}, func(n *restNode) {
		const long = `"demo":{"frames":100000,"interval_ms":2}`
		first := n.want(202, "POST", "/v1/threads/t/turns", `{"content":"a",`+long+`}`)
		second := n.call("POST", "/v1/threads/t/turns", `{"content":"b","on_busy":"enqueue","id":"k"}`)
		third := n.want(202, "POST", "/v1/threads/t/turns", `{"content":"c","on_busy":"enqueue"}`)
		if second.json["status"] != "queued" || second.json["position"] != 1.0 || third["position"] != 2.0 {
			n.Fatalf("%v %v", second.json, third)
		}
		where := second.header.Get("Location")
		if q := n.want(200, "GET", where, ""); q["position"] != 1.0 || q["id"] != "k" || q["message"].(map[string]any)["content"] != "b" {
			n.Fatalf("queued: %v", q)
		}
		if busy := n.call("POST", "/v1/threads/t/turns", `{"content":"d","on_busy":"reject"}`); busy.status != 409 || busy.json["code"] != "busy" || busy.json["retryable"] != true || busy.header.Get("Retry-After") == "" {
			n.Fatalf("busy: %d %s", busy.status, busy.text)
		}
		if turns := n.want(200, "GET", "/v1/turns", "")["turns"].([]any); len(turns) != 1 || turns[0].(map[string]any)["turn_id"] != first["turn_id"] || turns[0].(map[string]any)["detached"] != true {
			n.Fatalf("turns: %v", turns)
		}
		if a := n.call("DELETE", where, ""); a.status != 204 {
			n.Fatalf("drop: %d %s", a.status, a.text)
		}
		n.want(404, "DELETE", where, "")
		n.want(404, "GET", where, "")
		if q := n.want(200, "GET", "/v1/threads/t/queue", "")["queue"].([]any); len(q) != 1 || q[0].(map[string]any)["turn_id"] != third["turn_id"] {
			n.Fatalf("queue: %v", q)
		}
		if s := n.want(202, "POST", "/v1/threads/t/steer", `{"content":"left"}`, "Idempotency-Key", "s1"); s["delivered"] != true || s["turn_id"] != first["turn_id"] {
			n.Fatalf("steer: %v", s)
		}
		if s := n.want(202, "POST", "/v1/threads/t/steer", `{"content":"left","id":"s1"}`); s["duplicate"] != true {
			n.Fatalf("steer again: %v", s)
		}
		if s := n.want(200, "POST", "/v1/threads/t/stop", `{"turn_id":"nobody"}`); s["stopped"] != false || len(s["dropped"].([]any)) != 0 {
			n.Fatalf("stop of nobody: %v", s)
		}
		s := n.want(200, "POST", "/v1/threads/t/stop", "")
		if s["stopped"] != true || s["turn_id"] != first["turn_id"] || len(s["dropped"].([]any)) == 0 {
			n.Fatalf("stop: %v", s)
		}
		n.until("/v1/threads/t", "stopped", func(m map[string]any) bool { return m["outcome"] == "stopped" || m["status"] == "finished" })
	})
}

func TestAnswers_GoToTheRequestThatTheyName(t *testing.T) {
	onBoth(t, embedded.Options{}, func(n *restNode) {
		n.want(202, "POST", "/v1/threads/t/turns", `{"content":"a","demo":{"frames":6,"tool_call":{"name":"look","args":{"a":1},"at":2},"approval":{"tool_name":"rm","at":4}}}`)
		asks := func(kind string) map[string]any {
			list := n.until("/v1/threads/t/requests", kind, func(m map[string]any) bool {
				l := m["requests"].([]any)
				return len(l) == 1 && l[0].(map[string]any)["kind"] == kind
			})["requests"].([]any)
			return list[0].(map[string]any)
		}
		call := asks("tool_call")
		id := call["request_id"].(string)
		if call["name"] != "look" || call["frame"].(map[string]any)["tool_call_id"] != id {
			n.Fatalf("request: %v", call)
		}
		for body, field := range map[string]string{
			`{}`: "request_id", `{"request_id":"a","tool_call_id":"b"}`: "tool_call_id", `{"request_id":7}`: "request_id", `{"tool_call_id":"` + id + `","ok":7}`: "ok",
			`{"tool_call_id":"` + id + `"}`: "ok", `{"tool_call_id":"` + id + `","decision":"allow"}`: "ok", `{"tool_call_id":"` + id + `","ok":null,"error":null}`: "ok",
		} {
			wantField(n, n.want(400, "POST", "/v1/threads/t/answers", body), field)
		}
		n.want(404, "POST", "/v1/threads/t/answers", `{"request_id":"unknown"}`)
		n.want(202, "POST", "/v1/threads/t/answers", `{"tool_call_id":"`+id+`","ok":true,"result":{"n":12345678901234567890}}`)
		n.want(404, "POST", "/v1/threads/t/answers", `{"tool_call_id":"`+id+`","ok":true,"result":2}`)
		approval := asks("tool_approval")["request_id"].(string)
		wantField(n, n.want(400, "POST", "/v1/threads/t/answers", `{"approval_id":"`+approval+`"}`), "decision")
		wantField(n, n.want(400, "POST", "/v1/threads/t/answers", `{"approval_id":"`+approval+`","decision":"approve"}`), "decision")
		n.want(201, "PUT", "/v1/threads/u", `{}`)
		n.want(404, "POST", "/v1/threads/u/answers", `{"approval_id":"`+approval+`","decision":"allow"}`)
		n.want(202, "POST", "/v1/threads/t/answers", `{"type":"tool_approval_response","approval_id":"`+approval+`","decision":"allow"}`)
		n.finished("/v1/threads/t")
		if frames := n.call("GET", "/v1/threads/t/frames", ""); !strings.Contains(string(frames.text), `12345678901234567890`) || !strings.Contains(string(frames.text), `allow`) {
			n.Fatalf("frames: %s", frames.text)
		}
	})
}

func TestSubmit_RefusalsOfTheNode(t *testing.T) {
	onBoth(t, embedded.Options{Session: session.Options{Quota: 1}}, func(n *restNode) {
		n.want(202, "POST", "/v1/threads/a/turns", `{"content":"a","demo":{"frames":100000,"interval_ms":5}}`)
		if over := n.call("POST", "/v1/threads/b/turns", `{"content":"b"}`); over.status != 429 || over.json["code"] != "quota_exceeded" || over.header.Get("Retry-After") == "" {
			n.Fatalf("%d %s", over.status, over.text)
		}
		n.want(404, "GET", "/v1/threads/b", "") // nothing was stored
		if got := n.want(422, "POST", "/v1/threads/a/turns", `{"content":"b","agent":"nobody"}`); got["code"] != "unknown_agent" {
			n.Fatalf("%v", got)
		}
		if got := n.want(405, "POST", "/v1/threads/a", `{}`); got["code"] != "method_not_allowed" {
			n.Fatalf("%v", got)
		}
		n.want(404, "GET", "/v1/nothing", "")
	})
}
