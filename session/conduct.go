package session

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"runtime/debug"
	"time"

	"turnlog/agent"
	"turnlog/eventlog"
)

// conduct runs the turn until it is over. life is the service's: when it ends
// the turn is left as it is, for the reaper.
func (t *turn) conduct(life context.Context, ag agent.Agent) {
	defer t.cancel(nil)
	if err := t.prepare(t.ctx); err != nil {
		t.returned <- fmt.Errorf("prepare attempt %d: %w", t.fence.Attempt, err)
	} else {
		go t.runAgent(ag)
	}
	var (
		m       machine
		timeout *time.Timer
		expired <-chan time.Time
	)
	t.nudge() // inputs may have come before we were known here
	for m.phase != settled {
		var ev event
		select {
		case err := <-t.returned:
			ev = t.agentReturned(err)
		case err := <-t.fenced:
			t.failure = err
			ev = fencedEvent(err)
		case outcome := <-t.ends:
			ev = event{kind: evEnd, outcome: outcome}
		case <-expired:
			ev = event{kind: evAbandoned}
			t.opts.Metrics.AgentAbandoned()
			t.note("the agent did not return within the stop timeout and was abandoned", nil)
		case <-t.nudged:
			if m.phase != running {
				continue
			}
			ev = t.takeInputs()
		case <-life.Done():
			t.cancel(&agent.Ended{Outcome: string(eventlog.OutcomeShutdown)})
			t.w.Abandon()
			return
		}
		act := m.step(t.why(life, ev))
		if act.cancel {
			t.cancel(&agent.Ended{Outcome: string(m.outcome)})
			timeout = time.NewTimer(t.opts.StopTimeout)
			defer timeout.Stop()
			expired = timeout.C
		}
		if act.stopped {
			t.logStop(life)
		}
		if act.yield {
			m.outcome = t.yield(life, m.outcome)
		}
		if act.finish {
			m.outcome = t.finish(life, m.outcome)
			m.step(event{kind: evClosed})
		}
	}
	t.w.Abandon()
	t.forgetSaid()
	t.opts.Metrics.TurnFinished(m.outcome, time.Since(t.started))
}

// agentReturned turns the agent's last word into an event. What ended the
// agent from outside comes first, even when its word overtook it.
func (t *turn) agentReturned(err error) event {
	select {
	case lost := <-t.fenced:
		t.failure = lost
		t.returned <- err // again, after this
		return fencedEvent(lost)
	case outcome := <-t.ends:
		t.returned <- err
		return event{kind: evEnd, outcome: outcome}
	default:
	}
	t.cancel(nil)
	if err == nil {
		return event{kind: evReturned, outcome: eventlog.OutcomeCompleted}
	}
	if t.failure == nil {
		t.failure = err
	}
	return event{kind: evReturned, outcome: eventlog.OutcomeFailed}
}

// panicError is an agent's panic. Its text is for the log, not for viewers.
type panicError struct {
	value any
	stack []byte
}

func (p *panicError) Error() string { return "the agent panicked" }

var errGoexit = errors.New("the agent ended its goroutine")

// runAgent runs the agent and reports how it returned, exactly once.
func (t *turn) runAgent(ag agent.Agent) {
	err := errGoexit
	defer func() {
		if v := recover(); v != nil {
			p := &panicError{value: v, stack: debug.Stack()}
			t.opts.Logger.Error("agent panicked", slog.String("thread_id", t.fence.Thread.ID),
				slog.String("turn_id", t.fence.TurnID), slog.String("panic", panicText(v)), slog.String("stack", string(p.stack)))
			t.opts.Logger.Debug("what the agent panicked with", slog.String("turn_id", t.fence.TurnID), slog.Any("panic", v))
			err = p
		}
		t.returned <- err
	}()
	err = ag.Run(t.ctx, t)
}

// panicText is what is logged of a panic: the runtime's own errors hold no
// contents, the rest may and is named by its type.
func panicText(v any) string {
	if err, ok := v.(runtime.Error); ok {
		return err.Error()
	}
	return fmt.Sprintf("%T", v)
}

func (t *turn) note(message string, err error) {
	attrs := []any{slog.String("thread_id", t.fence.Thread.ID), slog.String("turn_id", t.fence.TurnID)}
	if err != nil {
		attrs = append(attrs, slog.Any("error", err))
	}
	t.opts.Logger.Warn(message, attrs...)
}
