package e2e_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"turnlog/e2e/wire"
)

// doors are the ways into a node, by a request that each of them would take from ann.
var doors = map[string]func(*http.Request){
	"socket": func(r *http.Request) {
		r.URL.Path = "/ws"
		for k, v := range map[string]string{"Connection": "Upgrade", "Upgrade": "websocket", "Sec-WebSocket-Version": "13", "Sec-WebSocket-Key": "dGhlIHNhbXBsZSBub25jZQ=="} {
			r.Header.Set(k, v)
		}
	},
	"call":   func(r *http.Request) { r.URL.Path = "/v1/threads" },
	"change": func(r *http.Request) { r.Method, r.URL.Path = http.MethodDelete, "/v1/threads/none" },
	"stream": func(r *http.Request) {
		r.URL.Path, r.URL.RawQuery = "/v1/threads/t/events", r.URL.RawQuery+"&follow=thread"
	},
	"operators": func(r *http.Request) { r.URL.Path = "/admin/v1/turns" },
}

func TestB102_NoDoorIsOpenToPagesOfOtherHosts(t *testing.T) {
	t.Parallel()
	p := at(t, embedded, "--http.origins", "https://app.example.com,http://localhost:*")
	n := p.nodes[0]
	knock := func(door string, dress func(*http.Request)) (int, string) {
		t.Helper()
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+n.addr+"/?user="+someone(), nil)
		if err != nil {
			t.Fatal(err)
		}
		doors[door](r)
		dress(r)
		resp, code := refusedCall(t, r)
		return resp.StatusCode, code
	}
	origin := func(values ...string) func(*http.Request) {
		return func(r *http.Request) { r.Header["Origin"] = values }
	}
	for door := range doors {
		for name, dress := range map[string]func(*http.Request){
			"no page": func(*http.Request) {}, "a listed page": origin("https://app.example.com"), "any port of this machine": origin("http://localhost:3000"),
			"the page of the node": origin("http://" + n.addr),
		} {
			if status, code := knock(door, dress); status == 403 || status == 421 {
				t.Errorf("%s, %s: %d %s", door, name, status, code)
			}
		}
		for name, dress := range map[string]func(*http.Request){
			"another page": origin("https://evil.example"), "no page's name": origin("null"), "a page that is longer": origin("https://app.example.com.evil.example"),
			"another scheme": origin("http://app.example.com"), "another port": origin("https://app.example.com:444"), "a user before it": origin("https://app.example.com@evil.example"),
			"two pages": origin("https://app.example.com", "https://evil.example"), "nothing readable": origin("://"),
		} {
			if status, code := knock(door, dress); status != 403 || code != "origin_not_allowed" {
				t.Errorf("%s, %s: %d %s", door, name, status, code)
			}
		}
		if status, code := knock(door, func(r *http.Request) { r.Host = "rebound.example" }); status != 421 || code != "host_not_allowed" {
			t.Errorf("%s, a name that somebody points here: %d %s", door, status, code)
		}
	}
}

