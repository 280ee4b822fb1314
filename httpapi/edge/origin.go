package edge

import (
	"fmt"
	"strconv"
	"strings"
)

// Origins says which pages may talk to the node. The zero value allows pages of
// the same host only.
type Origins struct {
	any  bool
	list []place
}

// place is a scheme, a host in lower case, and a port. In a list the host may
// start with "*." and the port may be "*".
type place struct{ scheme, host, port string }

// ParseOrigins reads a list of
//
//	https://app.example.com       this origin; without a port the scheme's own one (443, 80)
//	https://app.example.com:8443  this port and no other
//	http://localhost:*            any port
//	https://*.example.com         every subdomain, however deep, but not example.com itself
//	*                             every page; sensible only when tokens are asked for
//
// Its error is a sentence about the wrong entry.
func ParseOrigins(entries []string) (Origins, error) {
	var o Origins
	for _, entry := range entries {
		if entry == "*" {
			o.any = true
			continue
		}
		p, ok := parsePlace(entry, true)
		if !ok {
			return Origins{}, fmt.Errorf("%q is not an origin; write it like https://app.example.com, https://*.example.com or http://localhost:*, without a path", entry)
		}
		if tail, wild := strings.CutPrefix(p.host, "*."); wild && tail != "localhost" && !strings.Contains(tail, ".") {
			return Origins{}, fmt.Errorf("%q would allow a whole top-level domain; name the domain, like https://*.example.com", entry)
		}
		o.list = append(o.list, p)
	}
	return o, nil
}

// Any reports whether every page is allowed.
func (o Origins) Any() bool { return o.any }

// Allow reports whether a page of this origin may talk to this host (both as
// their headers have them). The origin "null" is never allowed.
func (o Origins) Allow(origin, host string) bool {
	p, ok := parsePlace(origin, false)
	if !ok {
		return false
	}
	if o.any {
		return true
	}
	if h, ok := parsePlace(p.scheme+"://"+host, false); ok && h == p {
		return true
	}
	for _, allowed := range o.list {
		if allowed.scheme == p.scheme && (allowed.port == "*" || allowed.port == p.port) && allowed.covers(p.host) {
			return true
		}
	}
	return false
}

// covers compares host names.
func (p place) covers(host string) bool {
	if p.host == host {
		return true
	}
	tail, wild := strings.CutPrefix(p.host, "*")
	return wild && len(host) > len(tail) && strings.HasSuffix(host, tail)
}

// longestOrigin bounds origins in bytes: a host name has at most 253.
const longestOrigin = 300

// parsePlace reads scheme://host[:port]. It is stricter than URLs are: what a
// browser does not send as an origin is not one.
func parsePlace(text string, pattern bool) (p place, ok bool) {
	if len(text) > longestOrigin {
		return place{}, false
	}
	scheme, rest, found := strings.Cut(strings.ToLower(text), "://")
	if !found || !isScheme(scheme) {
		return place{}, false
	}
	p.scheme, p.host = scheme, rest
	if end := strings.LastIndexByte(rest, ':'); end > strings.LastIndexByte(rest, ']') {
		p.host, p.port = rest[:end], rest[end+1:]
		if p.port == "" {
			return place{}, false
		}
	}
	switch n, err := strconv.ParseUint(p.port, 10, 16); {
	case p.port == "" && scheme == "https":
		p.port = "443"
	case p.port == "" && scheme == "http":
		p.port = "80"
	case p.port == "" || pattern && p.port == "*":
	case err != nil || n == 0 || p.port[0] == '0':
		return place{}, false
	}
	host := p.host
	if pattern {
		host = strings.TrimPrefix(host, "*.")
	}
	return p, isHost(host)
}

func isScheme(s string) bool {
	for i := range len(s) {
		c := s[i]
		if !('a' <= c && c <= 'z' || i > 0 && ('0' <= c && c <= '9' || c == '+' || c == '-' || c == '.')) {
			return false
		}
	}
	return s != ""
}

// isHost accepts names in ASCII (browsers send international ones as xn--...) and
// addresses, those of IPv6 in brackets.
func isHost(s string) bool {
	six := false
	if inner, ok := strings.CutPrefix(s, "["); ok {
		if s, six = strings.CutSuffix(inner, "]"); !six {
			return false
		}
	}
	for i := range len(s) {
		c := s[i]
		switch {
		case 'a' <= c && c <= 'z', '0' <= c && c <= '9', c == '.':
		case c == ':' && six:
		case (c == '-' || c == '_') && !six:
		default:
			return false
		}
	}
	return s != "" && s[0] != '.'
}
