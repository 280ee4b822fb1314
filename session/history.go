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
	messages := make([]json.RawMessage, len(rows))
	for i, r := range rows {
		messages[i] = r.Row
	}
	messages = closing.Conversation(messages)
	for len(messages) > limit { // with stand-ins; once cut, results may have lost their calls
		messages = closing.Conversation(messages[len(messages)-limit:])
	}
	return messages, nil
}
