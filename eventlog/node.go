package eventlog

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"
)

var (
	heartbeatScript   = loadScript("heartbeat")
	declareDeadScript = loadScript("declare_dead")
	resignScript      = loadScript("resign")
	leadScript        = loadScript("lead")
)

// NodeInfo describes a node to others.
type NodeInfo struct {
	ID      string
	Address string
	Version string
	Started time.Time
	Load    *NodeLoad // nil = it does not tell
}

// NodeLoad is what changes while a node runs.
type NodeLoad struct {
	Draining    bool
	Connections int // sockets and event streams that are open
}

// NodeState is a node as Redis knows it.
type NodeState struct {
	ID     string
	Until  time.Time     // end of its lease; of a dead node: when it was declared dead
	Left   time.Duration // until then by Redis' clock; negative = that long ago
	Past   bool          // its lease has ended by Redis' clock; it may be declared dead
	Dead   bool
	Buried bool // every partition's burial is done
}

// State is one word for it: "alive"; "late", its lease is past and it is about to be
// declared dead; "dead", its turns and viewers are being dealt with; "buried", nothing
// of it is left.
func (n NodeState) State() string {
	switch {
	case n.Buried:
		return "buried"
	case n.Dead:
		return "dead"
	case n.Past:
		return "late"
	}
	return "alive"
}

// Register stores what others may know about a node, for 24 h, or what has changed of it.
func (l *Log) Register(ctx context.Context, n NodeInfo) error {
	if err := nodeID(n.ID); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, l.opt.CommandTimeout)
	defer cancel()
	pipe := l.rdb.Pipeline()
	fields := []any{"address", n.Address, "version", n.Version, "started", n.Started.UnixMilli()}
	if n.Load != nil {
		fields = append(fields, "draining", n.Load.Draining, "connections", n.Load.Connections)
	}
	pipe.HSet(ctx, nodeChannel(n.ID), fields...)
	pipe.Expire(ctx, nodeChannel(n.ID), 24*time.Hour)
	if _, err := pipe.Exec(ctx); err != nil {
		return l.mapError(ctx, "register node", err)
	}
	return nil
}

// Heartbeat extends a node's lease, and starts it when it has none. False: the
// node was declared dead; its id never comes back.
func (l *Log) Heartbeat(ctx context.Context, node string) (bool, error) {
	if err := nodeID(node); err != nil {
		return false, err
	}
	r, err := l.run(ctx, heartbeatScript, leaseKey, node, l.opt.NodeLease.Milliseconds())
	if err != nil {
		return false, err
	}
	return r.int(0) == 1, nil
}

// Resign gives a node's lease up for good: what it still owns is buried.
func (l *Log) Resign(ctx context.Context, node string) error {
	_, err := l.run(ctx, resignScript, leaseKey, node)
	return err
}

// DeclareDead declares a node dead if its lease is past and still there. True
// means that the node is dead, by this call or an earlier one.
func (l *Log) DeclareDead(ctx context.Context, node string) (bool, error) {
	r, err := l.run(ctx, declareDeadScript, leaseKey, node)
	if err != nil {
		return false, err
	}
	return r.int(0) == 1, nil
}

// ReaperLease is how long the leading reaper is trusted without asking again.
const ReaperLease = 5 * time.Second

// LeadReaper takes or extends the reaper's lease. The term rises whenever the
// lease changes hands; a node that leads passes the term it was given (0 at first).
func (l *Log) LeadReaper(ctx context.Context, node string, term int64) (newTerm int64, leads bool, err error) {
	if err := nodeID(node); err != nil {
		return 0, false, err
	}
	r, err := l.run(ctx, leadScript, reaperKey, node, term, ReaperLease.Milliseconds())
	if err != nil {
		return 0, false, err
	}
	return r.int(1), r.int(0) == 1, nil
}

// Nodes lists the nodes with a lease and the dead of the last 24 h.
func (l *Log) Nodes(ctx context.Context) ([]NodeState, error) {
	ctx, cancel := context.WithTimeout(ctx, l.opt.CommandTimeout)
	defer cancel()
	pipe := l.rdb.Pipeline()
	now := pipe.Time(ctx)
	live := pipe.ZRangeWithScores(ctx, leaseKey, 0, -1)
	dead := pipe.ZRangeWithScores(ctx, deadKey, 0, -1)
	buried := pipe.ZRange(ctx, buriedKey, 0, -1)
	if _, err := pipe.Exec(ctx); err != nil {
		return nil, l.mapError(ctx, "list nodes", err)
	}
	done := make(map[string]bool)
	for _, id := range buried.Val() {
		done[id] = true
	}
	var out []NodeState
	for _, z := range live.Val() {
		until := time.UnixMilli(int64(z.Score))
		out = append(out, NodeState{ID: z.Member.(string), Until: until, Left: until.Sub(now.Val()), Past: !until.After(now.Val())})
	}
	for _, z := range dead.Val() {
		id := z.Member.(string)
		until := time.UnixMilli(int64(z.Score))
		out = append(out, NodeState{ID: id, Until: until, Left: until.Sub(now.Val()), Past: true, Dead: true, Buried: done[id]})
	}
	return out, nil
}

// OwnedTurns lists the threads whose running turn a node owns.
func (l *Log) OwnedTurns(ctx context.Context, node string) ([]Thread, error) {
	return l.nodeSet(ctx, node, "turns")
}

// Viewing lists the threads a node is registered as a viewer of.
func (l *Log) Viewing(ctx context.Context, node string) ([]Thread, error) {
	return l.nodeSet(ctx, node, "viewing")
}

func (l *Log) nodeSet(ctx context.Context, node, name string) ([]Thread, error) {
	ctx, cancel := context.WithTimeout(ctx, l.opt.CommandTimeout)
	defer cancel()
	pipe := l.rdb.Pipeline()
	var sets []*redis.StringSliceCmd
	for p := range l.opt.Partitions {
		sets = append(sets, pipe.SMembers(ctx, nodeKey(p, node, name)))
	}
	if _, err := pipe.Exec(ctx); err != nil {
		return nil, l.mapError(ctx, "list "+name+" of node", err)
	}
	var out []Thread
	for _, s := range sets {
		out = append(out, parseMembers(s.Val())...)
	}
	return out, nil
}

// DueThreads lists threads with a deadline in the past, at most limit per
// partition. Reap checks each one again.
func (l *Log) DueThreads(ctx context.Context, limit int) ([]Thread, error) {
	ctx, cancel := context.WithTimeout(ctx, l.opt.CommandTimeout)
	defer cancel()
	now, err := l.rdb.Time(ctx).Result()
	if err != nil {
		return nil, l.mapError(ctx, "redis time", err)
	}
	pipe := l.rdb.Pipeline()
	var sets []*redis.StringSliceCmd
	until := strconv.FormatInt(now.UnixMilli(), 10)
	for p := range l.opt.Partitions {
		sets = append(sets, pipe.ZRangeByScore(ctx, partitionPrefix(p)+"due", &redis.ZRangeBy{Min: "-inf", Max: until, Count: int64(limit)}))
	}
	if _, err := pipe.Exec(ctx); err != nil {
		return nil, fmt.Errorf("due threads: %w", l.mapError(ctx, "due threads", err))
	}
	var out []Thread
	for _, s := range sets {
		out = append(out, parseMembers(s.Val())...)
	}
	return out, nil
}
