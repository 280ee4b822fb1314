package eventlog

import (
	"context"
	"fmt"
)

var setPolicyScript = loadScript("set_policy")

// Scopes of SetPolicy.
const (
	ScopeTurn   = "turn"   // raises the running turn's policy
	ScopeThread = "thread" // sets the thread's default, which raises a running turn too
)

// SetPolicy returns the policy in force afterwards. A running turn's policy
// only ever rises. It fails with ErrPolicyConflict when cancel is asked for
// where the thread or its kind says preserve.
func (l *Log) SetPolicy(ctx context.Context, t Thread, p Policy, scope string) (Policy, error) {
	k, err := l.keys(t)
	if err != nil {
		return PolicyUnset, err
	}
	r, err := l.run(ctx, setPolicyScript, k.state(), l.cfg, string(p), scope)
	if err != nil {
		return PolicyUnset, fmt.Errorf("set policy: %w", err)
	}
	if r.str(0) == "conflict" {
		return Policy(r.str(1)), fmt.Errorf("set policy: %w", ErrPolicyConflict)
	}
	return Policy(r.str(1)), nil
}
