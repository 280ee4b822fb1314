package wsapi

import "turnlog/line"

// What a socket is shown of a tool call is package line's to decide; here is
// what that needs to know of a socket.

var _ line.Conn = (*conn)(nil)

// ID implements line.Conn.
func (c *conn) ID() string { return c.id }

// Runs implements line.Conn.
func (c *conn) Runs(tool string) bool { return c.tools.fits(tool) }

// retryCalls claims all open calls again, because this connection fits better now.
func (f *following) retryCalls() (any bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.desk.Refit()
}
