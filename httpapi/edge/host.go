package edge

import (
	"net/netip"
	"strings"
)

// A node without authentication on loopback trusts whoever can reach it, and a
// browser reaches it on behalf of any page whose domain its owner points at
// 127.0.0.1 (DNS rebinding): such a page has the same host as what it talks to.
// It cannot choose the Host header, though. So only names count that nobody can
// point anywhere: addresses, localhost, and hosts of the list of origins.

// local reports whether a node on loopback may answer to this Host header.
func (o Origins) local(host string) bool {
	p, ok := parsePlace("http://"+host, false)
	if !ok {
		return false
	}
	name := p.host
	if name == "localhost" || strings.HasSuffix(name, ".localhost") {
		return true
	}
	if _, err := netip.ParseAddr(strings.Trim(name, "[]")); err == nil {
		return true
	}
	for _, allowed := range o.list {
		if allowed.covers(name) {
			return true
		}
	}
	return false
}
