package eventlog

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"
)

// NodeReport is what operators see of a node.
type NodeReport struct {
	NodeState
	Info    NodeInfo // as registered; empty when it never was, or a day ago
	Turns   int      // running turns that it owns
	Viewing int      // threads that its viewers follow
}

// NodeReports lists the nodes with a lease and the dead of the last 24 h with
// what they own. It takes two round trips, whose size grows with nodes times
// partitions; nodes whose burial is done own nothing and are not asked about.
func (l *Log) NodeReports(ctx context.Context) ([]NodeReport, error) {
	nodes, err := l.Nodes(ctx)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, l.opt.CommandTimeout)
	defer cancel()
	pipe := l.rdb.Pipeline()
	infos := make([]*redis.MapStringStringCmd, len(nodes))
	turns, viewing := make([][]*redis.IntCmd, len(nodes)), make([][]*redis.IntCmd, len(nodes))
	for i, n := range nodes {
		infos[i] = pipe.HGetAll(ctx, nodeChannel(n.ID))
		for p := 0; p < l.opt.Partitions && !n.Buried; p++ {
			turns[i] = append(turns[i], pipe.SCard(ctx, nodeKey(p, n.ID, "turns")))
			viewing[i] = append(viewing[i], pipe.SCard(ctx, nodeKey(p, n.ID, "viewing")))
		}
	}
	if _, err := pipe.Exec(ctx); err != nil {
		return nil, l.mapError(ctx, "report nodes", err)
	}
	reports := make([]NodeReport, len(nodes))
	for i, n := range nodes {
		info := infos[i].Val()
		reports[i] = NodeReport{NodeState: n, Info: NodeInfo{ID: n.ID, Address: info["address"], Version: info["version"]}}
		if ms, err := strconv.ParseInt(info["started"], 10, 64); err == nil {
			reports[i].Info.Started = time.UnixMilli(ms)
		}
		if connections, err := strconv.Atoi(info["connections"]); err == nil {
			reports[i].Info.Load = &NodeLoad{Draining: info["draining"] == "1", Connections: connections}
		}
		for p := range turns[i] {
			reports[i].Turns += int(turns[i][p].Val())
			reports[i].Viewing += int(viewing[i][p].Val())
		}
	}
	return reports, nil
}

// ReaperState is who leads the reaper.
type ReaperState struct {
	Node  string // "" = nobody at this moment
	Term  int64
	Left  time.Duration // of its lease
	Since time.Time     // when it took the lease; zero = not known
}

// Reaper reads who leads the reaper.
func (l *Log) Reaper(ctx context.Context) (ReaperState, error) {
	ctx, cancel := context.WithTimeout(ctx, l.opt.CommandTimeout)
	defer cancel()
	pipe := l.rdb.Pipeline()
	held, left, since := pipe.Get(ctx, reaperKey), pipe.PTTL(ctx, reaperKey), pipe.Get(ctx, sinceKey)
	if _, err := pipe.Exec(ctx); err != nil && !errors.Is(err, redis.Nil) {
		return ReaperState{}, l.mapError(ctx, "read the reaper's lease", err)
	}
	if held.Val() == "" {
		return ReaperState{}, nil
	}
	var s ReaperState
	if _, err := fmt.Sscanf(held.Val(), "%s %d", &s.Node, &s.Term); err != nil {
		return ReaperState{}, fmt.Errorf("read the reaper's lease: %s holds %q", reaperKey, held.Val())
	}
	s.Left = max(left.Val(), 0)
	if ms, err := strconv.ParseInt(since.Val(), 10, 64); err == nil {
		s.Since = time.UnixMilli(ms)
	}
	return s, nil
}
