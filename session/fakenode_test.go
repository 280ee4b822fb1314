package session_test

import (
	"context"
	"slices"

	"turnlog/eventlog"
)

func (l *fakeLog) Frames(ctx context.Context, t eventlog.Thread, after, until int64, limit, _ int) (out []eventlog.StoredFrame, err error) {
	err = l.do(ctx, "frames", func() error {
		for _, f := range l.thread(t).log {
			if f.Seq > after && (until == 0 || f.Seq <= until) && len(out) < limit {
				out = append(out, f)
			}
		}
		return nil
	})
	return out, err
}

func (l *fakeLog) History(ctx context.Context, t eventlog.Thread, before int64, limit int) (out []eventlog.Message, err error) {
	err = l.do(ctx, "history", func() error {
		for at, end := t, before; at.ID != "" && len(out) < limit; {
			th := l.thread(at)
			for _, m := range slices.Backward(th.messages) {
				if (end == 0 || m.Seq < end) && len(out) < limit {
					m.ThreadID = at.ID
					out = append(out, m)
				}
			}
			at.ID, end = th.parent, th.upTo+1
		}
		slices.Reverse(out)
		return nil
	})
	return out, err
}

func (l *fakeLog) RunningTurns(ctx context.Context, user string) (out []eventlog.RunningTurn, err error) {
	err = l.do(ctx, "running_turns", func() error {
		for t, th := range l.threads {
			if t.User == user && th.status == eventlog.StatusRunning {
				out = append(out, th.busy(t))
			}
		}
		return nil
	})
	return out, err
}

func (l *fakeLog) Checkpoint(ctx context.Context, t eventlog.Thread) (state []byte, err error) {
	err = l.do(ctx, "checkpoint", func() error {
		state = l.thread(t).state
		return nil
	})
	return state, err
}

func (l *fakeLog) Attach(ctx context.Context, a eventlog.Attach) (s eventlog.Snapshot, err error) {
	err = l.do(ctx, "attach", func() error {
		th := l.thread(a.Thread)
		s = eventlog.Snapshot{
			Status: th.status, Outcome: th.outcome, Epoch: th.epoch, TurnID: th.adm.TurnID, Attempt: th.adm.Attempt,
			Ordinal: th.ordinal, LastSeq: th.seq, TurnFirstSeq: th.first, Owner: th.owner,
		}
		return nil
	})
	return s, err
}

func (l *fakeLog) Heartbeat(ctx context.Context, node string) (alive bool, err error) {
	err = l.do(ctx, "heartbeat", func() error {
		alive = !l.dead[node]
		if alive {
			l.leases[node] = true
		}
		return nil
	})
	return alive, err
}

func (l *fakeLog) Resign(ctx context.Context, node string) error {
	return l.do(ctx, "resign", func() error {
		delete(l.leases, node)
		return nil
	})
}

func (l *fakeLog) Poll(ctx context.Context, node string, _ int) (p eventlog.Poll, err error) {
	err = l.do(ctx, "poll", func() error {
		for t := range l.inbox[node] {
			p.Inbox = append(p.Inbox, t)
		}
		delete(l.inbox, node)
		for t, th := range l.threads {
			if th.status != eventlog.StatusRunning && len(th.queue) > 0 || th.status == eventlog.StatusRunning && th.lost {
				p.Ready = append(p.Ready, t)
			}
		}
		return nil
	})
	if err != nil {
		return eventlog.Poll{}, err
	}
	return p, nil
}

func (l *fakeLog) OwnedTurns(ctx context.Context, node string) (out []eventlog.Thread, err error) {
	err = l.do(ctx, "owned", func() error {
		for t, th := range l.threads {
			if th.status == eventlog.StatusRunning && th.owner == node {
				out = append(out, t)
			}
		}
		return nil
	})
	return out, err
}

func (l *fakeLog) Running(ctx context.Context, threads []eventlog.Thread) (out []eventlog.RunningTurn, err error) {
	err = l.do(ctx, "running", func() error {
		for _, t := range threads {
			if th := l.thread(t); th.status == eventlog.StatusRunning {
				out = append(out, th.busy(t))
			}
		}
		return nil
	})
	return out, err
}

// declareDead is what the reaper does to a node: its turns end, or wait for
// their next attempt.
func (l *fakeLog) declareDead(node string, restart bool) {
	l.mu.Lock()
	var ends []eventlog.Thread
	l.dead[node] = true
	for t, th := range l.threads {
		if th.status == eventlog.StatusRunning && th.owner == node {
			if th.lost = restart; !restart {
				ends = append(ends, t)
			}
		}
	}
	l.mu.Unlock()
	for _, t := range ends {
		l.endTurn(t, eventlog.OutcomeOwnerLost)
	}
}
