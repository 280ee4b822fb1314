package e2e_test

import (
	"bytes"
	"testing"

	"turnlog/internal/netproxy"
)

// behindProxies starts nodes that reach Redis through a proxy each, which sees
// whole Redis values.
func behindProxies(t testing.TB, nodes int, flags ...string) (*place, []*netproxy.Proxy) {
	t.Helper()
	r, err := startRedis()
	if err != nil {
		t.Fatal(err)
	}
	p := &place{name: "behind proxies", redis: r}
	t.Cleanup(func() {
		bad := p.close()
		if t.Failed() {
			for _, n := range p.nodes {
				t.Logf("node %s:\n%s", n.addr, tail(n.stderr.String(), 4000))
			}
		} else if bad != "" {
			t.Errorf("nodes complained:\n%s", bad)
		}
	})
	var nets []*netproxy.Proxy
	for range nodes {
		proxy, err := netproxy.Start(r.addr, netproxy.Options{Framing: netproxy.RESP})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(proxy.Close)
		n, err := serve(append([]string{"--redis", "redis://" + proxy.Addr()}, flags...)...)
		if err != nil {
			t.Fatal(err)
		}
		p.nodes, nets = append(p.nodes, n), append(nets, proxy)
	}
	return p, nets
}

// published says whether a piece is a message of a channel whose name holds part.
func published(piece netproxy.Piece, part string) bool {
	if piece.Dir != netproxy.ToClient || len(piece.Data) == 0 {
		return false
	}
	head := piece.Data[:min(len(piece.Data), 256)]
	return (piece.Data[0] == '*' || piece.Data[0] == '>') && bytes.Contains(head, []byte("\r\nmessage\r\n")) && bytes.Contains(head, []byte(part))
}
