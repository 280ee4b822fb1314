package eventlog

import (
	"context"
	"encoding/json"
	"slices"
	"strconv"

	"github.com/redis/go-redis/v9"
)

// Message is one persisted row of a thread's history.
type Message struct {
	ThreadID string // whose row it is
	Seq      int64  // chat_seq of the frame that carried it
	Epoch    string
	TurnID   string
	Row      json.RawMessage
}

// Messages returns the thread's own newest rows before number before (0 = the
// newest of all), at most limit, oldest first. See History for those of the
// threads that it goes back to.
func (l *Log) Messages(ctx context.Context, t Thread, before int64, limit int) ([]Message, error) {
	k, err := l.keys(t)
	if err != nil {
		return nil, err
	}
	end := "+"
	if before > 0 {
		end = strconv.FormatInt(before-1, 10)
	}
	if limit <= 0 {
		limit = 100
	}
	ctx, cancel := context.WithTimeout(ctx, l.opt.CommandTimeout)
	defer cancel()
	rows, err := l.rdb.XRevRangeN(ctx, k.messages(), end, "-", int64(limit)).Result()
	if err != nil {
		return nil, l.mapError(ctx, "read messages", err)
	}
	out := make([]Message, 0, len(rows))
	for _, m := range rows {
		out = append(out, messageOf(t.ID, m))
	}
	slices.Reverse(out)
	return out, nil
}

func messageOf(threadID string, m redis.XMessage) Message {
	text := func(name string) string { s, _ := m.Values[name].(string); return s }
	return Message{ThreadID: threadID, Seq: seqOf(m.ID), Epoch: text("epoch"), TurnID: text("turn_id"), Row: json.RawMessage(text("frame"))}
}
