package main

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// streamModel is a model that calls a tool first and then repeats its result.
func streamModel(t *testing.T) string {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		w.Header().Set("Content-Type", "text/event-stream")
		if !strings.Contains(string(body), `"role":"tool"`) {
			fmt.Fprint(w, `data: {"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"call_0","function":{"name":"where","arguments":"{}"}}]},"finish_reason":"tool_calls"}]}`+"\n\ndata: [DONE]\n\n")
			return
		}
		fmt.Fprint(w, `data: {"choices":[{"index":0,"delta":{"content":"You are in Oslo."},"finish_reason":"stop"}]}`+"\n\n"+
			`data: {"choices":[],"usage":{"prompt_tokens":1,"completion_tokens":2,"total_tokens":3}}`+"\n\ndata: [DONE]\n\n")
	}))
	t.Cleanup(s.Close)
	return s.URL
}

func TestAgentsAreChosenByMessageAndKind(t *testing.T) {
	path := configFile(t, "turnlog.yaml", `
agents:
  - {name: quiet, type: demo}
  - {name: loud, type: command, command: [tr, a-z, A-Z], stdin: text, kinds: [shouting], coalesce_for: 20ms}
  - {name: model, type: openai, base_url: "`+streamModel(t)+`/v1", model: m}
kinds:
  - {kind: shouting, thread_pattern: "shout/*"}
`)
	n := startNode(t, "--config", path)
	c := n.dial()
	c.send(`{"type":"client_tools_manifest","tools":[{"name":"where","description":"d","parameters":{}}]}`)
	for _, row := range []struct{ thread, agent, want string }{
		{"t1", "", "hello"},
		{"t2", `,"agent":"loud"`, "HELLO"},
		{"shout/1", "", "HELLO"},
		{"shout/1", "", "HELLO"}, // its kind is stored by now
		{"shout/2", `,"agent":"quiet"`, "hello"},
	} {
		c.send(`{"command":"chat_message","data":{"thread_id":"` + row.thread + `","content":"hello"` + row.agent + `}}`)
		var said string
		for _, m := range c.until("the end", ofType("turn_finished")) {
			if m["type"] == "chunk" {
				said += m["content"].(string)
			}
		}
		if !strings.Contains(said, row.want) {
			t.Errorf("%s%s said %q", row.thread, row.agent, said)
		}
	}
	c.send(`{"command":"chat_message","data":{"thread_id":"t3","content":"hello","agent":"nobody"}}`)
	refused := c.until("the refusal", func(m map[string]any) bool { return m["code"] != nil && m["type"] == nil })
	last := refused[len(refused)-1]
	if last["code"] != "unknown_agent" || !strings.Contains(fmt.Sprint(last), `there is no agent "nobody" here; there is loud, model, quiet`) {
		t.Errorf("refused with %v", last)
	}

	c.send(`{"command":"chat_message","data":{"thread_id":"t4","content":"where am I","agent":"model"}}`)
	asked := c.until("the call", ofType("tool_call"))
	id := asked[len(asked)-1]["tool_call_id"].(string)
	if id == "call_0" {
		t.Error("the provider's id reached the client")
	}
	c.send(`{"type":"tool_result","tool_call_id":"` + id + `","ok":true,"result":"Oslo"}`)
	end := c.until("the end", ofType("turn_finished"))
	finished := end[len(end)-1]
	if usage, ok := finished["usage"].(map[string]any); !ok || usage["total_tokens"] != 3.0 || finished["outcome"] != "completed" {
		t.Errorf("finished with %v", finished)
	}
}
