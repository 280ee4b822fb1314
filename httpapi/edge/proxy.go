package edge

import (
	"fmt"
	"net/http"
	"net/netip"
	"strings"
)

// Proxies are the addresses whose word on the client's address is taken. The zero
// value trusts nobody.
type Proxies struct{ prefixes []netip.Prefix }

// ParseProxies reads a list of addresses and CIDR ranges.
func ParseProxies(entries []string) (Proxies, error) {
	var p Proxies
	for _, entry := range entries {
		prefix, err := netip.ParsePrefix(entry)
		if err != nil {
			addr, err := netip.ParseAddr(entry)
			if err != nil || addr.Zone() != "" {
				return Proxies{}, fmt.Errorf("%q is neither an address nor a range; write it like 10.0.0.0/8 or 192.0.2.7", entry)
			}
			prefix = netip.PrefixFrom(addr, addr.BitLen())
		}
		if prefix.Addr().Is4In6() {
			return Proxies{}, fmt.Errorf("%q is an IPv4 range in IPv6 clothes; write it as IPv4", entry)
		}
		p.prefixes = append(p.prefixes, prefix.Masked())
	}
	return p, nil
}

func (p Proxies) trusts(a netip.Addr) bool {
	for _, prefix := range p.prefixes {
		if prefix.Contains(a) {
			return true
		}
	}
	return false
}

// Client returns the address of the client of a request; the zero value when the
// peer has none, as on a unix socket.
func (p Proxies) Client(r *http.Request) netip.Addr {
	peer, _ := parseHop(r.RemoteAddr)
	if !peer.IsValid() || !p.trusts(peer) {
		return peer
	}
	listed, forwarded := r.Header.Values("X-Forwarded-For"), r.Header.Values("Forwarded")
	switch {
	case len(forwarded) == 0:
		return p.rightmost(peer, splitList(listed))
	case len(listed) == 0:
		return p.rightmost(peer, forwardedFor(forwarded))
	}
	a, b := p.rightmost(peer, splitList(listed)), p.rightmost(peer, forwardedFor(forwarded))
	if a != b {
		return peer
	}
	return a
}

// rightmost walks from the peer towards the client for as long as it can trust
// what it reads.
func (p Proxies) rightmost(peer netip.Addr, hops []string) netip.Addr {
	client := peer
	for i := len(hops) - 1; i >= 0; i-- {
		hop, ok := parseHop(hops[i])
		if !ok {
			return client
		}
		client = hop
		if !p.trusts(hop) {
			return client
		}
	}
	return client
}

// parseHop reads an address, with or without a port, IPv6 with or without brackets.
func parseHop(text string) (netip.Addr, bool) {
	text = strings.TrimSpace(text)
	addr, err := netip.ParseAddr(strings.TrimSuffix(strings.TrimPrefix(text, "["), "]"))
	if err != nil {
		both, err := netip.ParseAddrPort(text)
		if err != nil {
			return netip.Addr{}, false
		}
		addr = both.Addr()
	}
	return addr.Unmap().WithZone(""), true
}

func splitList(lines []string) []string {
	if len(lines) == 1 {
		return strings.Split(lines[0], ",")
	}
	return strings.Split(strings.Join(lines, ","), ",")
}
