package wsapi

import (
	"encoding/json"

	"turnlog/eventlog"
)

func parseResume(f *form) action {
	cursor := eventlog.Cursor{LastSeq: f.position("last_seq"), Epoch: f.text("epoch"), Full: f.flag("full")}
	want := f.policy()
	return func(c *conn, cmd command) {
		if want.clash {
			c.refused(cmd, errPolicyClash)
			return
		}
		c.resume(cmd, cursor, want.policy)
	}
}

// resume starts or restarts a position. The header and the acknowledgement are the
// writer's, at their places among the frames.
func (c *conn) resume(cmd command, cursor eventlog.Cursor, policy eventlog.Policy) {
	f := c.threads.get(cmd.threadID)
	first := f == nil
	if first {
		var err error
		if f, err = c.reserve(c.thread(cmd.threadID)); err != nil {
			c.refused(cmd, err)
			return
		}
	} else {
		f.moving.Lock()
	}
	err := f.viewer.Rejoin(c.ctx, cursor, policy)
	switch {
	case err == nil:
		f.mu.Lock()
		f.resumed = true
		f.replay.acks = append(f.replay.acks, cmd.request)
		f.mu.Unlock()
	default:
		c.refused(cmd, err) // before the log is told, which may not answer either
	}
	switch {
	case !first:
		f.moving.Unlock()
		c.out.announce(f)
	case err == nil:
		c.start(f)
	default:
		c.abandon(f)
	}
}

func resumedAck(threadID string, count int64, request json.RawMessage) []byte {
	return withRequest(object(nil).text("message", "Chat resumed").text("thread_id", threadID).
		number("replay_count", count), request)
}

func noTurnAck(threadID string, request json.RawMessage) []byte {
	return withRequest(object(nil).text("message", "No chat turn to resume").text("thread_id", threadID), request)
}
