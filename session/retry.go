package session

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"

	"turnlog/eventlog"
)

const (
	firstPause = 25 * time.Millisecond
	longPause  = time.Second

	// endBudget bounds the reading and the ending of a turn that nobody waits for.
	endBudget = 10 * time.Second
)

var errDead = errors.New("the node was declared dead")

// final errors do not pass by trying again.
var final = []error{
	eventlog.ErrFenced, eventlog.ErrMoved, eventlog.ErrBadID, eventlog.ErrDeleted,
	eventlog.ErrFormat, eventlog.ErrClosed, eventlog.ErrOutOfMemory, eventlog.ErrPolicyConflict,
}

func isFinal(err error) bool {
	for _, f := range final {
		if errors.Is(err, f) {
			return true
		}
	}
	var refusal *Refusal
	return errors.As(err, &refusal)
}

// retry makes a call until it succeeds, fails for good, or ctx or the budget
// ends (0 = no budget). The call must be idempotent: a reply may have been lost.
func retry(ctx context.Context, budget time.Duration, call func(context.Context) error) error {
	start := time.Now()
	for pause := firstPause; ; pause = min(2*pause, longPause) {
		err := call(ctx)
		if err == nil || isFinal(err) {
			return err
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		wait := pause/2 + rand.N(pause)
		if budget > 0 && time.Since(start)+wait > budget {
			return err
		}
		timer := time.NewTimer(wait)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return context.Cause(ctx)
		}
	}
}
