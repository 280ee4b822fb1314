package e2e_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"turnlog/e2e/wire"
)

// sample is text whose characters take one to four bytes, one of them combining.
const sample = "aé😀e\u0301日"

// upstream is what stands behind the agents: a model provider and a webhook's server.
type upstream struct {
	server *httptest.Server

	mu    sync.Mutex
	held  map[string]*held
	turns map[string]chan string // webhook turns that wait for a steer, by turn id
}

// held is a request that is answered with a word and then with silence.
type held struct {
	asked, closed chan struct{}
	release       chan struct{} // ends it
	over          time.Time     // when it was closed by the other side; read it after closed
}

func newUpstream() *upstream {
	u := &upstream{held: map[string]*held{}, turns: map[string]chan string{}}
	mux := http.NewServeMux()
	mux.HandleFunc("/hold", func(w http.ResponseWriter, r *http.Request) {
		u.hold(w, r, r.URL.Query().Get("key"), "talking\n")
	})
	mux.HandleFunc("/split", func(w http.ResponseWriter, _ *http.Request) {
		out := flusher{w}
		for cut := 1; cut < len(sample); cut++ {
			out.write(sample[:cut])
			out.write(sample[cut:] + "\n")
		}
	})
	mux.HandleFunc("/v1/chat/completions", u.complete)
	mux.HandleFunc("/turn", u.turn)
	u.server = httptest.NewServer(mux)
	return u
}

// of is the record of a held request; it may be asked for before it begins.
func (u *upstream) of(key string) *held {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.held[key] == nil {
		u.held[key] = &held{asked: make(chan struct{}), closed: make(chan struct{}), release: make(chan struct{})}
	}
	return u.held[key]
}

func (u *upstream) hold(w http.ResponseWriter, r *http.Request, key, first string) {
	h := u.of(key)
	flusher{w}.write(first)
	close(h.asked)
	select {
	case <-h.release:
	case <-r.Context().Done():
		h.over = time.Now()
		close(h.closed)
	}
}

func (u *upstream) steers(turn string) chan string {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.turns[turn] == nil {
		u.turns[turn] = make(chan string, 8)
	}
	return u.turns[turn]
}

// flusher writes pieces that arrive as such.
type flusher struct{ http.ResponseWriter }

func (f flusher) write(piece string) {
	_, _ = io.WriteString(f, piece)
	_ = http.NewResponseController(f.ResponseWriter).Flush()
}

// reset breaks the connection.
func reset() { panic(http.ErrAbortHandler) }

