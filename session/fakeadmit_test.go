package session_test

import (
	"context"
	"encoding/json"

	"turnlog/eventlog"
)

func steerSubmission(in eventlog.Input) eventlog.Submission {
	var s eventlog.Submission
	if err := json.Unmarshal(in.Payload, &s); err != nil {
		panic(err)
	}
	return s
}

func (l *fakeLog) Begin(ctx context.Context, b eventlog.Begin) (adm eventlog.Admission, err error) {
	err = l.do(ctx, "begin", func() error {
		adm = l.begin(b)
		return nil
	})
	if err != nil {
		return eventlog.Admission{}, err
	}
	return adm, nil
}

func (l *fakeLog) begin(b eventlog.Begin) eventlog.Admission {
	th, sub := l.thread(b.Thread), b.Submission
	if l.dead[b.Node] {
		return eventlog.Admission{Verdict: eventlog.VerdictNodeDead}
	}
	if th.adm.TurnID == sub.TurnID && th.status == eventlog.StatusRunning && th.owner == b.Node {
		return th.adm // the same call again
	}
	if known, ok := th.known(sub); ok {
		if known.Digest != sub.Digest {
			return eventlog.Admission{Verdict: eventlog.VerdictConflict}
		}
		adm := eventlog.Admission{Verdict: eventlog.VerdictDuplicate, TurnID: known.TurnID, Submission: sub}
		for i, q := range th.queue {
			if q.TurnID == known.TurnID {
				adm.Position = i + 1
				if q.TurnID == sub.TurnID {
					adm.Verdict = eventlog.VerdictQueued
				}
				return adm
			}
		}
		adm.Status = eventlog.StatusFinished
		if th.adm.TurnID == known.TurnID {
			adm = th.adm
			adm.Verdict, adm.Status = eventlog.VerdictDuplicate, th.status
		}
		return adm
	}
	if sub.Policy == eventlog.PolicyCancel && b.KindPolicy == eventlog.PolicyPreserve {
		return eventlog.Admission{Verdict: eventlog.VerdictPolicyConflict}
	}
	running := th.status == eventlog.StatusRunning
	if running && b.Closing != nil && b.Closing.TurnID == th.adm.TurnID && th.fence != "" {
		th.close(eventlog.OutcomeSuperseded, b.Node, b.Closing.Frames)
		running = false
	}
	switch {
	case running && b.OnBusy == eventlog.OnBusyReject:
		return eventlog.Admission{Verdict: eventlog.VerdictBusy, Busy: th.busy(b.Thread)}
	case running && b.OnBusy == eventlog.OnBusySupersede:
		th.fence, th.successor = eventlog.OutcomeSuperseded, sub.TurnID
		l.signal(th.owner, b.Thread)
		return eventlog.Admission{Verdict: eventlog.VerdictSuperseding, Busy: th.busy(b.Thread)}
	}
	if !running && b.Quota > 0 && l.runningOf(b.Thread.User) >= b.Quota {
		return eventlog.Admission{Verdict: eventlog.VerdictQuota}
	}
	if sub.ID != "" {
		th.submitted[sub.ID] = sub
	}
	th.submitted["turn:"+sub.TurnID] = sub
	if running || len(th.queue) > 0 && b.OnBusy != eventlog.OnBusySupersede {
		th.queue = append(th.queue, sub)
		return eventlog.Admission{Verdict: eventlog.VerdictQueued, TurnID: sub.TurnID, Position: len(th.queue), Submission: sub}
	}
	return th.start(sub, b.Node, 1)
}

func (th *fakeThread) known(sub eventlog.Submission) (eventlog.Submission, bool) {
	if s, ok := th.submitted["turn:"+sub.TurnID]; ok {
		return s, true
	}
	if sub.ID == "" {
		return sub, false
	}
	s, ok := th.submitted[sub.ID]
	return s, ok
}

func (l *fakeLog) runningOf(user string) (n int) {
	for t, th := range l.threads {
		if t.User == user && th.status == eventlog.StatusRunning {
			n++
		}
	}
	return n
}

