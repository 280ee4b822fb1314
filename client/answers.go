package client

// Decisions of a tool approval.
const (
	Allow        = "allow"
	AllowForChat = "allow_for_chat"
	Deny         = "deny"
)

// Approve answers a tool_approval_request. Like all answers it needs only the
// request's id, may be given offline, and is ignored by the server when another
// viewer was first.
func (c *Client) Approve(requestID, decision string) error {
	return c.control(requestID, map[string]any{
		"type": "tool_approval_response", "approval_id": requestID, "decision": decision,
	})
}

// ApprovePlan answers a plan_approval_request.
func (c *Client) ApprovePlan(requestID string, approve bool, feedback string) error {
	decision := "reject"
	if approve {
		decision = "approve"
	}
	m := map[string]any{"type": "plan_approval_response", "approval_id": requestID, "decision": decision}
	put(m, "feedback", feedback)
	return c.control(requestID, m)
}

// AnswerSecret answers a secret_request.
func (c *Client) AnswerSecret(requestID, status string) error {
	return c.control(requestID, map[string]any{
		"type": "secret_request_response", "approval_id": requestID, "status": status,
	})
}

// AnswerTool answers a tool_call that no Tool of the Client handles. A non-nil
// failure reports that the tool did not work.
func (c *Client) AnswerTool(threadID, requestID string, result any, failure error) error {
	m := map[string]any{
		"type": "tool_result", "tool_call_id": requestID, "thread_id": threadID,
		"ok": failure == nil, "result": result,
	}
	if failure != nil {
		m["error"] = failure.Error()
	}
	return c.control(requestID, m)
}
