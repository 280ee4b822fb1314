package e2e_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"strings"
	"testing"

	"github.com/coder/websocket"

	"turnlog/e2e/wire"
)

func TestB103_StrangeIDsAreEscapedOrRefused(t *testing.T) {
	everywhere(t, func(t *testing.T, p *place) {
		marker := someone()
		ids := []string{
			"{a}", "a:b", "a/b", "a b", "ä😀", "%7Ba%7D", "..", "*", "[x]", "a\nb", `"quoted"`, "\\", "'; DROP", "\x01",
			"turnlog:{1}:someone/else", strings.Repeat("x", 256),
		}
		for _, id := range ids {
			user := marker + id
			u := p.nodes[0].url(url.QueryEscape(user), "")
			a, err := wire.Dial(t.Context(), u, wire.Options{})
			if err != nil {
				continue // refused at the handshake
			}
			ack, err := a.Do("chat_message", message(id, object{"frames": 2}))
			if err != nil {
				t.Errorf("id %q: %v", id, err)
				continue
			}
			if !ack.Has("error") {
				_, end, err := a.Await(0, wire.Patience, func(m wire.Message) bool { return m.Type == "turn_finished" })
				if err != nil || end.Thread != id {
					t.Errorf("id %q: end %s, %v", id, end, err)
				}
			}
			a.Cut()
		}
		// Pairs that a careless key would make one: user and thread swapped around separators.
		a := dial(t, p.nodes[0].url(url.QueryEscape(marker+"/x"), ""))
		b := dial(t, p.url(1, marker))
		ack := a.say("y", object{"frames": 2})
		a.end("y", ack.Turn)
		for _, thread := range []string{"x/y", "y", "x"} {
			b.resume(thread)
			if h := b.header(thread); h.Str("status") != "unknown" {
				t.Errorf("thread %q of another user is %s", thread, h)
			}
		}
		long := b.do("chat_message", message(strings.Repeat("x", 10_000), nil))
		if !long.Has("error") {
			t.Errorf("a 10 kB id was accepted: %s", long)
		}
		if p.redis != nil {
			keys, err := p.redis.own.Keys(context.Background(), "*").Result()
			if err != nil {
				t.Fatal(err)
			}
			for _, key := range keys {
				if strings.Count(key, "{") > 1 || strings.ContainsAny(key, " \n\x01\"'*[]") {
					t.Errorf("key %q holds an unescaped id", key)
				}
			}
		}
	})
}

func TestB104_MalformedMessagesAreAnsweredAndTheNodeLives(t *testing.T) {
	everywhere(t, func(t *testing.T, p *place) {
		deep := strings.Repeat("[", 100_000)
		text := map[string][]byte{
			"empty": {}, "half": []byte(`{"command":`), "deep": []byte(`{"command":"chat_message","data":` + deep),
			"list": []byte(`[1,2]`), "null": []byte(`null`), "number": []byte(`1e999`), "string": []byte(`"x"`),
			"wrong types":  []byte(`{"command":7,"data":"x"}`),
			"wrong data":   []byte(`{"command":"chat_message","data":{"thread_id":[1],"content":{}}}`),
			"huge number":  []byte(`{"command":"resume_chat","data":{"thread_id":"t","last_seq":` + strings.Repeat("9", 400) + `}}`),
			"nothing":      []byte(`{}`),
			"unknown type": []byte(`{"type":"nonsense"}`), "unknown command": []byte(`{"command":"nonsense"}`),
			"no thread": []byte(`{"command":"resume_chat","data":{}}`), "bad utf8": {'{', '"', 0xff, '"', ':', '1', '}'},
			"bad answer": []byte(`{"type":"tool_result","tool_call_id":7}`),
		}
		binary := map[string][]byte{
			"bomb array": {0xdd, 0xff, 0xff, 0xff, 0xff}, "bomb map": {0xdf, 0xff, 0xff, 0xff, 0xff}, "bomb string": {0xdb, 0xff, 0xff, 0xff, 0xff},
			"bomb ext": {0xc9, 0xff, 0xff, 0xff, 0xff, 1}, "deep": bytes.Repeat([]byte{0x91}, 200_000), "empty": {}, "never used": {0xc1},
			"number keys": {0x81, 0x01, 0x02}, "cut": {0x81, 0xa7, 'c', 'o'},
		}
		user := someone()
		v := dial(t, p.url(0, user))
		v.settle()
		send := func(name string, kind websocket.MessageType, b []byte) {
			mark := v.Mark()
			if err := v.SendRaw(kind, b); err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			answered := func(m wire.Message) bool { return m.Type == "" && (m.Has("error") || name == "huge number") } // not finite: 0
			if _, _, err := v.Await(mark, wire.Patience, answered); err != nil {
				t.Errorf("%s: no error: %v\n%s", name, err, v.recent())
			}
		}
		for name, b := range text {
			send(name, websocket.MessageText, b)
		}
		for name, b := range binary {
			send(name, websocket.MessageBinary, b)
		}
		v.ok("chat_message", message("t", object{"frames": 1})) // still there
		v.end("t", "")

		big := dial(t, p.url(0, user))
		huge, err := json.Marshal(object{"command": "chat_message", "data": message("t", nil, object{"content": strings.Repeat("x", 9<<20)})})
		if err != nil {
			t.Fatal(err)
		}
		_ = big.SendRaw(websocket.MessageText, huge)
		<-big.Done()
		if got := big.CloseCode(); got != 1009 && got != -1 {
			t.Errorf("an oversized message closed with %d, want 1009", got)
		}

		flood := dial(t, p.url(0, user))
		for range 20_000 {
			if flood.SendRaw(websocket.MessageText, []byte(`{"type":"ping"}`)) != nil {
				break
			}
		}
		eventually(t, "the flood ends or is slowed down", func() bool {
			select {
			case <-flood.Done():
				return true
			default:
				return flood.Mark() >= 400
			}
		})
		if rss := memory(t, p.nodes[0]); rss > 600<<20 {
			t.Errorf("the node needs %d MiB after all this", rss>>20)
		}
		after := dial(t, p.url(0, user))
		after.settle()
	})
}

func TestErrorsFollowTheTable(t *testing.T) {
	everywhere(t, func(t *testing.T, p *place) {
		v := dial(t, p.url(0, someone()))
		v.settle()
		for name, row := range map[string]struct {
			raw  string
			want string
		}{
			"undecodable":     {`{`, "invalid_frame"},
			"neither":         {`{"x":1}`, "invalid_message"},
			"bad data":        {`{"command":"chat_message","data":{"thread_id":"t"}}`, "invalid_command"},
			"unknown command": {`{"command":"nonsense","data":{}}`, "Unknown command"},
			"no thread":       {`{"command":"resume_chat","data":{}}`, "thread_id is required for resume_chat command"},
		} {
			mark := v.Mark()
			if err := v.SendRaw(websocket.MessageText, []byte(row.raw)); err != nil {
				t.Fatal(err)
			}
			_, got, err := v.Await(mark, wire.Patience, func(m wire.Message) bool { return m.Has("error") })
			if err != nil || got.Str("error") != row.want || got.Has("type") {
				t.Errorf("%s: %s, %v; want %q", name, got, err, row.want)
			}
		}
		id := fmt.Sprint("r", 77)
		if err := v.Send(object{"command": "nonsense", "request_id": id}); err != nil {
			t.Fatal(err)
		}
		if _, _, err := v.Await(0, wire.Patience, func(m wire.Message) bool { return m.Ack(id) }); err != nil {
			t.Errorf("the error does not echo its request_id: %v", err)
		}
	})
}