func (l *fakeLog) BeginNext(ctx context.Context, t eventlog.Thread, node string) (adm eventlog.Admission, err error) {
	err = l.do(ctx, "begin_next", func() error {
		th := l.thread(t)
		switch {
		case l.dead[node]:
		case th.status == eventlog.StatusRunning && th.lost:
			adm = th.start(th.adm.Submission, node, th.adm.Attempt+1)
		case th.status != eventlog.StatusRunning && len(th.queue) > 0:
			sub := th.queue[0]
			th.queue = th.queue[1:]
			adm = th.start(sub, node, 1)
		}
		return nil
	})
	return adm, err
}

func (l *fakeLog) SendInput(ctx context.Context, t eventlog.Thread, turnID string, in eventlog.Input) (res eventlog.InputResult, err error) {
	err = l.do(ctx, "input", func() error {
		th := l.thread(t)
		if in.Kind == eventlog.InputStop {
			kept := th.queue[:0:0]
			for _, q := range th.queue {
				if turnID == "" || q.TurnID == turnID {
					res.Dropped = append(res.Dropped, q.TurnID)
				} else {
					kept = append(kept, q)
				}
			}
			th.queue = kept
		}
		var steer eventlog.Submission
		if in.Kind == eventlog.InputSteer {
			steer = steerSubmission(in)
			if known, ok := th.known(steer); ok {
				res.Verdict, res.TurnID = eventlog.InputDuplicate, known.TurnID
				return nil
			}
		}
		res.Verdict = eventlog.InputNotRunning
		if th.status != eventlog.StatusRunning || turnID != "" && turnID != th.adm.TurnID {
			return nil
		}
		res.TurnID, res.Owner = th.adm.TurnID, th.owner
		for _, known := range th.inputs {
			if known.ID == in.ID {
				res.Verdict = eventlog.InputDuplicate
				return nil
			}
		}
		if in.Kind == eventlog.InputAnswer {
			if !th.requests[in.RequestID] {
				res.Verdict = eventlog.InputClosed
				return nil
			}
			delete(th.requests, in.RequestID)
		}
		if in.Kind == eventlog.InputSteer {
			th.submitted[steer.ID], th.submitted["turn:"+steer.TurnID] = steer, steer
		}
		in.Seq = int64(len(th.inputs) + 1)
		th.inputs = append(th.inputs, in)
		res.Verdict = eventlog.InputAccepted
		l.signal(th.owner, t)
		return nil
	})
	return res, err
}

func (l *fakeLog) Inputs(ctx context.Context, t eventlog.Thread, turnID string, after int64) (out []eventlog.Input, err error) {
	err = l.do(ctx, "inputs", func() error {
		th := l.thread(t)
		if th.adm.TurnID != turnID || th.status != eventlog.StatusRunning {
			f := &eventlog.FencedError{}
			if th.adm.TurnID == turnID {
				f.Outcome = th.outcome
			}
			return f
		}
		if th.fence != "" {
			return &eventlog.FencedError{Outcome: th.fence}
		}
		for _, in := range th.inputs {
			if in.Seq > after {
				out = append(out, in)
			}
		}
		return nil
	})
	return out, err
}

func (l *fakeLog) FindRequest(ctx context.Context, user, id string) (t eventlog.Thread, found bool, err error) {
	err = l.do(ctx, "find_request", func() error {
		for name, th := range l.threads {
			if name.User == user && th.requests[id] {
				t, found = name, true
			}
		}
		return nil
	})
	return t, found, err
}

func (l *fakeLog) SetPolicy(ctx context.Context, t eventlog.Thread, p eventlog.Policy, scope string) (out eventlog.Policy, err error) {
	err = l.do(ctx, "set_policy", func() error {
		th := l.thread(t)
		if p == eventlog.PolicyCancel && th.policy == eventlog.PolicyPreserve {
			out = th.policy
			return eventlog.ErrPolicyConflict
		}
		th.policy, out = p, p
		return nil
	})
	return out, err
}
