package wsapi

import (
	"turnlog/eventlog"
)

func parseFollow(f *form) action {
	want := f.policy()
	return func(c *conn, cmd command) {
		if want.clash {
			c.refused(cmd, errPolicyClash)
			return
		}
		c.follow(cmd, want.policy)
	}
}

// follow shows what comes from now on. A thread that is followed already goes on.
func (c *conn) follow(cmd command, policy eventlog.Policy) {
	thread := c.thread(cmd.threadID)
	if f := c.threads.get(cmd.threadID); f != nil {
		if policy != eventlog.PolicyUnset {
			if err := f.viewer.Rejoin(c.ctx, eventlog.Cursor{Live: true}, policy); err != nil {
				c.refused(cmd, err)
				return
			}
		}
		c.followed(cmd, f)
		return
	}
	f, err := c.reserve(thread)
	if err != nil {
		c.refused(cmd, err)
		return
	}
	if err := f.viewer.Rejoin(c.ctx, eventlog.Cursor{Live: true}, policy); err != nil {
		c.refused(cmd, err)
		c.abandon(f)
		return
	}
	c.followed(cmd, f)
	c.start(f)
}

// followed acknowledges with the position from which frames come.
func (c *conn) followed(cmd command, f *following) {
	status := eventlog.StatusUnknown
	peeks, err := c.srv.logs.Peek(c.ctx, []eventlog.Thread{f.thread})
	if err == nil && len(peeks) == 1 {
		status = peeks[0].Status
	}
	epoch, lastSeq := f.viewer.Position()
	f.mu.Lock()
	f.pinned = true
	if f.turn == (turnSeen{}) {
		f.turn.running = status == eventlog.StatusRunning
	}
	f.mu.Unlock()
	c.ack(cmd, object(nil).text("message", "Following").text("thread_id", cmd.threadID).
		number("last_seq", lastSeq).text("epoch", epoch).text("status", string(status)))
}

func parseUnfollow(*form) action {
	return func(c *conn, cmd command) {
		if f := c.threads.get(cmd.threadID); f != nil {
			c.unfollow(c.ctx, f, false)
		}
		c.ack(cmd, object(nil).text("message", "Unfollowed").text("thread_id", cmd.threadID))
	}
}
