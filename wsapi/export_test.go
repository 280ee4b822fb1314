package wsapi

import (
	"encoding/json"
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

// Dispatch runs a decoded message through the checks of envelope and data, up to
// where the command would be carried out.
func Dispatch(text []byte) (verdict string) {
	var fields map[string]json.RawMessage
	if json.Unmarshal(text, &fields) != nil {
		return "invalid_message"
	}
	f := form{fields: fields}
	if name := f.text("command"); name != "" {
		data := form{fields: f.object("data")}
		f.requestID()
		if known, ok := commands[name]; ok {
			known.parse(&data)
		}
		return string(data.details.end())
	}
	f.answer(f.text("type"))
	return string(f.details.end())
}
