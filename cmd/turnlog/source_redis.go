package main

import (
	"context"
	"errors"
	"fmt"

	"turnlog/eventlog"
	"turnlog/httpapi/admin"
)

// Bounds of one bite: rows of a list, frames of a log and their bytes.
const (
	biteRows   = 200
	biteFrames = 500
	biteBytes  = 1 << 20
)

// redisSource looks into the log itself. It is used by one goroutine.
type redisSource struct {
	log   *eventlog.Log
	turns map[int64]string // ordinals -> ids, of the thread that is followed
}

var _ source = (*redisSource)(nil)

// away marks errors that may pass.
func away(err error) error {
	if errors.Is(err, eventlog.ErrUnavailable) {
		return fmt.Errorf("%w: %w", errAway, err)
	}
	return err
}

// Threads implements source.
func (s *redisSource) Threads(ctx context.Context, user string, most int) (threadListing, error) {
	out := threadListing{User: user, Threads: []admin.ListedThread{}}
	var behind eventlog.ThreadPosition
	for {
		n := biteRows
		if most > 0 {
			n = min(n, most-len(out.Threads))
		}
		page, next, err := s.log.ListThreads(ctx, user, behind, n)
		if err != nil {
			return out, away(err)
		}
		for _, l := range page {
			out.Threads = append(out.Threads, admin.NewListedThread(l))
		}
		behind, out.More = next, next != (eventlog.ThreadPosition{})
		if !out.More || most > 0 && len(out.Threads) >= most {
			break
		}
	}
	now, err := s.log.Now(ctx)
	out.Now = now.UTC()
	return out, away(err)
}

// Thread implements source.
func (s *redisSource) Thread(ctx context.Context, t eventlog.Thread) (admin.Thread, error) {
	in, err := s.log.Inspect(ctx, t)
	if err == nil && !in.Exists && in.Deleted.IsZero() {
		err = errNoThread
	}
	if err != nil {
		return admin.Thread{}, away(err)
	}
	return admin.NewThread(in), nil
}

// Frames implements source.
func (s *redisSource) Frames(ctx context.Context, t eventlog.Thread, after int64) (framePage, error) {
	stored, err := s.log.Frames(ctx, t, after, 0, biteFrames, biteBytes)
	if err != nil {
		return framePage{}, away(err)
	}
	peeked, err := s.log.Peek(ctx, []eventlog.Thread{t})
	if err != nil {
		return framePage{}, away(err)
	}
	p := peeked[0]
	page := framePage{Epoch: p.Epoch, Status: p.Status, LastSeq: p.LastSeq, Frames: make([]admin.Frame, len(stored))}
	for i, f := range stored {
		id, known := s.turns[f.Ordinal]
		if !known {
			if s.turns, err = s.log.TurnIDs(ctx, t); err != nil {
				return framePage{}, away(err)
			}
			id = s.turns[f.Ordinal]
		}
		page.Frames[i] = admin.Frame{ChatSeq: f.Seq, TurnID: id, Ordinal: f.Ordinal, Type: f.Type, Bytes: len(f.Frame), Frame: f.Frame}
	}
	return page, nil
}
