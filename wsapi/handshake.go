package wsapi

import (
	"context"
	"net/http"
	"net/url"
	"strings"
	"unicode/utf8"

	"github.com/coder/websocket"

	"turnlog/httpapi/edge"
	"turnlog/httpapi/problem"
	"turnlog/session"
)

// retryAfter is what a draining node tells clients, in seconds.
const retryAfter = 1

// sameHost allows pages that come from the host they connect to.
func sameHost(origin, host string) bool {
	u, err := url.Parse(origin)
	return err == nil && u.Host != "" && strings.EqualFold(u.Host, host)
}

// longestClient bounds what a client may call itself, in bytes.
const longestClient = 64

// clientKind is what kind of client the handshake says it is (?client=), for
// admission rules; a name that no rule could hold counts as none.
func clientKind(query url.Values) string {
	name := query.Get("client")
	if len(name) > longestClient || !utf8.ValidString(name) {
		return ""
	}
	return name
}

// badQuery says what is wrong with what the handshake asks for, "" when nothing is.
func badQuery(query url.Values) string {
	switch query.Get("encoding") {
	case "", "json", "msgpack":
	default:
		return "encoding must be json or msgpack"
	}
	switch query.Get("batch") {
	case "", "0", "1":
	default:
		return "batch must be 0 or 1"
	}
	return ""
}

// ServeHTTP upgrades a request and serves the connection until it ends.
// Everything that can be refused is refused before the upgrade.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if s.closing.Load() || s.sessions.Draining() {
		s.deny(w, r, denied{http.StatusServiceUnavailable, session.CodeDraining, "this node is shutting down, connect again", retryAfter})
		return
	}
	if origin := r.Header.Get("Origin"); origin != "" && (len(r.Header.Values("Origin")) > 1 || !s.opts.Origin(origin, r.Host)) {
		s.deny(w, r, denied{http.StatusForbidden, codeOrigin, "this origin is not allowed", 0})
		return
	}
	if why := badQuery(r.URL.Query()); why != "" {
		s.deny(w, r, denied{http.StatusBadRequest, problem.CodeInvalidRequest, why, 0})
		return
	}
	ctx, cancel := context.WithTimeout(r.Context(), handshakeLimit)
	id, err := s.auth.Authenticate(ctx, r)
	cancel()
	if err != nil {
		s.refuse(w, r, err)
		return
	}
	edge.SetUser(r.Context(), id.User)
	free, err := s.opts.Limits.Connect(id.User)
	if err != nil {
		s.deny(w, r, crowded(err))
		return
	}
	cork := &corkedWriter{ResponseWriter: w, stall: s.opts.StallLimit}
	intake := s.newIntake(id.User)
	ws, err := websocket.Accept(cork, r, &websocket.AcceptOptions{
		Subprotocols:       []string{subprotocol},
		InsecureSkipVerify: true, // the origin was checked above
		CompressionMode:    websocket.CompressionDisabled,
		OnPingReceived:     func(context.Context, []byte) bool { return intake.takeControl() },
		OnPongReceived:     func(context.Context, []byte) { intake.takeControl() },
	})
	if err != nil {
		free()
		if cork.conn != nil {
			cork.conn.Close()
		}
		return // Accept has answered
	}
	ws.SetReadLimit(s.opts.InboundBytes)
	s.serve(r, ws, cork.conn, intake, id, free)
}
