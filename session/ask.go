package session

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"

	"turnlog/agent"
	"turnlog/eventlog"
	"turnlog/frame"
)

// requestFrame says how a kind of request looks on the wire.
type requestFrame struct{ typ, id, name string }

var requestFrames = map[string]requestFrame{
	agent.KindToolCall:     {"tool_call", "tool_call_id", "name"},
	agent.KindToolApproval: {"tool_approval_request", "approval_id", "tool_name"},
	agent.KindPlanApproval: {"plan_approval_request", "approval_id", "name"},
	agent.KindSecret:       {"secret_request", "approval_id", "name"},
}

// asks are the requests that wait for an answer on this attempt.
type asks struct {
	mu   sync.Mutex
	open map[string]*ask
}

type ask struct {
	id, kind string
	reply    chan reply // one place: whoever takes the ask sends once
}

type reply struct {
	answer agent.Answer
	err    error
}

func (a *asks) add(kind string) *ask {
	q := &ask{id: newRequestID(), kind: kind, reply: make(chan reply, 1)}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.open == nil {
		a.open = make(map[string]*ask)
	}
	a.open[q.id] = q
	return q
}

// take removes an ask; the first one to take it decides. nil: not open here.
func (a *asks) take(id string) *ask {
	a.mu.Lock()
	defer a.mu.Unlock()
	q := a.open[id]
	delete(a.open, id)
	return q
}

// ofKind returns the ids of the open asks of a kind.
func (a *asks) ofKind(kind string) []string {
	a.mu.Lock()
	defer a.mu.Unlock()
	var ids []string
	for id, q := range a.open {
		if q.kind == kind {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	return ids
}

// Ask implements agent.Turn.
func (t *turn) Ask(ctx context.Context, a agent.Ask) (agent.Answer, error) {
	shape, ok := requestFrames[a.Kind]
	if !ok {
		return agent.Answer{}, fmt.Errorf("%w %q", agent.ErrUnknownKind, a.Kind)
	}
	q := t.asks.add(a.Kind)
	b, err := shape.frame(q.id, a)
	if err == nil {
		_, b, err = frame.Check(b, t.opts.FrameLimit)
	}
	if err != nil {
		t.asks.take(q.id)
		return agent.Answer{}, frameError(err)
	}
	opens := &eventlog.Request{ID: q.id, Kind: a.Kind, Name: a.Name}
	if a.Kind == agent.KindToolCall {
		opens.Timeout, opens.Prefer = t.opts.ToolTimeout, preferred(t.adm.Submission, a.Name)
	}
	if err := t.speak(ctx, eventlog.Entry{Type: shape.typ, Frame: b, Opens: opens}); err != nil {
		t.asks.take(q.id)
		return agent.Answer{}, t.explain(ctx, err)
	}
	if a.Queued != nil {
		a.Queued()
	}
	select {
	case r := <-q.reply:
		r.answer.RequestID = q.id
		return r.answer, r.err
	case <-t.ctx.Done():
		t.asks.take(q.id)
		return agent.Answer{}, context.Cause(t.ctx)
	case <-ctx.Done():
		return t.giveUp(ctx, q)
	}
}

// preferred is the connection that a tool call is meant for: the submitting one,
// unless its manifest lacks the tool. Then whoever fits may claim the call.
func preferred(sub eventlog.Submission, tool string) string {
	if len(sub.Tools) == 0 {
		return sub.Conn
	}
	var manifest []struct {
		Name string `json:"name"`
	}
	if json.Unmarshal(sub.Tools, &manifest) != nil {
		return sub.Conn
	}
	for _, offered := range manifest {
		if offered.Name == tool {
			return sub.Conn
		}
	}
	return ""
}

// giveUp ends an ask whose own context ended while the turn goes on.
func (t *turn) giveUp(ctx context.Context, q *ask) (agent.Answer, error) {
	if t.asks.take(q.id) == nil { // an answer was faster
		select {
		case r := <-q.reply:
			r.answer.RequestID = q.id
			return r.answer, r.err
		case <-t.ctx.Done():
			return agent.Answer{}, context.Cause(t.ctx)
		}
	}
	reason := "expired"
	if errors.Is(context.Cause(ctx), agent.ErrOver) {
		reason = "turn_ended"
	}
	if err := t.speak(t.ctx, requestClosed(q.id, reason)); err != nil {
		return agent.Answer{}, t.explain(t.ctx, err)
	}
	return agent.Answer{}, context.Cause(ctx)
}

// frame builds the request frame. The runtime's keys win over the agent's.
func (s requestFrame) frame(id string, a agent.Ask) ([]byte, error) {
	fields := make(map[string]any, len(a.Fields)+3)
	if a.Name != "" {
		fields[s.name] = a.Name
	}
	for k, v := range a.Fields {
		fields[k] = v
	}
	fields["type"], fields[s.id] = s.typ, id
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(fields); err != nil {
		return nil, err
	}
	return buf.Bytes(), nil
}

func requestClosed(id, reason string) eventlog.Entry {
	b := frame.AppendString([]byte(`{"type":"request_closed","request_id":`), id)
	b = frame.AppendString(append(b, `,"reason":`...), reason)
	return eventlog.Entry{Type: "request_closed", Frame: append(b, '}'), Closes: id}
}
