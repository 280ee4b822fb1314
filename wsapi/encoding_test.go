package wsapi_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/coder/websocket"
	"github.com/vmihailenco/msgpack/v5"

	"turnlog/wsapi"
	"turnlog/wsapi/pack"
)

func packed(t testing.TB, v any) []byte {
	t.Helper()
	b, err := msgpack.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// unpacked reads one binary message with an independent decoder.
func (p *peer) unpacked() any {
	p.t.Helper()
	typ, b, err := p.raw()
	if err != nil || typ != websocket.MessageBinary {
		p.t.Fatalf("read %v: %v", typ, err)
	}
	var v any
	if err := msgpack.Unmarshal(b, &v); err != nil {
		p.t.Fatal(err)
	}
	return v
}

func asJSON(t testing.TB, v any) string {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func TestSetModeAnswersInTheNewModeAlready(t *testing.T) {
	w := newWorld()
	_, url := serve(t, w, wsapi.Options{}, nil)
	w.begin("1", "t", "T")
	p := follow(t, url)
	p.send(`{"command":"set_mode","data":{"mode":"binary"},"request_id":"m"}`)
	if got := asJSON(t, p.unpacked()); got != `{"message":"Mode set to binary","request_id":"m"}` {
		t.Fatal(got)
	}
	w.emit("1", "t", `{"type":"chunk","content":"ü\n\u20ac","n":[1,-1,70000,1.5,1099511627776]}`)
	if got := asJSON(t, p.unpacked()); !sameJSON(got, `{"chat_seq":2,"content":"ü\n€","n":[1,-1,70000,1.5,1099511627776],"thread_id":"t","turn_id":"T","type":"chunk"}`) {
		t.Fatal(got)
	}
	p.write(websocket.MessageBinary, packed(t, map[string]any{"command": "set_mode", "data": map[string]any{"mode": "text"}}))
	p.want(`{"message":"Mode set to text"}`)
}

func TestEncodingByQueryAndBatches(t *testing.T) {
	w := newWorld()
	_, url := serve(t, w, wsapi.Options{}, nil)
	w.begin("1", "t", "T")
	for i := range 300 {
		w.emit("1", "t", fmt.Sprintf(`{"type":"chunk","content":"%d"}`, i))
	}
	for _, query := range []string{"?batch=1", "?batch=1&encoding=msgpack", "?encoding=msgpack"} {
		p := dialRaw(t, url+query, nil)
		p.send(`{"command":"resume_chat","data":{"thread_id":"t","last_seq":1,"epoch":"e1"}}`)
		frames, messages := 0, 0
		for acked := false; !acked; messages++ {
			_, b, err := p.raw()
			if err != nil {
				t.Fatal(err)
			}
			if query != "?batch=1" {
				if b, err = pack.ToJSON(nil, b, pack.Limits{}); err != nil {
					t.Fatal(err)
				}
			}
			list := []json.RawMessage{b}
			if b[0] == '[' {
				if err := json.Unmarshal(b, &list); err != nil {
					t.Fatal(err)
				}
			}
			for _, raw := range list {
				f := parse(t, string(raw))
				if f["type"] == "chunk" {
					frames++
				}
				acked = f["message"] == "Chat resumed"
			}
		}
		if batch := query[1] == 'b'; frames != 300 || batch != (messages < 30) {
			t.Fatalf("%s: %d frames in %d messages", query, frames, messages)
		}
	}
}

func TestAHandshakeThatAsksForTheUnknownIsRefusedWithASentence(t *testing.T) {
	_, url := serve(t, newWorld(), wsapi.Options{}, nil)
	for query, want := range map[string]string{
		"?encoding=msgpak": "encoding must be json or msgpack", "?batch=yes": "batch must be 0 or 1",
		"?user=%ff": "user must be valid UTF-8",
	} {
		resp, err := http.Get("http" + strings.TrimPrefix(url, "ws") + query)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(resp.Body)
		resp.Body.Close()
		if err != nil || !strings.Contains(string(body), want) || resp.StatusCode/100 != 4 {
			t.Errorf("%s: %s %q, %v", query, resp.Status, body, err)
		}
	}
	for _, query := range []string{"", "?encoding=json", "?encoding=&batch=0"} {
		dial(t, url+query).settle()
	}
}

func TestManyMessagesAreOneSystemCall(t *testing.T) {
	w := newWorld()
	s, url := serve(t, w, wsapi.Options{}, nil)
	w.begin("1", "t", "T")
	for range 2000 {
		w.emit("1", "t", `{"type":"chunk","content":"some words of an answer"}`)
	}
	p := dial(t, url)
	before := s.Writes()
	p.send(`{"command":"resume_chat","data":{"thread_id":"t","last_seq":1,"epoch":"e1"}}`)
	p.until("ack", func(f map[string]any) bool { return f["message"] != nil })
	calls := s.Writes() - before
	t.Logf("2,002 messages in %d system calls", calls)
	if calls > 20 {
		t.Fatalf("%d system calls", calls)
	}
}

func TestB104_MessagePackThatIsNotUnderstoodIsAnswered(t *testing.T) {
	w := newWorld()
	_, url := serve(t, w, wsapi.Options{}, nil)
	p := dial(t, url)
	for name, b := range map[string][]byte{
		"bomb list":  {0xdd, 0xff, 0xff, 0xff, 0xff},
		"bomb map":   {0xdf, 0xff, 0xff, 0xff, 0xff, 0xa1},
		"bomb text":  {0xdb, 0x7f, 0xff, 0xff, 0xff, 'x'},
		"bomb ext":   {0xc9, 0xff, 0xff, 0xff, 0xff, 0},
		"int key":    {0x81, 1, 1},
		"extension":  {0xd4, 0x72, 0x40},
		"undefined":  {0xd4, 0, 0},
		"reserved":   {0xc1},
		"trailing":   {0xc0, 0xc0},
		"bad utf-8":  {0x81, 0xa1, 0xff, 1},
		"empty":      {},
		"truncated":  {0x82, 0xa1, 'a', 1},
		"deep lists": deepLists(5000),
	} {
		p.write(websocket.MessageBinary, b)
		if f := p.next(); f["error"] != "invalid_frame" || f["message"] == "" {
			t.Errorf("%s: %v", name, f)
		}
	}
	p.settle()
}

func deepLists(n int) []byte {
	b := make([]byte, n+1)
	for i := range n {
		b[i] = 0x91
	}
	b[n] = 0xc0
	return b
}
