package wsapi

import (
	"net"
	"time"
)

// Decode is the reader's decoding of one message.
var Decode = decode

// Corked is the cork, for measuring.
type Corked struct{ *corkedConn }

// NewCorked puts a cork on a connection.
func NewCorked(c net.Conn) Corked { return Corked{&corkedConn{Conn: c, stall: time.Second}} }

// Cork, Uncork and Writes reach the inside.
func (c Corked) Cork() { c.cork() }

// Uncork sends what gathered.
func (c Corked) Uncork() error { return c.uncork() }

// Writes is how many system calls were made.
func (s *Server) Writes() (n int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for c := range s.conns {
		c.cork.mu.Lock()
		n += c.cork.writes
		c.cork.mu.Unlock()
	}
	return n
}
