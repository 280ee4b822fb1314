package edge_test

import (
	"net"
	"net/url"
	"strings"
	"testing"

	"turnlog/httpapi/edge"
)

func origins(t testing.TB, list ...string) edge.Origins {
	t.Helper()
	o, err := edge.ParseOrigins(list)
	if err != nil {
		t.Fatal(err)
	}
	return o
}

func TestB102_OriginsThatAreAllowed(t *testing.T) {
	listed := origins(t, "https://app.example.com", "https://*.example.org", "http://localhost:*", "https://x.example.com:8443", "http://[::1]:3000")
	for _, row := range []struct {
		origin, host string
		want         bool
	}{
		{"https://app.example.com", "api.example.net", true},
		{"https://app.example.com:443", "api.example.net", true},
		{"HTTPS://App.Example.COM", "api.example.net", true},
		{"http://app.example.com", "api.example.net", false},
		{"https://app.example.com:8443", "api.example.net", false},
		{"https://app.example.com.evil.net", "api.example.net", false},
		{"https://evilapp.example.com", "api.example.net", false},
		{"https://a.example.org", "api.example.net", true},
		{"https://a.b.example.org", "api.example.net", true},
		{"https://example.org", "api.example.net", false},
		{"https://.example.org", "api.example.net", false},
		{"https://evilexample.org", "api.example.net", false},
		{"https://a.example.org:444", "api.example.net", false},
		{"http://localhost", "api.example.net", true},
		{"http://localhost:5173", "api.example.net", true},
		{"https://localhost:5173", "api.example.net", false},
		{"https://x.example.com:8443", "api.example.net", true},
		{"https://x.example.com", "api.example.net", false},
		{"http://[::1]:3000", "api.example.net", true},
		{"http://[::1]:3001", "api.example.net", false},
		// the same host, whatever is listed
		{"http://api.example.net:8080", "api.example.net:8080", true},
		{"https://api.example.net", "api.example.net", true},
		{"https://api.example.net", "api.example.net:443", true},
		{"http://api.example.net", "api.example.net:8080", false},
		{"http://api.example.net:8080", "api.example.net", false},
		// what is no origin
		{"null", "null", false},
		{"", "", false},
		{"https://app.example.com/", "api.example.net", false},
		{"https://user@app.example.com", "api.example.net", false},
		{"https://app.example.com@evil.net", "api.example.net", false},
		{"https://app.example.com?x", "api.example.net", false},
		{"https://app.example.com\\.evil.net", "api.example.net", false},
		{"https://app.example.com:", "api.example.net", false},
		{"https://app.example.com:0443", "api.example.net", false},
		{"https://app.example.com:99999", "api.example.net", false},
		{"https://*.example.org", "api.example.net", false},
		{"http://localhost:*", "api.example.net", false},
		{"//app.example.com", "api.example.net", false},
		{"https://" + strings.Repeat("a.", 200) + "example.org", "api.example.net", false},
	} {
		if got := listed.Allow(row.origin, row.host); got != row.want {
			t.Errorf("%q to %q: %v", row.origin, row.host, got)
		}
	}
	if (edge.Origins{}).Allow("https://app.example.com", "api.example.net") || !(edge.Origins{}).Allow("http://h:1", "h:1") {
		t.Error("without a list it is the same host and nothing else")
	}
	everybody := origins(t, "*")
	if !everybody.Any() || !everybody.Allow("https://anything.example", "h") || everybody.Allow("null", "h") {
		t.Error("* is every page that has an origin")
	}
}

func TestOriginsThatCannotBeListed(t *testing.T) {
	for _, entry := range []string{
		"app.example.com", "https://", "https://app.example.com/path", "https://*", "https://*.com", "https://a.*.com", "https://*example.com",
		"https://app.example.com:port", "https://app.example.com:0", "https://bücher.example", "null", "https://a b.example", "**",
	} {
		if _, err := edge.ParseOrigins([]string{entry}); err == nil {
			t.Errorf("%q was accepted", entry)
		}
	}
}

// FuzzOrigin compares with net/url: whatever is allowed is an origin of the list
// in its eyes too.
func FuzzOrigin(f *testing.F) {
	for _, s := range []string{"https://a.example.org", "http://localhost:99", "https://example.org@evil.net", "https://a.example.org:443", "null", "https://[::1]"} {
		f.Add(s, "localhost:8080")
	}
	listed := origins(f, "https://*.example.org", "http://localhost:*")
	f.Fuzz(func(t *testing.T, origin, host string) {
		if !listed.Allow(origin, host) {
			return
		}
		u, err := url.Parse(strings.ToLower(origin))
		if err != nil || u.User != nil || u.Path != "" || u.RawQuery != "" || u.Fragment != "" {
			t.Fatalf("%q is allowed and no origin (%v)", origin, err)
		}
		name, port := u.Hostname(), u.Port()
		switch {
		case u.Scheme == "https" && strings.HasSuffix(name, ".example.org") && (port == "" || port == "443"):
		case u.Scheme == "http" && name == "localhost":
		default:
			h, p, err := net.SplitHostPort(host)
			if err != nil {
				h, p = strings.Trim(host, "[]"), ""
			}
			if port == "" {
				port = map[string]string{"http": "80", "https": "443"}[u.Scheme]
			}
			if p == "" {
				p = map[string]string{"http": "80", "https": "443"}[u.Scheme]
			}
			if !strings.EqualFold(h, name) || p != port {
				t.Fatalf("%q may talk to %q", origin, host)
			}
		}
	})
}
