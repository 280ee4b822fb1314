package wsapi

import (
	"turnlog/eventlog"
	"turnlog/session"
)

func parseSteer(f *form) action {
	f.content()
	f.text("role")
	s := session.Steer{ID: f.text("id"), Agent: f.text("agent")}
	return func(c *conn, cmd command) {
		s.Thread, s.Data = c.thread(cmd.threadID), cmd.data
		s.Tools, s.Conn, s.Client = c.tools.inForce(), c.id, c.kind
		if f := c.threads.get(cmd.threadID); f != nil {
			s.Generation = f.viewer.Generation()
		} else {
			s.Headless = true
		}
		r, err := c.srv.sessions.Steer(c.ctx, s)
		if err != nil {
			c.refused(cmd, err)
			return
		}
		if !r.Delivered && r.TurnID != "" {
			c.threads.submittedTurn(cmd.threadID, r.TurnID)
		}
		o := object(nil).text("message", "Steer accepted").text("thread_id", cmd.threadID).
			text("turn_id", r.TurnID).flag("delivered", r.Delivered)
		if r.Position > 0 {
			o = o.number("position", int64(r.Position))
		}
		if r.Duplicate {
			o = o.flag("duplicate", true)
		}
		c.ack(cmd, o)
	}
}

func parsePolicy(f *form) action {
	want := f.policy()
	if want.policy == "" && !f.bad() {
		f.wrong("on_disconnect", "is required")
	}
	scope := f.choice("scope", "turn", "thread")
	if scope == "" {
		scope = "turn"
	}
	return func(c *conn, cmd command) {
		if want.clash {
			c.refused(cmd, errPolicyClash)
			return
		}
		effective, err := c.srv.sessions.SetPolicy(c.ctx, c.thread(cmd.threadID), want.policy, scope)
		if err != nil {
			c.refused(cmd, err)
			return
		}
		c.ack(cmd, object(nil).text("message", "Policy set").text("thread_id", cmd.threadID).
			text("on_disconnect", string(effective)).text("scope", scope))
	}
}

func parsePermissionMode(f *form) action {
	mode := f.text("permission_mode")
	if mode == "" && !f.bad() {
		f.wrong("permission_mode", "is required")
	}
	return func(c *conn, cmd command) {
		if err := c.srv.sessions.SetPermissionMode(c.ctx, c.thread(cmd.threadID), mode); err != nil {
			c.refused(cmd, err)
			return
		}
		c.ack(cmd, object(nil).text("message", "Permission mode set to "+mode).
			text("thread_id", cmd.threadID).text("permission_mode", mode))
	}
}

func parseMode(f *form) action {
	mode := f.choice("mode", "text", "binary")
	if mode == "" && !f.bad() {
		f.wrong("mode", "is required")
	}
	return func(c *conn, cmd command) {
		r := reply{json: withRequest(object(nil).text("message", "Mode set to "+mode), cmd.request), mode: modeText}
		if mode == "binary" {
			r.mode = modeBinary
		}
		c.post(r)
	}
}

func parseList(*form) action {
	return func(c *conn, cmd command) {
		turns, err := c.srv.sessions.Turns(c.ctx, c.who.User)
		if err != nil {
			c.refused(cmd, err)
			return
		}
		for i := range turns {
			c.send(activeFrame(&turns[i]))
		}
		c.ack(cmd, object(nil).text("message", "Chat turns listed").number("count", int64(len(turns))))
	}
}

// activeFrame is the frame chat_turn_active.
func activeFrame(t *eventlog.RunningTurn) []byte {
	o := object(nil).text("type", "chat_turn_active").text("thread_id", t.Thread.ID).text("status", "running").
		number("last_seq", t.LastSeq).text("turn_id", t.TurnID).flag("detached", t.Detached).text("on_disconnect", string(t.Policy))
	if !t.GraceDeadline.IsZero() {
		o = o.time("grace_deadline", t.GraceDeadline)
	}
	return o.end()
}
