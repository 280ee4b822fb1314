package eventlog

import (
	"cmp"
	"context"
	"fmt"
	"strconv"

	"github.com/redis/go-redis/v9"
)

// turnScan goes over the running turns of several partitions in one order: by the
// start of their attempt, then by name.
type turnScan struct {
	log     *Log
	sources []*turnSource
}

// turnSource is one partition's index, read in bites.
type turnSource struct {
	key  string
	at   TurnPosition // the last one that was read
	bite int64        // how many are read next
	held []redis.Z    // read and not given away yet
	done bool         // nothing is left behind at
}

// scanTurns begins behind a position; user "" = all partitions.
func (l *Log) scanTurns(user string, behind TurnPosition) (*turnScan, error) {
	if behind.Name != "" {
		if _, err := parseMember(behind.Name); err != nil {
			return nil, err
		}
	}
	s := &turnScan{log: l}
	from, until := 0, l.opt.Partitions
	if user != "" {
		p, err := l.Partition(user)
		if err != nil {
			return nil, err
		}
		from, until = p, p+1
	}
	for p := from; p < until; p++ {
		s.sources = append(s.sources, &turnSource{key: partitionPrefix(p) + "turns", at: behind})
	}
	return s, nil
}

// next returns the next n, fewer only at the end.
func (s *turnScan) next(ctx context.Context, n int) ([]redis.Z, error) {
	for _, source := range s.sources {
		// Twice the share of each partition, and some: most of the time it is enough.
		source.bite = max(source.bite, int64(2*n/len(s.sources)+8))
	}
	out := make([]redis.Z, 0, n)
	for len(out) < n {
		if err := s.fill(ctx); err != nil {
			return nil, err
		}
		first := s.first()
		if first == nil {
			break
		}
		out = append(out, first.held[0])
		first.held = first.held[1:]
	}
	return out, nil
}

// more tells whether next would return anything.
func (s *turnScan) more(ctx context.Context) (bool, error) {
	if err := s.fill(ctx); err != nil {
		return false, err
	}
	return s.first() != nil, nil
}

// first is the source that holds the next one, nil at the end.
func (s *turnScan) first() *turnSource {
	var first *turnSource
	for _, source := range s.sources {
		if len(source.held) == 0 {
			continue
		}
		if first == nil || compareTurns(positionOfTurn(source.held[0]), positionOfTurn(first.held[0])) < 0 {
			first = source
		}
	}
	return first
}

func compareTurns(a, b TurnPosition) int {
	return cmp.Or(cmp.Compare(a.Started, b.Started), cmp.Compare(a.Name, b.Name))
}

// fill makes every source hold something that has anything left. Those that hold little
// are read on together with the empty ones: they would be next.
func (s *turnScan) fill(ctx context.Context) error {
	for {
		var low []*turnSource
		empty := false
		for _, source := range s.sources {
			if source.done {
				continue
			}
			empty = empty || len(source.held) == 0
			if int64(4*len(source.held)) < source.bite {
				low = append(low, source)
			}
		}
		if !empty {
			return nil
		}
		if err := s.bite(ctx, low); err != nil {
			return fmt.Errorf("scan running turns: %w", err)
		}
	}
}

// bite reads on in some sources, in one round trip.
func (s *turnScan) bite(ctx context.Context, sources []*turnSource) error {
	ctx, cancel := context.WithTimeout(ctx, s.log.opt.CommandTimeout)
	defer cancel()
	pipe := s.log.rdb.Pipeline()
	reads := make([]*redis.ZSliceCmd, len(sources))
	for i, source := range sources {
		from := strconv.FormatInt(source.at.Started, 10)
		reads[i] = pipe.ZRangeByScoreWithScores(ctx, source.key, &redis.ZRangeBy{Min: from, Max: "+inf", Count: source.bite})
	}
	if _, err := pipe.Exec(ctx); err != nil {
		return s.log.mapError(ctx, "scan running turns", err)
	}
	for i, source := range sources {
		source.take(reads[i].Val())
	}
	return nil
}

// take keeps what lies behind the source's position. The next bite is twice as large: this
// partition has more than others, or all of this bite began in the same millisecond as its position.
func (s *turnSource) take(read []redis.Z) {
	s.done = int64(len(read)) < s.bite
	s.bite = min(2*s.bite, 1<<20)
	for _, z := range read {
		if at := positionOfTurn(z); compareTurns(at, s.at) > 0 {
			s.held = append(s.held, z)
		}
	}
	if n := len(s.held); n > 0 {
		s.at = positionOfTurn(s.held[n-1])
	}
}
