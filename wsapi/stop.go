package wsapi

import (
	"maps"
	"slices"
)

func parseStop(f *form) action {
	turnID := f.text("turn_id")
	return func(c *conn, cmd command) {
		switch {
		case cmd.threadID != "":
			c.stopTurn(cmd, cmd.threadID, turnID)
		case turnID != "":
			threadID, err := c.threadOf(turnID)
			if err != nil {
				c.refused(cmd, err)
				return
			}
			c.stopTurn(cmd, threadID, turnID)
		default:
			c.stopOwn(cmd)
		}
	}
}

// stopTurn stops a thread's turn and acknowledges it. Without a thread there was
// nothing to stop.
func (c *conn) stopTurn(cmd command, threadID, turnID string) {
	frames := [][]byte{stoppedFrame("")}
	if threadID != "" {
		var err error
		if frames, _, err = c.stop(threadID, turnID, true); err != nil {
			c.refused(cmd, err)
			return
		}
	}
	c.stopped(cmd)
	for _, b := range frames {
		c.send(b)
	}
}

// threadOf finds the thread of a turn that this connection submitted, or that
// runs for its user; "" when there is none.
func (c *conn) threadOf(turnID string) (string, error) {
	for threadID, submitted := range c.threads.submittedTurns() {
		if submitted == turnID {
			return threadID, nil
		}
	}
	running, err := c.srv.sessions.Turns(c.ctx, c.who.User)
	if err != nil {
		return "", err
	}
	for _, r := range running {
		if r.TurnID == turnID {
			return r.Thread.ID, nil
		}
	}
	return "", nil
}

// stopped acknowledges a stop.
func (c *conn) stopped(cmd command) {
	o := object(nil).text("message", "Stop command processed")
	if cmd.threadID == "" {
		o = o.null("thread_id")
	} else {
		o = o.text("thread_id", cmd.threadID)
	}
	c.ack(cmd, o.null("job_id"))
}

// stop stops a thread's turn and returns what the client is to be told behind
// the acknowledgement: what was dropped, and the unnumbered generation_stopped
// unless the log brings it. always: also when nothing was met.
func (c *conn) stop(threadID, turnID string, always bool) (frames [][]byte, met bool, err error) {
	f := c.threads.get(threadID)
	p := f.expectStop()
	result, err := c.srv.sessions.Stop(c.ctx, c.who.User, threadID, turnID)
	if err != nil {
		f.cancelStop(p)
		return nil, false, err
	}
	for _, dropped := range result.Dropped {
		frames = append(frames, object(nil).text("type", "submission_dropped").
			text("thread_id", threadID).text("turn_id", dropped).end())
	}
	met = result.Stopped || len(result.Dropped) > 0
	switch {
	case !met && !always:
		f.cancelStop(p)
	case f == nil || f.settleStop(p, turnID, result):
		frames = append(frames, stoppedFrame(threadID))
	}
	return frames, met, nil
}

// stopOwn stops every turn that this connection submitted. When none was
// there, one generation_stopped says so.
func (c *conn) stopOwn(cmd command) {
	turns := c.threads.submittedTurns()
	var frames [][]byte
	any := false
	for _, threadID := range slices.Sorted(maps.Keys(turns)) {
		more, met, err := c.stop(threadID, turns[threadID], false)
		if err != nil {
			c.refused(cmd, err)
			return
		}
		c.threads.finishedTurn(threadID, turns[threadID])
		any = any || met
		frames = append(frames, more...)
	}
	c.stopped(cmd)
	if !any {
		frames = append(frames, stoppedFrame(""))
	}
	for _, b := range frames {
		c.send(b)
	}
}
