package identity

import (
	"net/http"
	"strings"
)

// bearerPrefix marks the subprotocol that carries a token.
const bearerPrefix = "bearer."

// Token returns the token that a request carries: in the Authorization header, as ?token=
// or ?api_key=, or as the WebSocket subprotocol bearer.<token>. It is "" when there is none,
// and when there are two different ones: whoever adds a token to another one's request must
// not be the one who is believed.
func Token(r *http.Request) string {
	token, _ := findToken(r)
	return token
}

// findToken is Token and says why there is none; nil when there is one.
func findToken(r *http.Request) (string, error) {
	var found candidate
	for _, line := range r.Header.Values("Authorization") {
		if scheme, token, ok := strings.Cut(strings.TrimSpace(line), " "); ok && strings.EqualFold(scheme, "bearer") {
			found.add(strings.TrimSpace(token))
		}
	}
	for _, line := range r.Header.Values("Sec-WebSocket-Protocol") {
		for name := range strings.SplitSeq(line, ",") {
			if token, ok := strings.CutPrefix(strings.TrimSpace(name), bearerPrefix); ok {
				found.add(token)
			}
		}
	}
	query := r.URL.Query()
	for _, key := range []string{"token", "api_key"} {
		for _, token := range query[key] {
			found.add(token)
		}
	}
	switch {
	case found.several:
		return "", reasonAmbiguous
	case found.token == "":
		return "", reasonNoToken
	}
	return found.token, nil
}

// candidate collects the tokens of a request.
type candidate struct {
	token   string
	several bool
}

func (c *candidate) add(token string) {
	switch {
	case token == "" || token == c.token:
	case c.token == "":
		c.token = token
	default:
		c.several = true
	}
}
