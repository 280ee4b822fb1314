package wsapi

import (
	"encoding/json"
	"maps"
	"slices"

	"turnlog/session"
)

// control handles a control frame. Answers go wherever their request waits.
func (c *conn) control(fields map[string]json.RawMessage) {
	f := form{fields: fields}
	kind := f.text("type")
	switch {
	case kind == "":
		c.invalidMessage("a message must have a command or a type")
		return
	case kind == "ping":
		c.pong(fields["ts"])
		return
	case kind == "pong":
		return
	case kind == "client_tools_manifest":
		c.manifest(fields["tools"])
		return
	case kind == "reauth":
		c.reauth(fields)
		return
	}
	id := f.answer(kind)
	switch {
	case f.bad():
		c.invalidMessage("the frame " + kind + " is not valid: " + string(f.details.end()))
	default:
		c.answer(kind, id, fields)
	}
}

// answer checks the shape of an answering frame and returns its request's id.
func (f *form) answer(kind string) (id string) {
	f.text("thread_id")
	switch kind {
	case "tool_result":
		id = f.required("tool_call_id")
		f.flag("ok")
	case "tool_approval_response":
		id = f.required("approval_id")
		f.requiredChoice("decision", "allow", "allow_for_chat", "deny")
	case "plan_approval_response":
		id = f.required("approval_id")
		f.requiredChoice("decision", "approve", "reject")
		f.text("feedback")
	case "secret_request_response":
		id = f.required("approval_id")
		f.required("status")
	default:
		f.wrong("type", "is not one this server knows")
	}
	return id
}

func (f *form) required(field string) string {
	s := f.text(field)
	if s == "" && !f.bad() {
		f.wrong(field, "is required")
	}
	return s
}

func (f *form) requiredChoice(field string, of ...string) {
	if f.choice(field, of...) == "" && !f.bad() {
		f.wrong(field, "is required")
	}
}

// answers says which kind of request an answering frame fits.
var answers = map[string]string{
	"tool_result":             "tool_call",
	"tool_approval_response":  "tool_approval",
	"plan_approval_response":  "plan_approval",
	"secret_request_response": "secret",
}

// answer passes on an answer. What nobody waits for is ignored.
func (c *conn) answer(kind, id string, fields map[string]json.RawMessage) {
	payload := object(nil)
	for _, key := range slices.Sorted(maps.Keys(fields)) {
		switch key {
		case "type", "thread_id", "tool_call_id", "approval_id", "request_id", "turn_id", "chat_seq":
		default:
			quoted, _ := json.Marshal(key)
			payload = payload.quoted(quoted, fields[key])
		}
	}
	if !c.srv.opts.Limits.Allow(c.who.User) {
		c.answerRefused(id, errTooFast)
		return
	}
	err := c.srv.sessions.Answer(c.ctx, c.who.User, session.Answer{RequestID: id, Kind: answers[kind], Payload: payload.end()})
	if err == nil {
		return
	}
	c.answerRefused(id, c.refusal(kind, err))
}

// answerRefused tells that an answer was not stored. Control frames have no
// acknowledgement; this is worth an error.
func (c *conn) answerRefused(id string, r *session.Refusal) {
	c.srv.opts.Metrics.Refused(r.Code)
	c.send(object(nil).text("type", "error").text("message", r.Message).text("code", r.Code).
		text("request_id", id).flag("retryable", r.Retryable).end())
}

// manifest replaces the tools that the client runs. Open calls that nobody
// could run may be for this one now.
func (c *conn) manifest(tools json.RawMessage) {
	if !given(tools) || !c.tools.set(tools) {
		c.invalidMessage("the frame client_tools_manifest must have a list of tools with names")
		return
	}
	for _, f := range c.threads.all() {
		if f.retryCalls() {
			c.out.announce(f)
		}
	}
}

// pong answers a ping, with its own time stamp if it had one.
func (c *conn) pong(ts json.RawMessage) {
	o := object(nil).text("type", "pong")
	if given(ts) && len(ts) <= longestRequestID && ts[0] != '{' && ts[0] != '[' {
		o = o.raw("ts", ts)
	}
	c.send(o.end())
}
