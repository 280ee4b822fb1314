package eventlog

import (
	"context"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
)

// TurnFilter picks running turns; empty fields let everything through.
type TurnFilter struct {
	User   string
	Node   string // owner; NoNode = those without one
	State  string // TurnWatched or TurnDetached
	Kind   string // of the thread
	Policy Policy
	Search string // part of the user, the thread's id or the turn's; case does not matter
}

// NoNode picks the turns whose owner was lost and that wait for their next attempt.
const NoNode = "-"

// The states of running turns.
const (
	TurnWatched  = "running"
	TurnDetached = "detached"
)

// TurnPosition is a place in the list of all running turns, by the start of their
// attempt. The zero value is its beginning.
type TurnPosition struct {
	Started int64  // Unix milliseconds, Redis clock
	Name    string // <user>/<thread>, encoded
}

// ListedTurn is a running turn as lists show it.
type ListedTurn struct {
	RunningTurn
	Kind         string
	Started      time.Time // of this attempt
	ViewingNodes int       // nodes on which somebody follows the thread
}

// State is TurnWatched or TurnDetached.
func (t ListedTurn) State() string {
	if t.Detached {
		return TurnDetached
	}
	return TurnWatched
}

// TurnPage is a page of running turns.
type TurnPage struct {
	Turns   []ListedTurn
	Next    TurnPosition // of the next page; zero: there is none
	Scanned int          // turns that were looked at
}

// Bounds of one page with a filter.
const (
	scannedTurns = 2000 // turns that are looked at
	scannedChunk = 250  // of these, in one round trip
)

// ListTurns returns at most limit of the fleet's running turns behind a position, those
// that run longest first. A turn that begins while a caller turns the pages comes
// last; one that gets another attempt moves there and may be seen twice.
//
// The cost of a page does not depend on how many turns run. Without a filter it is one
// command per partition, a few more where one partition has most of the turns, and two
// per row. A filter looks at up to 2,000 turns, two commands for each, and the page ends
// there, short or empty, with a Next. A filter with a user asks one partition only.
func (l *Log) ListTurns(ctx context.Context, f TurnFilter, behind TurnPosition, limit int) (TurnPage, error) {
	scan, err := l.scanTurns(f.User, behind)
	if err != nil {
		return TurnPage{}, err
	}
	var page TurnPage
	filtered := f != TurnFilter{}
	f.Search = strings.ToLower(f.Search)
	for len(page.Turns) < limit && page.Scanned < scannedTurns {
		chunk := limit - len(page.Turns)
		if filtered {
			chunk = scannedChunk
		}
		names, err := scan.next(ctx, chunk)
		if err != nil || len(names) == 0 {
			return TurnPage{Turns: page.Turns, Scanned: page.Scanned}, err
		}
		rows, err := l.listedTurns(ctx, names)
		if err != nil {
			return TurnPage{}, err
		}
		for i, row := range rows {
			page.Scanned++
			page.Next = positionOfTurn(names[i])
			if row.TurnID != "" && f.match(row) {
				page.Turns = append(page.Turns, row)
			}
			if len(page.Turns) == limit {
				if i+1 < len(rows) {
					return page, nil
				}
				break
			}
		}
	}
	if more, err := scan.more(ctx); err != nil || !more {
		page.Next = TurnPosition{}
		return page, err
	}
	return page, nil
}

// eachPage is the size of EachTurn's pages.
const eachPage = 500

// EachTurn hands all running turns that fit to each, page by page, those that run longest
// first; its error ends the round. Memory is bounded by a page. The cost is that of the
// pages of ListTurns.
func (l *Log) EachTurn(ctx context.Context, f TurnFilter, each func([]ListedTurn) error) error {
	for at := (TurnPosition{}); ; {
		page, err := l.ListTurns(ctx, f, at, eachPage)
		if err != nil {
			return err
		}
		if len(page.Turns) > 0 {
			if err := each(page.Turns); err != nil {
				return err
			}
		}
		if at = page.Next; at == (TurnPosition{}) {
			return nil
		}
	}
}

func positionOfTurn(z redis.Z) TurnPosition {
	name, _ := z.Member.(string)
	return TurnPosition{Started: int64(z.Score), Name: name}
}

// match decides; Search is in lower case.
func (f TurnFilter) match(t ListedTurn) bool {
	owner := t.Owner
	if owner == "" {
		owner = NoNode
	}
	for _, c := range []struct{ want, is string }{
		{f.User, t.Thread.User}, {f.Node, owner}, {f.State, t.State()}, {f.Kind, t.Kind}, {string(f.Policy), string(t.Policy)},
	} {
		if c.want != "" && c.want != c.is {
			return false
		}
	}
	if f.Search == "" {
		return true
	}
	for _, text := range []string{t.Thread.User, t.Thread.ID, t.TurnID} {
		if strings.Contains(strings.ToLower(text), f.Search) {
			return true
		}
	}
	return false
}

// listedFields are runningFields and what only lists show.
var listedFields = append(append([]string(nil), runningFields...), "kind")

// listedTurns reads the turns of names, in one round trip; one that does not run any more is zero.
func (l *Log) listedTurns(ctx context.Context, names []redis.Z) ([]ListedTurn, error) {
	ctx, cancel := context.WithTimeout(ctx, l.opt.CommandTimeout)
	defer cancel()
	pipe := l.rdb.Pipeline()
	out := make([]ListedTurn, len(names))
	states, viewers := make([]*redis.SliceCmd, len(names)), make([]*redis.IntCmd, len(names))
	for i, z := range names {
		name, _ := z.Member.(string)
		t, err := parseMember(name)
		if err != nil {
			continue
		}
		k, err := l.keys(t)
		if err != nil {
			continue
		}
		out[i].Thread = t
		states[i], viewers[i] = pipe.HMGet(ctx, k.state(), listedFields...), pipe.HLen(ctx, k.viewers())
	}
	if _, err := pipe.Exec(ctx); err != nil {
		return nil, l.mapError(ctx, "list running turns", err)
	}
	for i, z := range names {
		if states[i] == nil {
			continue
		}
		r := reply(states[i].Val())
		turn, ok := listedTurn(out[i].Thread, r)
		if !ok {
			continue
		}
		out[i] = ListedTurn{RunningTurn: turn, Kind: r.str(len(runningFields)), Started: time.UnixMilli(int64(z.Score)), ViewingNodes: int(viewers[i].Val())}
	}
	return out, nil
}
