package edge_test

import (
	"net/http"
	"net/netip"
	"strings"
	"testing"

	"turnlog/httpapi/edge"
)

func proxies(t testing.TB, list ...string) edge.Proxies {
	t.Helper()
	p, err := edge.ParseProxies(list)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestClientAddressesBehindProxies(t *testing.T) {
	behind := proxies(t, "10.0.0.0/8", "2001:db8::/32", "192.0.2.7")
	const proxy = "10.1.1.1:4000"
	for _, row := range []struct {
		name, peer string
		listed     []string
		forwarded  []string
		want       string
	}{
		{"no proxy", "203.0.113.9:1234", nil, nil, "203.0.113.9"},
		{"nobody's word is taken", "203.0.113.9:1234", []string{"1.1.1.1"}, []string{"for=1.1.1.1"}, "203.0.113.9"},
		{"a proxy that says nothing", proxy, nil, nil, "10.1.1.1"},
		{"one proxy", proxy, []string{"203.0.113.9"}, nil, "203.0.113.9"},
		{"made up by the client", proxy, []string{"1.1.1.1, 203.0.113.9"}, nil, "203.0.113.9"},
		{"two proxies", proxy, []string{"1.1.1.1, 203.0.113.9, 10.2.2.2"}, nil, "203.0.113.9"},
		{"two lines", proxy, []string{"1.1.1.1", "203.0.113.9,192.0.2.7"}, nil, "203.0.113.9"},
		{"all are trusted", proxy, []string{"10.9.9.9, 10.2.2.2"}, nil, "10.9.9.9"},
		{"nonsense behind a proxy", proxy, []string{"203.0.113.9, nonsense, 10.2.2.2"}, nil, "10.2.2.2"},
		{"an empty one", proxy, []string{""}, nil, "10.1.1.1"},
		{"with a port", proxy, []string{"203.0.113.9:555"}, nil, "203.0.113.9"},
		{"ipv6", "[2001:db8::1]:99", []string{"2a00::5"}, nil, "2a00::5"},
		{"ipv6 with a port", proxy, []string{"[2a00::5]:77"}, nil, "2a00::5"},
		{"ipv4 in ipv6", "[::ffff:10.1.1.1]:5", []string{"::ffff:203.0.113.9"}, nil, "203.0.113.9"},
		{"forwarded", proxy, nil, []string{`for=203.0.113.9;proto=https;by=10.1.1.1`}, "203.0.113.9"},
		{"forwarded, several", proxy, nil, []string{`for=1.1.1.1, For="[2a00::5]:4711" ; proto=http`, `for=10.2.2.2`}, "2a00::5"},
		{"forwarded, hidden", proxy, nil, []string{`for=203.0.113.9, for=_hidden, for=10.2.2.2`}, "10.2.2.2"},
		{"forwarded, an open quote swallows what the proxy wrote", proxy, nil, []string{`for="1.1.1.1, for=203.0.113.9`}, "10.1.1.1"},
		{"forwarded, a quoted comma", proxy, nil, []string{`for=203.0.113.9;host="a,for=1.1.1.1"`}, "203.0.113.9"},
		{"forwarded, twice in one", proxy, nil, []string{`for=1.1.1.1;for=203.0.113.9`}, "10.1.1.1"},
		{"forwarded without for", proxy, nil, []string{`for=1.1.1.1, proto=https`}, "10.1.1.1"},
		{"both agree", proxy, []string{"203.0.113.9"}, []string{"for=203.0.113.9"}, "203.0.113.9"},
		{"both disagree", proxy, []string{"203.0.113.9"}, []string{"for=1.1.1.1"}, "10.1.1.1"},
	} {
		t.Run(row.name, func(t *testing.T) {
			r := &http.Request{RemoteAddr: row.peer, Header: http.Header{}}
			if row.listed != nil {
				r.Header["X-Forwarded-For"] = row.listed
			}
			if row.forwarded != nil {
				r.Header["Forwarded"] = row.forwarded
			}
			if got := behind.Client(r); got.String() != row.want {
				t.Fatalf("got %s, want %s", got, row.want)
			}
		})
	}
	if (edge.Proxies{}).Client(&http.Request{RemoteAddr: "@"}).IsValid() {
		t.Error("a unix socket has no address")
	}
	for _, entry := range []string{"10.0.0.0/33", "proxy.example.com", "", "fe80::1%eth0", "::ffff:10.0.0.0/104"} {
		if _, err := edge.ParseProxies([]string{entry}); err == nil {
			t.Errorf("%q was accepted", entry)
		}
	}
}

// FuzzForwarded looks for a client that moves what a trusted proxy has written:
// whatever is before it, the address that the proxy appended is the client, or
// nothing is believed.
func FuzzForwarded(f *testing.F) {
	for _, s := range []string{"for=1.1.1.1", `for="1.1.1.1`, `for="a\`, ",;,", `for=1.1.1.1;by="`, "for", `host="x,y"`, "1.1.1.1", "  "} {
		f.Add(s)
	}
	behind := proxies(f, "10.0.0.0/8")
	wrote, peer := netip.MustParseAddr("203.0.113.9"), netip.MustParseAddr("10.1.1.1")
	f.Fuzz(func(t *testing.T, sent string) {
		if strings.ContainsAny(sent, "\r\n") {
			return // never inside a header
		}
		for name, appended := range map[string]string{"X-Forwarded-For": "203.0.113.9", "Forwarded": "for=203.0.113.9;proto=https"} {
			for _, lines := range [][]string{{sent + ", " + appended}, {sent, appended}} {
				r := &http.Request{RemoteAddr: "10.1.1.1:4000", Header: http.Header{name: lines}}
				if got := behind.Client(r); got != wrote && got != peer {
					t.Fatalf("%s %q: client %s", name, lines, got)
				}
			}
		}
	})
}
