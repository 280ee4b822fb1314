package session

import (
	"context"
	"encoding/json"
	"errors"

	"turnlog/eventlog"
)

// send stores an input, repeating the call with the same id while Redis does
// not answer, and lets a turn that runs here take it without a wake-up.
func (s *Service) send(ctx context.Context, thread eventlog.Thread, turnID string, in eventlog.Input) (eventlog.InputResult, error) {
	if in.ID == "" {
		in.ID = newInputID()
	}
	var res eventlog.InputResult
	err := retry(ctx, s.opts.AdmitBudget, func(ctx context.Context) (err error) {
		res, err = s.log.SendInput(ctx, thread, turnID, in)
		return err
	})
	if err != nil {
		return res, refuse(ctx, err)
	}
	s.nudge(thread)
	return res, nil
}

// Answer answers a request of the user, wherever it waits. The first answer
// wins; a later one, or one to an unknown request, is ignored.
func (s *Service) Answer(ctx context.Context, user string, a Answer) error {
	if a.RequestID == "" {
		return nil
	}
	var thread eventlog.Thread
	var found bool
	err := retry(ctx, s.opts.AdmitBudget, func(ctx context.Context) (err error) {
		thread, found, err = s.log.FindRequest(ctx, user, a.RequestID)
		return err
	})
	if err != nil || !found {
		return refuse(ctx, err)
	}
	res, err := s.send(ctx, thread, "", eventlog.Input{Kind: eventlog.InputAnswer, RequestID: a.RequestID, Answers: a.Kind, Payload: a.Payload})
	if err == nil && res.Verdict == eventlog.InputQueueFull {
		return &Refusal{Code: CodeRateLimited, Message: "the turn has too many unread inputs", Retryable: true}
	}
	return err
}

// Steer sends a message into the running turn. When nothing runs, or the turn
// ends before its agent has taken the message, it becomes a turn of its own.
func (s *Service) Steer(ctx context.Context, st Steer) (SteerResult, error) {
	sub := Submit{
		Thread: st.Thread, ID: st.ID, Message: st.Message, Data: st.Data, Tools: st.Tools, Agent: st.Agent, Conn: st.Conn, Client: st.Client,
		OnBusy: eventlog.OnBusyEnqueue, Generation: st.Generation, Headless: st.Headless,
	}
	if sub.ID == "" {
		sub.ID = newInputID() // retries of one call must not double it
	}
	submission, err := s.submission(ctx, sub)
	if err != nil {
		return SteerResult{}, err
	}
	payload, err := json.Marshal(submission)
	if err != nil {
		return SteerResult{}, &Refusal{Code: CodeInvalid, Message: "the data is not valid JSON"}
	}
	res, err := s.send(ctx, st.Thread, "", eventlog.Input{ID: sub.ID, Kind: eventlog.InputSteer, Payload: payload})
	if err != nil {
		return SteerResult{}, err
	}
	switch res.Verdict {
	case eventlog.InputAccepted, eventlog.InputDuplicate:
		return SteerResult{TurnID: res.TurnID, Delivered: true, Duplicate: res.Verdict == eventlog.InputDuplicate}, nil
	case eventlog.InputQueueFull:
		return SteerResult{}, &Refusal{Code: CodeRateLimited, Message: "the turn has too many unread inputs", Retryable: true}
	}
	adm, err := s.admit(ctx, sub, submission)
	if err != nil {
		return SteerResult{}, err
	}
	return SteerResult{
		TurnID: adm.TurnID, Duplicate: adm.Verdict == eventlog.VerdictDuplicate, Position: adm.Position, Admission: &adm,
	}, nil
}

// SetPolicy raises the running turn's policy (scope "turn"), or sets the
// thread's default (scope "thread"). It returns the policy in force.
func (s *Service) SetPolicy(ctx context.Context, thread eventlog.Thread, policy eventlog.Policy, scope string) (eventlog.Policy, error) {
	switch policy {
	case eventlog.PolicyCancel, eventlog.PolicyGrace, eventlog.PolicyPreserve:
	default:
		return "", &Refusal{Code: CodeInvalid, Message: "on_disconnect must be cancel, grace or preserve"}
	}
	if scope == "" {
		scope = "turn"
	}
	if scope != "turn" && scope != "thread" {
		return "", &Refusal{Code: CodeInvalid, Message: "scope must be turn or thread"}
	}
	var effective eventlog.Policy
	err := retry(ctx, s.opts.AdmitBudget, func(ctx context.Context) (err error) {
		effective, err = s.log.SetPolicy(ctx, thread, policy, scope)
		return err
	})
	if errors.Is(err, eventlog.ErrPolicyConflict) {
		why := verdicts[eventlog.VerdictPolicyConflict]
		return effective, &why
	}
	return effective, refuse(ctx, err)
}

// SetPermissionMode tells the running turn's agent; mode auto also allows its
// open tool approvals. Without a running turn it does nothing.
func (s *Service) SetPermissionMode(ctx context.Context, thread eventlog.Thread, mode string) error {
	if mode == "" {
		return &Refusal{Code: CodeInvalid, Message: "permission_mode is required"}
	}
	payload, err := json.Marshal(struct {
		Mode string `json:"mode"`
	}{mode})
	if err != nil {
		return refuse(ctx, err)
	}
	_, err = s.send(ctx, thread, "", eventlog.Input{Kind: eventlog.InputPermissionMode, Payload: payload})
	return err
}

// Turns lists the user's running turns, on all nodes.
func (s *Service) Turns(ctx context.Context, user string) ([]eventlog.RunningTurn, error) {
	var turns []eventlog.RunningTurn
	err := retry(ctx, s.opts.AdmitBudget, func(ctx context.Context) (err error) {
		turns, err = s.log.RunningTurns(ctx, user)
		return err
	})
	return turns, refuse(ctx, err)
}
