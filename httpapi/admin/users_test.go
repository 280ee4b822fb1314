package admin_test

import (
	"bufio"
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"turnlog/eventlog"
	"turnlog/internal/redistest"
)

const ann = "/admin/v1/users/a%2Fn/threads"

func TestAUsersThreadsAndOneOfThem(t *testing.T) {
	onBoth(t, func(r *rig) {
		for i := range 3 {
			r.want(201, "PUT", fmt.Sprintf("/v1/threads/t%%2F%d?user=a/n", i), `{"title":"no"}`)
		}
		turn := r.submit("a/n", "t%2F1", `{"content":"secret words","demo":{"frames":100000,"interval_ms":2,"tool_call":{"name":"look","at":2}}}`)
		var got []string
		for path := ann + "?limit=2"; ; {
			page := r.want(200, "GET", path, "")
			for _, th := range list(page, "threads") {
				got = append(got, th["thread_id"].(string))
			}
			if page["next"] == nil {
				break
			}
			path = ann + "?limit=2&cursor=" + page["next"].(string)
		}
		if len(got) != 3 || got[0] != "t/1" {
			r.Errorf("threads %v", got)
		}
		r.want(400, "GET", ann+"?cursor=!", "")
		one := r.until(ann+"/t%2F1", "asking", func(m map[string]any) bool { return len(list(m, "requests")) == 1 })
		newest, held := one["turn"].(map[string]any), one["log"].(map[string]any)
		if one["status"] != "running" || one["title"] != "no" || newest["turn_id"] != turn || newest["detached_at"] == nil || held["frames"].(float64) < 3 || held["first_seq"] != 1.0 {
			r.Errorf("thread %v", one)
		}
		keys := list(one, "keys")
		if len(keys) < 10 || !slices.ContainsFunc(keys, func(k map[string]any) bool {
			return k["name"] == "T:state" && k["exists"] == true && k["ttl_ms"] == nil && strings.HasPrefix(k["command"].(string), "HGETALL 'turnlog:{") && strings.Contains(k["command"].(string), ":a%2Fn/t%2F1:state'")
		}) {
			r.Errorf("keys %v", keys)
		}
		page := r.want(200, "GET", ann+"/t%2F1/frames?limit=2", "")
		frames := list(page, "frames")
		if len(frames) != 2 || frames[0]["type"] != "turn_started" || frames[0]["turn_id"] != turn || page["next"] != 2.0 || frames[1]["chat_seq"] != 2.0 ||
			frames[1]["frame"].(map[string]any)["type"] != frames[1]["type"] || frames[1]["frame"].(map[string]any)["chat_seq"] != nil {
			r.Errorf("frames %v", page)
		}
		last := int64(r.want(200, "GET", ann+"/t%2F1", "")["log"].(map[string]any)["last_seq"].(float64))
		if rest := r.want(200, "GET", fmt.Sprintf("%s/t%%2F1/frames?after=%d", ann, last+1_000_000), ""); len(list(rest, "frames")) != 0 || rest["next"] != nil {
			r.Errorf("behind the end: %v", rest)
		}
		for _, missing := range []string{"", "/frames"} {
			r.want(404, "GET", ann+"/none"+missing, "")
		}
		r.want(404, "POST", ann+"/none/stop", "")
		r.want(400, "GET", ann+"/"+strings.Repeat("x", 300), "")

		gone := r.want(200, "DELETE", ann+"/t%2F1", "")
		if gone["threads"] != 1.0 || gone["turns_ended"] != 1.0 || gone["frames"].(float64) < 3 || gone["messages"] != 1.0 || gone["streams"].(float64) < 2 || gone["marks_until"] == nil {
			r.Errorf("deleted %v", gone)
		}
		if again := r.want(200, "DELETE", ann+"/t%2F1", ""); again["threads"] != 0.0 || again["keys"] != 0.0 || again["marks_until"] != nil {
			r.Errorf("again %v", again)
		}
		if mark := r.want(200, "GET", ann+"/t%2F1", ""); mark["deleted_at"] == nil || mark["turn"] != nil {
			r.Errorf("the mark %v", mark)
		}
		r.want(404, "POST", ann+"/t%2F1/stop", "")
		r.want(404, "GET", "/v1/threads/t%2F1?user=a/n", "")
	})
}

// follow reads a thread's event stream as its user until it ends or the test does, and returns what comes.
func (r *rig) follow(user, thread string) <-chan string {
	r.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 2*patience)
	r.Cleanup(cancel)
	req, err := http.NewRequestWithContext(ctx, "GET", r.url+"/v1/threads/"+thread+"/events?after=0&follow=thread&user="+user, nil)
	if err != nil {
		r.Fatal(err)
	}
	res, err := http.DefaultTransport.RoundTrip(req)
	if err != nil || res.StatusCode != 200 {
		r.Fatalf("%v %v", res, err)
	}
	out := make(chan string, 1<<16)
	go func() {
		defer close(out)
		defer res.Body.Close()
		for lines := bufio.NewScanner(res.Body); lines.Scan(); {
			out <- lines.Text()
		}
	}()
	r.Cleanup(func() {
		cancel()
		for range out {
		}
	})
	return out
}

