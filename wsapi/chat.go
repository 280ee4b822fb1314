package wsapi

import (
	"turnlog/eventlog"
	"turnlog/session"
)

func parseChatMessage(f *form) action {
	f.content()
	f.text("role")
	s := session.Submit{ID: f.text("id"), Agent: f.text("agent")}
	s.OnBusy = eventlog.OnBusy(f.choice("on_busy", "supersede", "reject", "enqueue"))
	want := f.policy()
	return func(c *conn, cmd command) {
		if want.clash {
			c.refused(cmd, errPolicyClash)
			return
		}
		s.Policy = want.policy
		s.Thread, s.Data = c.thread(cmd.threadID), cmd.data
		s.Tools, s.Conn, s.Client = c.tools.inForce(), c.id, c.kind
		if f := c.threads.get(cmd.threadID); f != nil {
			c.submitAgain(cmd, s, f)
		} else {
			c.submit(cmd, s)
		}
	}
}

// submit admits a turn on a thread that this connection does not follow yet,
// and follows it from its turn_started on.
func (c *conn) submit(cmd command, s session.Submit) {
	// Where the thread is now, in case the submission is queued.
	before, err := c.srv.logs.Peek(c.ctx, []eventlog.Thread{s.Thread})
	if err != nil {
		c.refused(cmd, err)
		return
	}
	f, err := c.reserve(s.Thread)
	if err != nil {
		c.refused(cmd, err)
		return
	}
	s.Generation = f.viewer.Generation()
	adm, err := c.srv.sessions.Submit(c.ctx, s)
	if err != nil {
		c.refused(cmd, err)
		c.abandon(f)
		return
	}
	f.submitted = true
	switch {
	case queued(adm) && before[0].Epoch != "":
		f.waiting, f.turn.running = true, true
		f.viewer.Start(before[0].Epoch, before[0].LastSeq)
	case !queued(adm) && adm.FirstSeq > 0:
		f.turn = turnSeen{id: adm.TurnID, running: true}
		f.viewer.Start(adm.Epoch, adm.FirstSeq-1)
	}
	if adm.Verdict != eventlog.VerdictStarted {
		// Only a begin that starts a turn has placed the viewer; this does not
		// move one that has started.
		if err := f.viewer.Rejoin(c.ctx, eventlog.Cursor{Live: true}, eventlog.PolicyUnset); err != nil {
			c.log.Warn("the thread of a submission cannot be followed yet", "error", err)
		}
	}
	c.admitted(cmd, adm)
	c.start(f)
}

// submitAgain admits a turn on a thread that this connection follows: it
// simply goes on.
func (c *conn) submitAgain(cmd command, s session.Submit, f *following) {
	s.Generation = f.viewer.Generation()
	adm, err := c.srv.sessions.Submit(c.ctx, s)
	if err != nil {
		c.refused(cmd, err)
		return
	}
	f.mu.Lock()
	f.submitted = true
	if adm.Verdict == eventlog.VerdictStarted && f.turn.finished != adm.TurnID {
		f.turn.id, f.turn.running = adm.TurnID, true
	}
	f.mu.Unlock()
	c.admitted(cmd, adm)
}

// queued reports whether the submission waits for its turn.
func queued(adm eventlog.Admission) bool {
	return adm.Verdict == eventlog.VerdictQueued || adm.Verdict == eventlog.VerdictDuplicate && adm.Status == ""
}

// admitted acknowledges a submission.
func (c *conn) admitted(cmd command, adm eventlog.Admission) {
	c.threads.submittedTurn(cmd.threadID, adm.TurnID)
	var o object
	if queued(adm) {
		o = object(nil).text("message", "Chat message queued").text("thread_id", cmd.threadID).
			text("turn_id", adm.TurnID).number("position", int64(adm.Position))
	} else {
		o = object(nil).text("message", "Chat message processing started").text("thread_id", cmd.threadID).
			text("turn_id", adm.TurnID).text("epoch", adm.Epoch).text("on_disconnect", string(adm.Policy))
	}
	if adm.Verdict == eventlog.VerdictDuplicate {
		o = o.flag("duplicate", true)
	}
	c.ack(cmd, o)
}
