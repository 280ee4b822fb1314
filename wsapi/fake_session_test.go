package wsapi_test

import (
	"context"
	"fmt"
	"time"

	"turnlog/eventlog"
	"turnlog/session"
	"turnlog/wsapi"
)

var (
	_ wsapi.Sessions = (*world)(nil)
	_ wsapi.Hub      = (*world)(nil)
	_ wsapi.Log      = (*world)(nil)
)

func (w *world) Node() string { return "n1" }

func (w *world) Draining() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.draining
}

func (w *world) Submit(_ context.Context, s session.Submit) (eventlog.Admission, error) {
	w.mu.Lock()
	w.submits = append(w.submits, s)
	n, hook := len(w.submits), w.onSubmit
	w.mu.Unlock()
	if hook != nil {
		return hook(s)
	}
	return w.begin(s.Thread.User, s.Thread.ID, fmt.Sprintf("turn-%d", n)), nil
}

func (w *world) Stop(_ context.Context, user, threadID, turnID string) (session.StopResult, error) {
	w.mu.Lock()
	w.stops = append(w.stops, threadID+"/"+turnID)
	th := w.threadLocked(eventlog.Thread{User: user, ID: threadID})
	running, current, hook := th.status == eventlog.StatusRunning, th.turnID, w.onStop
	w.mu.Unlock()
	if hook != nil {
		return hook(threadID, turnID)
	}
	if !running || turnID != "" && turnID != current {
		return session.StopResult{}, nil
	}
	w.emit(user, threadID, `{"type":"generation_stopped","message":"stopped","job_id":null}`,
		`{"type":"chunk","content":"","done":true}`, `{"type":"turn_finished","outcome":"stopped"}`)
	return session.StopResult{Stopped: true, TurnID: current}, nil
}

func (w *world) Answer(_ context.Context, _ string, a session.Answer) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.answers = append(w.answers, a)
	return nil
}

func (w *world) Steer(context.Context, session.Steer) (session.SteerResult, error) {
	return session.SteerResult{TurnID: "turn-1", Delivered: true}, nil
}

func (w *world) SetPolicy(_ context.Context, _ eventlog.Thread, p eventlog.Policy, scope string) (eventlog.Policy, error) {
	if w.onPolicy != nil {
		return w.onPolicy(p, scope)
	}
	return p, nil
}

func (w *world) SetPermissionMode(context.Context, eventlog.Thread, string) error { return nil }

func (w *world) Turns(_ context.Context, user string) ([]eventlog.RunningTurn, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	var out []eventlog.RunningTurn
	for t, th := range w.threads {
		if t.User == user && th.status == eventlog.StatusRunning {
			out = append(out, eventlog.RunningTurn{Thread: t, TurnID: th.turnID, LastSeq: int64(len(th.frames)), Detached: len(th.viewers) == 0,
				Policy: eventlog.PolicyGrace, GraceDeadline: time.Unix(1_800_000_000, 0)})
		}
	}
	return out, nil
}
