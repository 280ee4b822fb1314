package identity_test

import (
	"errors"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"turnlog/eventlog"
	"turnlog/identity"
)

func TestB101_TokensAreFoundWhereTheProtocolSays(t *testing.T) {
	for name, row := range map[string]struct {
		query  string
		header [][2]string
		want   string
	}{
		"none":                    {"user=ann", nil, ""},
		"header":                  {"", [][2]string{{"Authorization", "Bearer x.y.z"}}, "x.y.z"},
		"header in small letters": {"", [][2]string{{"Authorization", "bearer  x.y.z "}}, "x.y.z"},
		"another scheme":          {"", [][2]string{{"Authorization", "Basic eDp5"}}, ""},
		"scheme alone":            {"", [][2]string{{"Authorization", "Bearer"}}, ""},
		"query":                   {"token=x", nil, "x"},
		"api key":                 {"api_key=x", nil, "x"},
		"protocols":               {"", [][2]string{{"Sec-WebSocket-Protocol", "turnlog.v1, bearer.x.y.z"}}, "x.y.z"},
		"protocols in lines":      {"", [][2]string{{"Sec-WebSocket-Protocol", "turnlog.v1"}, {"Sec-WebSocket-Protocol", "bearer.x"}}, "x"},
		"the same everywhere":     {"token=x&api_key=x", [][2]string{{"Authorization", "Bearer x"}, {"Sec-WebSocket-Protocol", "bearer.x"}}, "x"},
		"basic beside query":      {"token=x", [][2]string{{"Authorization", "Basic eDp5"}}, "x"},
		"empty beside another":    {"token=&api_key=x", nil, "x"},
		"two in the query":        {"token=x&token=y", nil, ""},
		"token and api key":       {"token=x&api_key=y", nil, ""},
		"header and query":        {"token=y", [][2]string{{"Authorization", "Bearer x"}}, ""},
		"two headers":             {"", [][2]string{{"Authorization", "Bearer x"}, {"Authorization", "Bearer y"}}, ""},
		"header and protocol":     {"", [][2]string{{"Authorization", "Bearer x"}, {"Sec-WebSocket-Protocol", "bearer.y"}}, ""},
		"two protocols":           {"", [][2]string{{"Sec-WebSocket-Protocol", "bearer.x, bearer.y"}}, ""},
	} {
		r := &http.Request{URL: &url.URL{RawQuery: row.query}, Header: http.Header{}}
		for _, h := range row.header {
			r.Header.Add(h[0], h[1])
		}
		if got := identity.Token(r); got != row.want {
			t.Errorf("%s: %q, want %q", name, got, row.want)
		}
	}
}

func TestWithoutAuthTheUserIsWhoItSays(t *testing.T) {
	auth := identity.NoAuth{}
	for query, want := range map[string]string{"": "1", "user=": "1", "user=ann": "ann", "user=a+b%2Fc": "a b/c", "user=" + strings.Repeat("x", 256): strings.Repeat("x", 256)} {
		who, err := auth.Authenticate(t.Context(), &http.Request{URL: &url.URL{RawQuery: query}})
		if err != nil || who.User != want || len(who.Scopes) != 0 || !who.Expires.IsZero() {
			t.Errorf("%q: %+v, %v", query, who, err)
		}
	}
	for _, query := range []string{"user=%ff", "user=" + strings.Repeat("x", 257), "user=" + strings.Repeat("%C3%A4", 50), "user=%EF%BF%BD"} {
		if who, err := auth.Authenticate(t.Context(), &http.Request{URL: &url.URL{RawQuery: query}}); !errors.Is(err, identity.ErrBadUser) || !errors.Is(err, identity.ErrUnauthorized) {
			t.Errorf("%q: %+v, %v", query, who, err)
		}
	}
	who, err := identity.NoAuth{Admin: true, AdminScope: "root"}.Authenticate(t.Context(), &http.Request{URL: &url.URL{}})
	if err != nil || !who.Has("root") {
		t.Errorf("%+v, %v", who, err)
	}
	if who, err := (identity.NoAuth{Admin: true}).Authenticate(t.Context(), &http.Request{URL: &url.URL{}}); err != nil || !who.Has(identity.ScopeAdmin) {
		t.Errorf("%+v, %v", who, err)
	}
	if _, err := auth.Verify(t.Context(), "x"); !errors.Is(err, identity.ErrUnauthorized) {
		t.Errorf("%v", err)
	}
}

func TestB100_AnIDNamesAThreadOfWhoeverSaysIt(t *testing.T) {
	ann := identity.Identity{User: "ann"}
	for _, id := range []string{"t", "bob/t", "../bob/t", "%2e%2e/bob", "bob:t", "{bob}"} {
		if got := ann.Thread(id); got != (eventlog.Thread{User: "ann", ID: id}) {
			t.Errorf("%q: %+v", id, got)
		}
	}
}
