package openai_test

import (
	"bytes"
	"context"
	"encoding/json"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"turnlog/agent"
	"turnlog/agent/openai"
)

func TestARedirectLeadsMessagesAndKeyNowhere(t *testing.T) {
	var stolen atomic.Int64
	thief := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { stolen.Add(1) }))
	defer thief.Close()
	for _, status := range []int{301, 302, 303, 307, 308} {
		p := newProvider(t, func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, thief.URL+"/v1/chat/completions", status)
		})
		fault := wantFault(t, p.agent(t, openai.Options{APIKey: "sk-secret"}).Run(t.Context(), newTurn("secret", "", "")), "invalid_answer", status)
		if !strings.Contains(fault.Message, "redirects are not followed") || p.asked() != 1 {
			t.Errorf("%d: asked %d times, %q", status, p.asked(), fault.Message)
		}
	}
	if n := stolen.Load(); n != 0 {
		t.Errorf("the other address got %d requests", n)
	}
}

func TestWhatComesInsteadOfAStreamIsNamed(t *testing.T) {
	instead := func(kind, body string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", kind)
			_, _ = w.Write([]byte(body))
		}
	}
	cut := func(parts ...string) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			stream(parts...)(w, r)
			panic(http.ErrAbortHandler)
		}
	}
	for name, tc := range map[string]struct {
		answer http.HandlerFunc
		kind   string
		status int
		says   string
	}{
		"a page":               {instead("text/html; charset=utf-8", "<html>log in</html>"), "invalid_answer", 0, "text/html"},
		"an error":             {instead("application/json", `{"error":{"message":"no credit","type":"billing","code":402}}`), "billing", 402, "no credit"},
		"a whole completion":   {instead("application/json", `{"choices":[{"message":{"content":"hi"}}]}`), "invalid_answer", 0, "application/json"},
		"nothing":              {stream(": hello\n\n"), "stream_ended", 0, "empty"},
		"only the end":         {stream(done), "stream_ended", 0, "empty"},
		"cut before a word":    {cut(": hello\n\n"), "stream_ended", 0, "broke off"},
		"cut behind a word":    {cut(text("word")), "stream_ended", 0, "broke off"},
		"a line without end":   {stream("data: " + strings.Repeat("x", 33<<20)), "invalid_answer", 0, "too long"},
		"nothing at all":       {func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }, "provider_unreachable", 0, "reached"},
		"an error with a code": {stream(`data: {"error":{"message":"full","code":"overloaded"}}` + "\n\n"), "overloaded", 0, "full"},
	} {
		t.Run(name, func(t *testing.T) {
			err := newProvider(t, tc.answer).agent(t, openai.Options{Retries: -1}).Run(t.Context(), newTurn("hi", "", ""))
			if fault := wantFault(t, err, tc.kind, tc.status); !strings.Contains(fault.Message, tc.says) {
				t.Errorf("says %q, not %q", fault.Message, tc.says)
			}
		})
	}
}

func TestTheLogSaysWhatTheNetworkDidAndNoWordOfTheProvider(t *testing.T) {
	gone := httptest.NewServer(http.NotFoundHandler())
	gone.Close()
	var log bytes.Buffer
	a, err := openai.New(openai.Options{
		BaseURL: gone.URL + "/v1?key=secret", Model: "m", Retries: -1, HTTPClient: gone.Client(), Logger: slog.New(slog.NewTextHandler(&log, nil)),
	})
	if err != nil {
		t.Fatal(err)
	}
	wantFault(t, a.Run(t.Context(), newTurn("hi", "", "")), "provider_unreachable", 0)
	if got := log.String(); !strings.Contains(got, "connection refused") || strings.Contains(got, "secret") {
		t.Errorf("logged %s", got)
	}
	log.Reset()
	p := newProvider(t, stream(`data: {"error":{"message":"you said: secret"}}`+"\n\n"))
	wantFault(t, p.agent(t, openai.Options{Retries: -1, Logger: slog.New(slog.NewTextHandler(&log, nil))}).Run(t.Context(), newTurn("secret", "", "")), "provider_error", 0)
	if got := log.String(); !strings.Contains(got, "provider_error") || strings.Contains(got, "secret") || strings.Contains(got, "nil") {
		t.Errorf("logged %s", got)
	}
}

func TestTokensThatTheProviderDoesNotTellAreNotZero(t *testing.T) {
	nameless := strings.ReplaceAll(text("hi")+finish("stop"), `"model":"m-1",`, "")
	turn := newTurn("hi", "", "")
	if err := newProvider(t, stream(nameless, done)).agent(t, openai.Options{Model: "asked-for"}).Run(t.Context(), turn); err != nil {
		t.Fatal(err)
	}
	if got := string(turn.Usage()); got != `{"rounds":1,"model":"asked-for"}` {
		t.Errorf("usage %s", got)
	}
	turn = newTurn("hi", "", manifest)
	turn.Asking = func(context.Context, agent.Ask) (json.RawMessage, error) { return json.RawMessage(`{"ok":true}`), nil }
	p := newProvider(t, stream(calling(0, "c", "weather", "{}"), finish("tool_calls"), done), stream(text("hi"), finish("stop"), used(3, 4), done))
	if err := p.agent(t, openai.Options{}).Run(t.Context(), turn); err != nil {
		t.Fatal(err)
	}
	if got := string(turn.Usage()); got != `{"prompt_tokens":3,"completion_tokens":4,"total_tokens":7,"rounds":2,"model":"m-1"}` {
		t.Errorf("usage %s", got)
	}
}

func TestAnAnswerThatSaysNothingIsNoSuccess(t *testing.T) {
	turn := newTurn("hi", "", manifest)
	turn.Asking = func(context.Context, agent.Ask) (json.RawMessage, error) {
		return json.RawMessage(`{"decision":"allow"}`), nil
	}
	p := newProvider(t, stream(calling(0, "c", "weather", "{}"), finish("tool_calls"), done), stream(text("hi"), finish("stop"), done))
	if err := p.agent(t, openai.Options{}).Run(t.Context(), turn); err != nil {
		t.Fatal(err)
	}
	if got := p.request(1); !strings.Contains(got, `{"role":"tool","content":"Error: the client's answer has neither a result nor an error.",`) {
		t.Errorf("the model is told %s", got)
	}
}
