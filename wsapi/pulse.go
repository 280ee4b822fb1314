package wsapi

import (
	"sync/atomic"
	"time"
)

// origin is where this process counts from: silence is measured on the monotonic
// clock, so that a jump of the wall clock closes nobody's socket.
var origin = time.Now()

// pulse is a connection's clock. next belongs to the server's tick.
type pulse struct {
	next time.Time   // of the next ping
	busy atomic.Bool // the reader carries out a command, so it hears nothing

	expires atomic.Int64 // when the last token does, in ns since 1970; see never
}

// tick is called by the server about once a second.
func (c *conn) tick(now time.Time) {
	switch {
	case c.pulse.busy.Load():
		// A command that waits for Redis keeps the reader from hearing; the
		// client is not to blame.
	case now.Sub(origin)-time.Duration(c.cork.heard.Load()) > c.srv.opts.SilenceLimit:
		c.shut(closeSilent)
	case c.intake.overdue(now, c.srv.opts.MessageLimit):
		c.shut(closeTrickle)
	}
	if c.pulse.expired(now) {
		if c.v1 {
			c.shut(closeExpired)
		} else {
			c.shut(closeRenew)
		}
	}
	ping := !now.Before(c.pulse.next)
	if ping {
		c.pulse.next = now.Add(c.srv.opts.PingEvery)
	}
	c.out.tick(ping)
}
