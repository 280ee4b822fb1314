package demo

import (
	"context"
	"time"

	"turnlog/agent"
)

// catchUp is how far a turn may lag behind its pace and still catch up.
const catchUp = time.Second

// pause waits for the next chunk's time and takes what was steered meanwhile.
func (r *run) pause(ctx context.Context) error {
	if r.script.interval <= 0 {
		return r.steers(ctx)
	}
	now := time.Now()
	if r.next.IsZero() || now.Sub(r.next) > catchUp {
		r.next = now
	}
	due := r.next
	r.next = r.next.Add(r.script.interval)
	done := ctx.Done()
	if r.script.IgnoreStop {
		done = nil
	}
	for {
		wait := time.Until(due)
		if wait <= 0 {
			return r.steers(ctx)
		}
		if r.timer == nil {
			r.timer = time.NewTimer(wait)
		} else {
			r.timer.Reset(wait)
		}
		select {
		case <-r.timer.C:
		case in, open := <-r.turn.Inputs():
			if err := r.take(ctx, in, open); err != nil {
				return err
			}
			if !open {
				<-r.timer.C
			}
		case <-done:
			r.timer.Stop()
			return context.Cause(ctx)
		}
	}
}

// steers takes what lies ready, without waiting.
func (r *run) steers(ctx context.Context) error {
	for {
		select {
		case in, open := <-r.turn.Inputs():
			if !open {
				return nil
			}
			if err := r.take(ctx, in, open); err != nil {
				return err
			}
		default:
			if ctx.Err() != nil && !r.script.IgnoreStop {
				return context.Cause(ctx)
			}
			return nil
		}
	}
}

func (r *run) take(ctx context.Context, in agent.Input, open bool) error {
	if !open || in.Kind != agent.InputSteer {
		return nil
	}
	return r.aside(ctx, steerMark+agent.Text(in.Message)+" ")
}

// hang says nothing until the turn ends, and with ignore_stop for long after.
func (r *run) hang(ctx context.Context) error {
	<-ctx.Done()
	if r.script.IgnoreStop {
		timer := time.NewTimer(hangTime)
		defer timer.Stop()
		<-timer.C
	}
	return context.Cause(ctx)
}
