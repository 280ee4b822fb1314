package session

import (
	"context"
	"encoding/json"
	"fmt"

	"turnlog/closing"
	"turnlog/eventlog"
)

// History implements agent.Turn.
func (t *turn) History(ctx context.Context, limit int) ([]json.RawMessage, error) {
	if limit <= 0 {
		limit = 100
	}
	ctx, release := t.bounded(ctx)
	defer release()
	var rows []eventlog.Message
	err := retry(ctx, 0, func(ctx context.Context) (err error) {
		rows, err = t.log.History(ctx, t.fence.Thread, t.first, limit)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("read history: %w", err)
	}
	out := answered(rows, t.fence.Thread.ID)
	return out[max(0, len(out)-limit):], nil
}

// answered returns the rows, with stand-ins where another thread's were cut
// between a call and its result. The thread's own turns have left none open.
func answered(rows []eventlog.Message, own string) []json.RawMessage {
	out := make([]json.RawMessage, 0, len(rows))
	from := 0 // where the rows of the thread at hand begin
	for i, r := range rows {
		out = append(out, r.Row)
		last := i+1 == len(rows) || rows[i+1].ThreadID != r.ThreadID
		if last && r.ThreadID != own {
			out = append(out, closing.Unanswered(out[from:])...)
		}
		if last {
			from = len(out)
		}
	}
	return out
}
