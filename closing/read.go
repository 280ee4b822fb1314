package closing

import (
	"context"
	"fmt"

	"turnlog/eventlog"
)

// Source reads frames of a thread: after < chat_seq <= until, at most limit
// frames and about maxBytes bytes a call.
type Source interface {
	Frames(ctx context.Context, t eventlog.Thread, after, until int64, limit, maxBytes int) ([]eventlog.StoredFrame, error)
}

const (
	pageFrames = 500
	pageBytes  = 1 << 20
)

// Read makes the Transcript of a turn that somebody else than its owner ends,
// from the frames that are still held. limit is that of NewTranscript.
func Read(ctx context.Context, src Source, turn eventlog.RunningTurn, limit int) (*Transcript, error) {
	t := NewTranscript(limit)
	if err := Pages(ctx, src, turn.Thread, turn.FirstSeq, turn.LastSeq, t.AddStored); err != nil {
		return nil, err
	}
	return t, nil
}

// Pages reads the frames first..last that are still held, oldest first, and gives
// them to page as they come. Memory is bounded by one page.
func Pages(ctx context.Context, src Source, t eventlog.Thread, first, last int64, page func([]eventlog.StoredFrame)) error {
	for after := first - 1; after < last; {
		frames, err := src.Frames(ctx, t, after, last, pageFrames, pageBytes)
		if err != nil {
			return fmt.Errorf("read frames after %d: %w", after, err)
		}
		if len(frames) == 0 {
			return nil
		}
		page(frames)
		after = frames[len(frames)-1].Seq
	}
	return nil
}