// What one door calls a thread is that thread at the others, and no other one.
func TestB103_AStrangeIDNamesTheSameThreadAtEveryDoor(t *testing.T) {
	everywhere(t, func(t *testing.T, p *place) {
		user := someone()
		api := asker{t: t, node: p.nodes[0]}
		v := dial(t, p.url(1, user))
		ids := []string{
			"a/b", "a%2Fb", "a%252Fb", ".", "..", "...", "../a", "%2e%2e", "{a}", "a:b", "a:log", "a b", "a+b", "ä😀", "a?b", "a#b", "a;b", "a&b=c", "*", "[x]", `"`, "\\", "a\nb", "a\r\n\r\nb", "\x00", "\x7f",
			"turns", "events", strings.Repeat("y", 256),
		}
		for i, id := range ids {
			at := "/v1/threads/" + escaped(id)
			title, err := json.Marshal(fmt.Sprint("thread ", i))
			if err != nil {
				t.Fatal(err)
			}
			if got := api.ask("PUT", at+"?user="+user, `{"title":`+string(title)+`}`); got.status != 201 {
				t.Errorf("PUT %q: %+v", id, got)
				continue
			}
			ack := v.say(id, object{"frames": 1})
			end := v.end(id, ack.Turn)
			s := p.events(t, 0, user, id, "", ack.Str("epoch")+":0", -1)
			all := s.until("turn_finished")
			if last := all[len(all)-1]; last["thread_id"] != id || last["turn_id"] != ack.Turn || last["chat_seq"] != float64(end.Seq) {
				t.Errorf("%q: the stream shows %v", id, last)
			}
		}
		var listed struct {
			Threads []struct {
				ID    string `json:"thread_id"`
				Title string
			}
		}
		if err := json.Unmarshal([]byte(api.ask("GET", "/v1/threads?limit=200&user="+user, "").body), &listed); err != nil {
			t.Fatal(err)
		}
		for _, l := range listed.Threads {
			if i := slices.Index(ids, l.ID); i < 0 || l.Title != fmt.Sprint("thread ", i) {
				t.Errorf("%q is called %q", l.ID, l.Title)
			}
		}
		if len(listed.Threads) != len(ids) {
			t.Errorf("%d threads out of %d ids", len(listed.Threads), len(ids))
		}
		for name, path := range map[string]string{
			"too long": strings.Repeat("x", 257), "10 kB": strings.Repeat("x", 10<<10), "no UTF-8": "%FF", "half a character": "%C3",
		} {
			for _, below := range []string{"", "/frames", "/messages", "/events?follow=thread"} {
				sep := map[bool]string{true: "&", false: "?"}[strings.Contains(below, "?")]
				if got := api.ask("GET", "/v1/threads/"+path+below+sep+"user="+user, ""); got.status != 400 && got.status != 404 {
					t.Errorf("%s%s: %+v", name, below, got)
				}
			}
		}
	})
}

func TestB104_NonsenseIsAnsweredAtEveryDoorAndTheNodeLives(t *testing.T) {
	everywhere(t, func(t *testing.T, p *place) {
		user := someone()
		api := asker{t: t, node: p.nodes[0]}
		v := dial(t, p.url(0, user))
		v.say("t", object{"frames": 1})
		v.end("t", "")
		bodies := map[string]string{
			"half": `{"content":`, "deep": `{"content":"x","a":` + strings.Repeat("[", 100_000), "list": `[1]`, "null": `null`, "number": `1e999`, "no UTF-8": "{\"content\":\"\xff\"}",
			"wrong type": `{"content":7}`, "wrong everything": `{"content":"x","tools":7,"on_busy":1,"on_disconnect":[],"agent":{},"id":1,"thread_id":"other"}`,
			"many elements": `{"content":"x","a":[` + strings.Repeat("0,", 300_000) + `0]}`, "two values": `{"content":"x"}{"content":"y"}`, "blocks": `{"content":[null]}`,
		}
		for name, body := range bodies {
			for _, path := range []string{"/turns", "/steer"} {
				if got := api.ask("POST", "/v1/threads/t"+path+"?user="+user, body); got.status != 400 || !strings.Contains(got.body, `"code":"invalid_request"`) {
					t.Errorf("%s to %s: %d %s", name, path, got.status, got.body)
				}
			}
		}
		if got := api.ask("POST", "/v1/threads/t/turns?user="+user, `{"content":"`+strings.Repeat("x", 9<<20)+`"}`); got.status != 413 {
			t.Errorf("9 MiB: %d %s", got.status, got.body)
		}
		for _, query := range []string{
			"after=-1", "after=x", "after=:1", "after=e:", "after=" + strings.Repeat("9", 30), "after=e%0d%0aid:%201:1", "full=2", "follow=all", "on_disconnect=now",
			"tools=%00", "tools=" + strings.Repeat("a,", 2000),
		} {
			if got := api.ask("GET", "/v1/threads/t/events?user="+user+"&"+query, ""); got.status != 400 || !strings.Contains(got.body, `"code":"invalid_request"`) {
				t.Errorf("events?%s: %d %s", query[:min(len(query), 60)], got.status, got.body)
			}
		}
		for _, path := range []string{
			"/v1/threads/t/frames?after=-1", "/v1/threads/t/frames?limit=0", "/v1/threads/t/frames?limit=1e3", "/v1/threads/t/messages?before=0", "/v1/threads/t/messages?before=1@", "/v1/threads?cursor=%00", "/v1/threads?cursor=" + strings.Repeat("A", 5000),
		} {
			if got := api.ask("GET", path+"&user="+user, ""); got.status != 400 {
				t.Errorf("%s: %d %s", path[:min(len(path), 60)], got.status, got.body)
			}
		}
		// Numbers at the end of their range are ahead of every log, not behind it.
		for _, far := range []string{"9223372036854775807", "9007199254740993", "4611686018427387904"} {
			if got := api.ask("GET", "/v1/threads/t/frames?after="+far+"&user="+user, ""); got.status != 200 || !strings.Contains(got.body, `"incomplete":true`) {
				t.Errorf("frames after %s: %d %s", far, got.status, got.body)
			}
			h := p.events(t, 0, user, "t", "follow=thread", far, -1).header()
			if h["replay_incomplete"] != true {
				t.Errorf("events after %s: %v", far, h)
			}
		}
		v.say("t", object{"frames": 1}) // still there
		if got := api.ask("GET", "/v1/threads?user="+user, ""); got.status != 200 {
			t.Errorf("after all: %+v", got)
		}
	})
}