// complete is the provider of a model that does what the last message says.
func (u *upstream) complete(w http.ResponseWriter, r *http.Request) {
	var asked struct {
		Messages []struct {
			Role    string `json:"role"`
			Content any    `json:"content"`
		} `json:"messages"`
	}
	_ = json.NewDecoder(r.Body).Decode(&asked)
	_, _ = io.Copy(io.Discard, r.Body) // only then is a closed connection noticed
	last := asked.Messages[len(asked.Messages)-1]
	content := fmt.Sprint(last.Content)
	verb, rest, _ := strings.Cut(content, " ")
	if last.Role == "tool" {
		verb = "answer"
	}
	if verb == "status-500" {
		http.Error(w, `{"error":{"message":"broken","type":"server_error"}}`, http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	out := flusher{w}
	event := func(delta string) { out.write(delta2event(delta)) }
	text := func(s string) { event(`{"content":` + quoted(s) + `}`) }
	call := func(name, args string) {
		event(`{"tool_calls":[{"index":0,"id":"call_0","function":{"name":"` + name + `","arguments":` + quoted(args) + `}}]}`)
	}
	switch verb {
	case "answer":
		text("answer:" + content)
	case "tool":
		call("clock", "{}")
	case "approve":
		call("rm", "{}")
	case "steer":
		u.hold(w, r, rest, delta2event(`{"content":"ready "}`))
	case "brief":
		text("steer:" + content)
	case "hold":
		u.hold(w, r, rest, delta2event(`{"content":"talking\n"}`))
		return
	case "split":
		for cut := 1; cut < len(sample); cut++ {
			whole := delta2event(`{"content":"` + sample + `"}`)
			at := strings.Index(whole, sample) + cut
			out.write(whole[:at])
			out.write(whole[at:])
			event(`{"content":"` + sample[:cut] + `"}`)
			event(`{"content":"` + sample[cut:] + `"}`)
		}
	case "invalid":
		event("{\"content\":\"bad \xff\xfe.\"}")
		event(`{"content":"\ud83d"}`)
		event("{\"content\":\"\xf0\x9f\"}")
		event("{\"reasoning_content\":\"\xc3\"}")
	case "garbage":
		text("some text")
		out.write("data: {\"choices\":[{\"index\n\n")
	case "error-event":
		text("some text")
		out.write(`data: {"error":{"message":"overloaded","type":"server_error"}}` + "\n\n")
		return
	case "reset":
		text("some text")
		reset()
	case "oversized-arguments":
		call("clock", `{"a":"`+strings.Repeat("x", 200_000)+`"}`)
	default:
		text("heard:" + content)
	}
	out.write(`data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}` + "\n\ndata: [DONE]\n\n")
}

func delta2event(delta string) string {
	return `data: {"choices":[{"index":0,"delta":` + delta + `}]}` + "\n\n"
}

func quoted(s string) string {
	b, _ := json.Marshal(s)
	return string(b)
}

// turn is a webhook's server.
func (u *upstream) turn(w http.ResponseWriter, r *http.Request) {
	var line struct {
		Type    string                   `json:"type"`
		Turn    string                   `json:"turn_id"`
		Ref     string                   `json:"ref"`
		Answer  json.RawMessage          `json:"answer"`
		Error   string                   `json:"error"`
		Message struct{ Content string } `json:"message"`
	}
	_ = json.NewDecoder(r.Body).Decode(&line)
	_, _ = io.Copy(io.Discard, r.Body)
	verb, rest, _ := strings.Cut(line.Message.Content, " ")
	if verb == "status-500" {
		http.Error(w, `{"message":"broken"}`, http.StatusInternalServerError)
		return
	}
	before, after := "", "\n"
	w.Header().Set("Content-Type", "application/x-ndjson")
	if r.URL.Query().Has("events") {
		before, after = "data: ", "\n\n"
		w.Header().Set("Content-Type", "text/event-stream")
	}
	out := flusher{w}
	send := func(object string) { out.write(before + object + after) }
	text := func(s string) string { return `{"type":"chunk","content":` + quoted(s) + `}` }
	const clock, rm = `{"type":"tool_call","ref":"call","name":"clock","args":{}}`, `{"type":"tool_call","ref":"call","name":"rm","args":{}}`
	switch {
	case line.Type == "input":
		u.mu.Lock()
		waiting := u.turns[line.Turn]
		u.mu.Unlock()
		if waiting == nil { // the turn has said what it had to say
			send(text("steer:" + line.Message.Content))
			return
		}
		waiting <- line.Message.Content
		return
	case line.Type == "answer" && line.Ref == "call":
		send(text("answer:" + string(line.Answer) + line.Error))
		return
	case line.Type == "answer" && strings.Contains(string(line.Answer), `"allow`):
		send(rm)
		return
	case line.Type == "answer":
		send(text("denied"))
		return
	}
	switch verb {
	case "tool":
		send(clock)
	case "approve":
		send(`{"type":"tool_approval_request","ref":"approval","tool_name":"rm","args":{}}`)
	case "steer":
		steers := u.steers(line.Turn)
		send(text("ready "))
		select {
		case steer := <-steers:
			send(text("steer:" + steer))
		case <-r.Context().Done():
		}
	case "hold":
		u.hold(w, r, rest, before+text("talking\n")+after)
	case "split":
		for cut := 1; cut < len(sample); cut++ {
			whole := before + `{"type":"chunk","content":"` + sample + `"}` + after
			at := strings.Index(whole, sample) + cut
			out.write(whole[:at])
			out.write(whole[at:])
		}
	case "invalid":
		send("{\"type\":\"chunk\",\"content\":\"bad \xff\xfe\xf0\x9f.\"}")
		send(`{"type":"chunk","content":"\ud83d"}`)
		send("{\"type\":\"note\",\"k\xffey\":\"\xed\xa0\x80\"}")
		send("{\"type\":\"checkpoint\",\"state\":{\"a\":\"\xff\"}}")
	case "oversized":
		send(text(strings.Repeat("x", 200_000)))
	case "invalid-frame":
		send(`{"type":""}`)
	case "reserved":
		send(`{"type":"turn_finished","outcome":"completed"}`)
	case "garbage":
		send(text("some text"))
		send("<html>")
	case "reset":
		send(text("some text"))
		reset()
	case "end-error":
		send(`{"type":"end","error":"No more cheese.","error_type":"out_of_cheese"}`)
	default:
		send(text("heard:" + line.Message.Content))
	}
}

// asked waits until the request of this key is there.
func (u *upstream) asked(t testing.TB, key string) *held {
	t.Helper()
	h := u.of(key)
	select {
	case <-h.asked:
	case <-time.After(wire.Patience):
		t.Fatalf("%s: the upstream was not asked", key)
	}
	return h
}
