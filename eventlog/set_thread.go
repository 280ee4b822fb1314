package eventlog

import (
	"context"
	"fmt"
)

var setThreadScript = loadScript("set_thread")

// ThreadMeta is a thread's metadata. Empty fields are left as they are.
type ThreadMeta struct {
	Title      string
	Kind       string
	KindPolicy Policy // the policy that the kind's rule asks for; used with Kind
	Policy     Policy // the thread's own default

	// Continues names a thread of the same user whose kind and policy this one
	// takes over when it is created (compaction); BranchOf only remembers.
	Continues string
	BranchOf  string

	// RuleKind and RulePolicy come from the admission rules. They are used only
	// when the thread is created, continues none and has no Kind.
	RuleKind   string
	RulePolicy Policy
}

// SetThread creates a thread's state or changes its metadata. It never changes
// the policy of a running turn, except that a stronger default raises it.
func (l *Log) SetThread(ctx context.Context, t Thread, m ThreadMeta) error {
	k, err := l.keys(t)
	if err != nil {
		return err
	}
	continues := ""
	if m.Continues != "" {
		if continues, err = EncodeID(m.Continues); err != nil {
			return fmt.Errorf("continues: %w", err)
		}
	}
	r, err := l.run(ctx, setThreadScript, k.state(), l.cfg, m.Title, m.Kind, string(m.KindPolicy), string(m.Policy), continues, m.BranchOf,
		m.RuleKind, string(m.RulePolicy))
	if err != nil {
		return fmt.Errorf("set thread: %w", err)
	}
	if r.str(0) == "conflict" {
		return fmt.Errorf("set thread: %w", ErrPolicyConflict)
	}
	return nil
}

// Thread returns a thread's metadata; false: it has no state.
func (l *Log) Thread(ctx context.Context, t Thread) (ThreadMeta, bool, error) {
	k, err := l.keys(t)
	if err != nil {
		return ThreadMeta{}, false, err
	}
	ctx, cancel := context.WithTimeout(ctx, l.opt.CommandTimeout)
	defer cancel()
	vals, err := l.rdb.HMGet(ctx, k.state(), "title", "kind", "kind_policy", "thread_policy", "continues", "branch_of", "deleted", "created_at").Result()
	if err != nil {
		return ThreadMeta{}, false, l.mapError(ctx, "read thread", err)
	}
	r := reply(vals)
	if r.str(6) != "" || r.str(7) == "" {
		return ThreadMeta{}, false, nil
	}
	m := ThreadMeta{Title: r.str(0), Kind: r.str(1), KindPolicy: Policy(r.str(2)), Policy: Policy(r.str(3)), BranchOf: r.str(5)}
	m.Continues, _ = DecodeID(r.str(4))
	return m, true, nil
}

// Threads lists a user's threads by last activity, newest first.
func (l *Log) Threads(ctx context.Context, user string, offset, limit int) ([]Thread, error) {
	key, err := l.userKey(user, "threads")
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, l.opt.CommandTimeout)
	defer cancel()
	ids, err := l.rdb.ZRevRange(ctx, key, int64(offset), int64(offset+limit-1)).Result()
	if err != nil {
		return nil, l.mapError(ctx, "list threads", err)
	}
	out := make([]Thread, 0, len(ids))
	for _, id := range ids {
		if decoded, err := DecodeID(id); err == nil {
			out = append(out, Thread{User: user, ID: decoded})
		}
	}
	return out, nil
}
