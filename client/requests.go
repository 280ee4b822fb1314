package client

import (
	"context"
	"encoding/json"
)

// rememberedRequests bounds how many closed requests are remembered, so that a
// late replay of one does nothing.
const rememberedRequests = 1024

// request is one request of the server as this Client knows it.
type request struct {
	id       string
	threadID string
	kind     string
	closed   bool
	answer   []byte                  // the control frame that answers it, once there is one
	sentOn   uint64                  // connection that carries the answer, 0 = none yet
	cancel   context.CancelCauseFunc // of the tool that runs for it
}

// requests remembers every request by id: a tool call runs once, an answer is
// repeated only when the server asks again. The Client's lock guards it.
type requests struct {
	byID map[string]*request
	old  []string // closed ones, oldest first
}

func newRequests() *requests { return &requests{byID: map[string]*request{}} }

// requestEnded is why a tool's context ends with its request.
type requestEnded struct{ reason string }

// Error implements error.
func (e requestEnded) Error() string { return "request closed: " + e.reason }

// see takes a request frame that arrived on connection conn. fresh is true the
// first time; repeat is the answer to send again because the server still waits
// for it and this connection has not carried it.
func (r *requests) see(id, threadID, kind string, conn uint64) (req *request, fresh bool, repeat []byte) {
	if known := r.byID[id]; known != nil {
		if known.closed || known.answer == nil || known.sentOn == conn {
			return known, false, nil
		}
		known.sentOn = conn
		return known, false, known.answer
	}
	req = &request{id: id, threadID: threadID, kind: kind}
	r.byID[id] = req
	return req, true, nil
}

// answered remembers the answer to a request and the connection that carries it.
func (r *requests) answered(id string, control []byte, conn uint64) {
	if req := r.byID[id]; req != nil && !req.closed && req.answer == nil {
		req.answer, req.sentOn = control, conn
	}
}

// carries notes that the answer waiting for a connection travels on conn.
func (r *requests) carries(id string, conn uint64) {
	if req := r.byID[id]; req != nil {
		req.sentOn = conn
	}
}

// end closes a request and stops its tool. It reports whether it was open.
func (r *requests) end(id, reason string) bool {
	req := r.byID[id]
	if req == nil {
		// Remember it all the same: a later replay must not run it.
		req = &request{id: id}
		r.byID[id] = req
	} else if req.closed {
		return false
	}
	req.closed, req.answer = true, nil
	if req.cancel != nil && reason != "answered" {
		req.cancel(requestEnded{reason})
	}
	r.old = append(r.old, id)
	if len(r.old) > rememberedRequests {
		delete(r.byID, r.old[0])
		r.old = r.old[1:]
	}
	return true
}

// endTurn closes what a thread's ended turn left open.
func (r *requests) endTurn(threadID string) {
	for id, req := range r.byID {
		if !req.closed && req.threadID == threadID {
			r.end(id, "turn_ended")
		}
	}
}

// requestFrame reads the parts of a request frame; ok is false for other frames.
func requestFrame(f Frame) (req Request, ok bool) {
	var v struct {
		ToolCallID string          `json:"tool_call_id"`
		ApprovalID string          `json:"approval_id"`
		Name       string          `json:"name"`
		ToolName   string          `json:"tool_name"`
		Args       json.RawMessage `json:"args"`
	}
	switch f.Type {
	case "tool_call", "tool_approval_request", "plan_approval_request", "secret_request":
	default:
		return Request{}, false
	}
	if f.Decode(&v) != nil {
		return Request{}, false
	}
	req = Request{ThreadID: f.ThreadID, ID: v.ApprovalID, Type: f.Type, Name: v.Name, Args: v.Args, Frame: f}
	if f.Type == "tool_call" {
		req.ID = v.ToolCallID
	}
	if req.Name == "" {
		req.Name = v.ToolName
	}
	return req, req.ID != ""
}
