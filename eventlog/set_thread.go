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
	// takes over when it is created (compaction), BranchOf one of which it takes
	// over none. Not both. Either way History shows the rows of that thread, and
	// of those before it, in front of this one's. Lineage is settled when the
	// thread is created: rows that come later are never shown.
	Continues string
	BranchOf  string

	// BranchSeq is the chat_seq up to which the rows of that thread are shown.
	// 0 = the newest row at the moment of creation, negative = none, nor any of the
	// threads before it. Thread returns the number of the last row that counts.
	BranchSeq int64

	// RuleKind and RulePolicy come from the admission rules. They are used only
	// when the thread is created, continues none and has no Kind.
	RuleKind   string
	RulePolicy Policy
}

// SetThread creates a thread's state or changes its metadata. It never changes
// the policy of a running turn, except that a stronger default raises it. A
// lineage that cannot be is refused with ErrLineage.
func (l *Log) SetThread(ctx context.Context, t Thread, m ThreadMeta) error {
	k, err := l.keys(t)
	if err != nil {
		return err
	}
	continues, branchOf, err := m.parents()
	if err != nil {
		return fmt.Errorf("set thread: %w", err)
	}
	r, err := l.run(ctx, setThreadScript, k.state(), l.cfg, m.Title, m.Kind, string(m.KindPolicy), string(m.Policy), continues, branchOf,
		m.RuleKind, string(m.RulePolicy), m.BranchSeq, MaxLineage)
	switch {
	case err != nil:
		return fmt.Errorf("set thread: %w", err)
	case r.str(0) == "conflict":
		return fmt.Errorf("set thread: %w", ErrPolicyConflict)
	case r.str(0) == "lineage":
		return fmt.Errorf("set thread: %w: %s", ErrLineage, lineageReasons[r.str(1)])
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
	vals, err := l.rdb.HMGet(ctx, k.state(), "title", "kind", "kind_policy", "thread_policy", "continues", "branch_of", "deleted", "created_at", "lineage").Result()
	if err != nil {
		return ThreadMeta{}, false, l.mapError(ctx, "read thread", err)
	}
	r := reply(vals)
	if r.str(6) != "" || r.str(7) == "" {
		return ThreadMeta{}, false, nil
	}
	m := ThreadMeta{Title: r.str(0), Kind: r.str(1), KindPolicy: Policy(r.str(2)), Policy: Policy(r.str(3))}
	m.Continues, _ = DecodeID(r.str(4))
	m.BranchOf, _ = DecodeID(r.str(5))
	if line := parseLineage(r.str(8)); len(line) > 0 {
		m.BranchSeq = line[0].seq
	}
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
