package openai_test

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

	"go.uber.org/goleak"

	"turnlog/agent"
	"turnlog/agent/agenttest"
	"turnlog/agent/openai"
	"turnlog/frame"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// provider is a hand-written endpoint: each request takes the next script.
type provider struct {
	url      string
	client   *http.Client
	mu       sync.Mutex
	scripts  []http.HandlerFunc
	requests []map[string]json.RawMessage
}

func newProvider(t *testing.T, scripts ...http.HandlerFunc) *provider {
	t.Helper()
	p := &provider{scripts: scripts}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body := make(map[string]json.RawMessage)
		if err := json.NewDecoder(r.Body).Decode(&body); err != nil || r.URL.Path != "/v1/chat/completions" {
			t.Errorf("request to %s: %v", r.URL.Path, err)
		}
		p.mu.Lock()
		p.requests = append(p.requests, body)
		if len(p.scripts) == 0 {
			p.mu.Unlock()
			http.Error(w, `{"error":{"message":"no script is left"}}`, http.StatusTeapot)
			return
		}
		script := p.scripts[0]
		p.scripts = p.scripts[1:]
		p.mu.Unlock()
		script(w, r)
	}))
	p.url, p.client = s.URL+"/v1", s.Client()
	t.Cleanup(s.Close)
	return p
}

func (p *provider) request(i int) string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return string(p.requests[i]["messages"])
}

func (p *provider) asked() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.requests)
}

func (p *provider) agent(t *testing.T, o openai.Options) *openai.Agent {
	t.Helper()
	o.BaseURL, o.HTTPClient = p.url, p.client
	if o.Model == "" {
		o.Model = "m"
	}
	if o.RetryDelay == 0 {
		o.RetryDelay = time.Millisecond
	}
	a, err := openai.New(o)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// stream answers with the given bytes, flushed after each part.
func stream(parts ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		for _, part := range parts {
			_, _ = io.WriteString(w, part)
			_ = http.NewResponseController(w).Flush()
		}
	}
}

// event is one chunk of a stream; delta is a JSON object.
func event(delta string) string {
	return `data: {"id":"c","object":"chat.completion.chunk","created":1,"model":"m-1","choices":[{"index":0,"delta":` + delta + `,"finish_reason":null}]}` + "\n\n"
}

func text(s string) string {
	b, _ := json.Marshal(map[string]string{"content": s})
	return event(string(b))
}

func finish(reason string) string {
	return `data: {"id":"c","object":"chat.completion.chunk","created":1,"model":"m-1","choices":[{"index":0,"delta":{},"finish_reason":"` + reason + `"}]}` + "\n\n"
}

func used(prompt, completion int) string {
	return fmt.Sprintf(`data: {"id":"c","object":"chat.completion.chunk","created":1,"model":"m-1","choices":[],"usage":{"prompt_tokens":%d,"completion_tokens":%d,"total_tokens":%d}}`+"\n\n",
		prompt, completion, prompt+completion)
}

const done = "data: [DONE]\n\n"

func newTurn(message, data, tools string) *agenttest.Turn {
	row, _ := json.Marshal(map[string]string{"role": "user", "content": message})
	info := agent.Info{Message: row}
	if data != "" {
		info.Data = json.RawMessage(data)
	}
	if tools != "" {
		info.Tools = json.RawMessage(tools)
	}
	return agenttest.New(info)
}

func types(frames []json.RawMessage) string {
	var out []string
	for _, f := range frames {
		typ, _ := frame.Type(f)
		if role, ok := frame.String(f, "role"); ok {
			typ += ":" + role
		}
		out = append(out, typ)
	}
	return strings.Join(out, " ")
}

