package closing

import (
	"context"

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
// from the frames that are still held, page by page. limit is that of NewTranscript.
func Read(ctx context.Context, src Source, turn eventlog.RunningTurn, limit int) (*Transcript, error) {
	t := NewTranscript(limit)
	for after := turn.FirstSeq - 1; after < turn.LastSeq; {
		page, err := src.Frames(ctx, turn.Thread, after, turn.LastSeq, pageFrames, pageBytes)
		if err != nil {
			return nil, err
		}
		if len(page) == 0 {
			break
		}
		t.AddStored(page)
		after = page[len(page)-1].Seq
	}
	return t, nil
}
