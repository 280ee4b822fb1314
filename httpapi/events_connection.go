package httpapi

import (
	"strings"

	"turnlog/session"
)

// longestConnection bounds a connection id, in bytes.
const longestConnection = 256

// connection reads the event stream that a submission belongs to.
func (f *form) connection() string {
	id := f.string("connection")
	if len(id) > longestConnection || strings.ContainsAny(id, " \t\r\n") || !plainText(id) {
		f.wrong("connection", "must be the connection of an event's stream, as its welcome says")
	}
	return id
}

// submittedBy makes a submission one of an event stream: what it may ask for is what
// a socket may, because there is a viewer that can go away, and its tool calls wait for this
// stream. One that has ended gets none.
func (a *API) submittedBy(s *session.Submit, connection string) {
	if connection == "" {
		return
	}
	s.Headless = false
	if !a.events.gone(connection) {
		s.Conn = connection
	}
}