func TestTextThinkingAndUsage(t *testing.T) {
	p := newProvider(t, stream(event(`{"role":"assistant","content":""}`),
		event(`{"reasoning_content":"hm "}`), event(`{"reasoning":"so"}`), event(`{"content":null}`), text("Hel"), text(""), text("lo"), finish("stop"), used(7, 3), done))
	turn := newTurn("hi", `{"model":"other","permission_mode":5}`, "")
	turn.Rows = []json.RawMessage{[]byte(`{"role":"user","content":"before"}`), []byte(`{"role":"assistant","content":"yes"}`)}
	a := p.agent(t, openai.Options{System: "be brief", Params: map[string]any{"temperature": 0.5}})
	if err := a.Run(t.Context(), turn); err != nil {
		t.Fatal(err)
	}
	if got := types(turn.Frames()); got != "chunk chunk chunk chunk message:assistant" || turn.Message() != "Hello" {
		t.Fatalf("%s: %s", got, turn.Frames())
	}
	if string(turn.Frames()[0]) != `{"type":"chunk","content":"hm ","thinking":true}` || string(turn.Frames()[2]) != `{"type":"chunk","content":"Hel"}` {
		t.Errorf("%s", turn.Frames())
	}
	if string(turn.Usage()) != `{"prompt_tokens":7,"completion_tokens":3,"total_tokens":10,"rounds":1,"model":"m-1"}` {
		t.Errorf("usage %s", turn.Usage())
	}
	want := `[{"role":"system","content":"be brief"},{"role":"user","content":"before"},{"role":"assistant","content":"yes"},{"role":"user","content":"hi"}]`
	if got := p.request(0); got != want {
		t.Errorf("messages %s", got)
	}
	req := p.requests[0]
	if string(req["model"]) != `"other"` || string(req["temperature"]) != "0.5" || string(req["stream_options"]) != `{"include_usage":true}` || string(req["stream"]) != "true" || req["tools"] != nil {
		t.Errorf("request %s", req)
	}
}

func TestModelsMayBeLimited(t *testing.T) {
	p := newProvider(t)
	for name, tc := range map[string]struct {
		options openai.Options
		data    string
	}{
		"not offered": {openai.Options{Models: []string{"small"}}, `{"model":"large"}`},
	} {
		t.Run(name, func(t *testing.T) {
			err := p.agent(t, tc.options).Run(t.Context(), newTurn("hi", tc.data, ""))
			wantFault(t, err, "invalid_request", 0)
		})
	}
	if p.asked() != 0 {
		t.Error("the provider was asked")
	}
}

func TestImpossibleOptionsAreNamed(t *testing.T) {
	for want, o := range map[string]openai.Options{
		"base URL":         {},
		"http://":          {BaseURL: "localhost:1234/v1"},
		"chat/completions": {BaseURL: "http://x/v1/chat/completions"},
		`"messages"`:       {BaseURL: "http://x/v1", Params: map[string]any{"messages": 1}},
		"rounds":           {BaseURL: "http://x/v1", MaxRounds: -1},
	} {
		if _, err := openai.New(o); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: %v", o, err)
		}
	}
}

func TestF13_AStopCancelsTheRequestAtOnce(t *testing.T) {
	for _, begun := range []bool{false, true} {
		t.Run(fmt.Sprintf("answer begun %v", begun), func(t *testing.T) {
			asked, hungUp := make(chan struct{}), make(chan struct{})
			p := newProvider(t, func(w http.ResponseWriter, r *http.Request) {
				if begun {
					stream(text("word"))(w, r)
				}
				close(asked)
				<-r.Context().Done()
				close(hungUp)
			})
			ctx, cancel := contextWithCause(t)
			turn := newTurn("hi", "", "")
			ended := make(chan error, 1)
			go func() { ended <- p.agent(t, openai.Options{}).Run(ctx, turn) }()
			await(t, asked, "the request")
			if begun {
				turn.Await(t, "the first word", func() bool { return turn.Text() == "word" })
			}
			cancel(&agent.Ended{Outcome: "stopped"})
			await(t, hungUp, "the provider to notice")
			if err := <-ended; err == nil || err.Error() != "turn ended: stopped" {
				t.Fatal(err)
			}
		})
	}
}