// B105: what an agent cuts anywhere arrives whole at every door.
func TestB105_TextArrivesByteForByteAtEveryDoor(t *testing.T) {
	t.Parallel()
	const text = "Grüße 😀 日本語 äöü\u2028\"\\<&> "
	var script strings.Builder
	script.WriteString("cat >/dev/null\n")
	for i := range len(text) { // one write per byte
		script.WriteString("printf '\\" + octal(text[i]) + "'\n")
	}
	script.WriteString("printf '\\377\\376'\n")
	p := program(t, twoNodes, script.String())
	user := someone()
	v := dial(t, p.url(0, user))
	ack := v.say("t", nil, object{"on_disconnect": "preserve"})
	whole := func(door, got string) {
		t.Helper()
		rest, ok := strings.CutPrefix(strings.TrimRight(got, "\n"), text)
		if !ok || rest == "" || strings.Trim(rest, string(utf8.RuneError)) != "" {
			t.Errorf("%s: %q, want %q and replacements", door, got, text)
		}
	}
	whole("stream", streamed(t, p.events(t, 1, user, "t", "", ack.Str("epoch")+":0", -1).until("turn_finished")))
	v.end("t", ack.Turn)
	whole("socket", v.text("t", ack.Turn))
	packed := dial(t, p.nodes[1].url(user, "encoding=msgpack"))
	packed.resume("t", object{"full": true})
	packed.end("t", ack.Turn)
	whole("socket, MessagePack", packed.text("t", ack.Turn))

	api := asker{t: t, node: p.nodes[1]}
	var page struct{ Frames []wire.Object }
	got := api.ask("GET", "/v1/threads/t/frames?user="+user, "")
	if err := json.Unmarshal([]byte(got.body), &page); err != nil {
		t.Fatalf("%+v: %v", got, err)
	}
	whole("frames", streamed(t, page.Frames))
	var kept struct {
		Messages []struct{ Role, Content string }
	}
	got = api.ask("GET", "/v1/threads/t/messages?user="+user, "")
	if err := json.Unmarshal([]byte(got.body), &kept); err != nil || len(kept.Messages) != 2 || !utf8.ValidString(got.body) {
		t.Fatalf("%+v: %v", got, err)
	}
	whole("messages", kept.Messages[1].Content)
}