// until reads lines until one has all of the words.
func awaitLine(t testing.TB, lines <-chan string, words ...string) {
	t.Helper()
	timeout := time.After(patience)
	for {
		select {
		case line, ok := <-lines:
			if !ok {
				t.Fatalf("the stream ended without %v", words)
			}
			if !slices.ContainsFunc(words, func(w string) bool { return !strings.Contains(line, w) }) {
				return
			}
		case <-timeout:
			t.Fatalf("no line with %v", words)
		}
	}
}

func TestAStopTellsThatAnOperatorDidIt(t *testing.T) {
	addr := redistest.Start(t)
	owner, other := start(t, addr, nil), start(t, addr, nil)
	turn := owner.submit("ann", "t", endless)
	owner.submit("ann", "t", strings.Replace(endless, "{", `{"on_busy":"enqueue",`, 1))
	sees := owner.follow("ann", "t")
	awaitLine(t, sees, `"type":"chunk"`)
	for body, field := range map[string]string{`{"turn_id":7}`: "turn_id", `{"reason":7}`: "reason", `{"reason":"` + strings.Repeat("x", 257) + `"}`: "reason", `[]`: "body"} {
		if got := other.want(400, "POST", "/admin/v1/users/ann/threads/t/stop", body); list(got, "errors")[0]["field"] != field {
			t.Errorf("%s: %v", body, got)
		}
	}
	other.want(415, "POST", "/admin/v1/users/ann/threads/t/stop", `{}`, "Content-Type", "text/plain")
	other.want(413, "POST", "/admin/v1/users/ann/threads/t/stop", `{"x":"`+strings.Repeat("x", 70_000)+`"}`)
	got := other.want(200, "POST", "/admin/v1/users/ann/threads/t/stop", `{"reason":"maintenance"}`)
	if got["stopped"] != true || got["turn_id"] != turn || len(got["dropped"].([]any)) != 1 {
		t.Errorf("stop %v", got)
	}
	awaitLine(t, sees, `"type":"generation_stopped"`, `"message":"Stopped by an operator: maintenance"`)
	awaitLine(t, sees, `"type":"turn_finished"`, `"outcome":"stopped"`)
	owner.until("/admin/v1/users/ann/threads/t", "stopped", func(m map[string]any) bool { return m["outcome"] == "stopped" })
	if again := other.want(200, "POST", "/admin/v1/users/ann/threads/t/stop", ""); again["stopped"] != false {
		t.Errorf("again %v", again)
	}
	wantChanges(other, "1", "stop_turn", "stop_turn")
}

// The turn runs on one node, the operator asks another one.
func TestDeletingAUserReachesTurnsOfOtherNodes(t *testing.T) {
	addr := redistest.Start(t)
	owner, other := start(t, addr, nil), start(t, addr, nil)
	owner.submit("ann", "runs", endless)
	owner.submit("ann", "waits", endless)
	owner.submit("ann", "waits", strings.Replace(endless, "{", `{"on_busy":"enqueue",`, 1))
	owner.submit("ann", "over", brief)
	owner.submit("bob", "his", endless)
	owner.until("/v1/threads/over?user=ann", "finished", func(m map[string]any) bool { return m["status"] == "finished" })
	sees := owner.follow("ann", "runs")
	awaitLine(t, sees, `"type":"chunk"`)
	if n := owner.node.Sessions().RunningHere(); n != 3 {
		t.Fatalf("%d turns run on the owner", n)
	}

	got := other.want(200, "DELETE", "/admin/v1/users/ann", "")
	if got["complete"] != true || got["threads"] != 3.0 || got["turns_ended"] != 2.0 || got["queued"] != 1.0 || got["frames"].(float64) < 8 || got["streams"].(float64) < 6 || got["keys"].(float64) < 12 ||
		len(got["begun_meanwhile"].(map[string]any)["thread_ids"].([]any)) != 0 {
		t.Errorf("report %v", got)
	}
	// The agents of ann's turns end, her stream is told, nothing of her is left but marks; bob's goes on.
	awaitLine(t, sees, `"type":"chat_resumed"`, `"status":"unknown"`)
	owner.until("/admin/v1/nodes", "down to bob's turn", func(map[string]any) bool { return owner.node.Sessions().RunningHere() == 1 })
	in, err := other.node.Log().Inspect(t.Context(), eventlog.Thread{User: "ann", ID: "runs"})
	if err != nil || in.Exists || in.Deleted.IsZero() || in.Log.Frames != 0 || in.Log.Messages != 0 {
		t.Errorf("left of ann %+v, %v", in, err)
	}
	for _, path := range []string{"/admin/v1/turns?user=ann", "/v1/turns?user=ann"} {
		if left := list(other.want(200, "GET", path, ""), "turns"); len(left) != 0 {
			t.Errorf("%s: %v", path, left)
		}
	}
	if left := list(other.want(200, "GET", "/admin/v1/users/ann/threads", ""), "threads"); len(left) != 0 {
		t.Errorf("threads %v", left)
	}
	if his := list(other.want(200, "GET", "/admin/v1/turns", ""), "turns"); len(his) != 1 || his[0]["user"] != "bob" {
		t.Errorf("running %v", his)
	}
	if again := other.want(200, "DELETE", "/admin/v1/users/ann", ""); again["complete"] != true || again["threads"] != 0.0 || again["keys"] != 0.0 {
		t.Errorf("again %v", again)
	}
	// She may begin anew.
	owner.submit("ann", "runs", brief)
	wantChanges(other, "1", "delete_user", "delete_user")
}
