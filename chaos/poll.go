package chaos

import (
	"context"
	"time"
)

// startPatience is how long a process may take to be ready on a busy machine.
const startPatience = 40 * time.Second

// poll tries cond every few milliseconds until it holds or ctx ends.
func poll(ctx context.Context, cond func() bool) bool {
	tick := time.NewTicker(25 * time.Millisecond)
	defer tick.Stop()
	for !cond() {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return false
		}
	}
	return true
}
