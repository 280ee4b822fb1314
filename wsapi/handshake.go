package wsapi

import (
	"errors"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/coder/websocket"
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
		w.Header().Set("Retry-After", strconv.Itoa(retryAfter))
		http.Error(w, "this node is shutting down, connect again", http.StatusServiceUnavailable)
		return
	}
	if origin := r.Header.Get("Origin"); origin != "" && !s.opts.Origin(origin, r.Host) {
		http.Error(w, "this origin is not allowed", http.StatusForbidden)
		return
	}
	if why := badQuery(r.URL.Query()); why != "" {
		http.Error(w, why, http.StatusBadRequest)
		return
	}
	id, err := s.auth.Authenticate(r.Context(), r)
	if err != nil {
		s.refuse(w, err)
		return
	}
	cork := &corkedWriter{ResponseWriter: w, stall: s.opts.StallLimit}
	ws, err := websocket.Accept(cork, r, &websocket.AcceptOptions{
		Subprotocols:       []string{subprotocol},
		InsecureSkipVerify: true, // the origin was checked above
		CompressionMode:    websocket.CompressionDisabled,
	})
	if err != nil {
		if cork.conn != nil {
			cork.conn.Close()
		}
		return // Accept has answered
	}
	ws.SetReadLimit(s.opts.InboundBytes)
	s.serve(r, ws, cork.conn, id)
}

func (s *Server) refuse(w http.ResponseWriter, err error) {
	switch {
	case errors.Is(err, errBadUser):
		http.Error(w, errBadUser.Error(), http.StatusUnauthorized)
	case errors.Is(err, ErrUnauthorized):
		w.Header().Set("WWW-Authenticate", "Bearer")
		http.Error(w, ErrUnauthorized.Error(), http.StatusUnauthorized)
	case errors.Is(err, ErrForbidden):
		http.Error(w, ErrForbidden.Error(), http.StatusForbidden)
	default:
		s.log.Warn("authentication is not available", "error", err)
		w.Header().Set("Retry-After", strconv.Itoa(retryAfter))
		http.Error(w, ErrNotReady.Error(), http.StatusServiceUnavailable)
	}
}
