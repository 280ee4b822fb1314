package admin_test

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"turnlog/httpapi/admin"
	"turnlog/identity"
	"turnlog/internal/redistest"
)

var secret = []byte("a secret of at least thirty-two bytes")

func token(t testing.TB, key []byte, user string, expires time.Duration, scopes ...string) string {
	t.Helper()
	now := time.Now()
	text, err := identity.Mint(key, identity.Grant{User: user, Scopes: scopes, Audience: "here", Issued: now.Add(-time.Hour), Expires: now.Add(expires)})
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// verb is one call of an operator, and what it is answered.
type verb struct {
	method, path, body string
	status             int
}

// verbs are all calls, on a thread that runs; the last ones end it. Behind them, what is no call.
var verbs = []verb{
	{"GET", "/admin/v1/nodes", "", 200},
	{"HEAD", "/admin/v1/nodes", "", 200},
	{"GET", "/admin/v1/reaper", "", 200},
	{"GET", "/admin/v1/turns", "", 200},
	{"GET", "/admin/v1/turns?state=x", "", 400},
	{"GET", "/admin/v1/turns?user=%FF", "", 400},
	{"GET", "/admin/v1/turns/summary", "", 200},
	{"GET", "/admin/v1/users/ann/threads", "", 200},
	{"GET", "/admin/v1/users/ann/threads/t", "", 200},
	{"GET", "/admin/v1/users/ann/threads/none", "", 404},
	{"GET", "/admin/v1/users/ann/threads/t/frames", "", 200},
	{"GET", "/admin/v1/openapi.json", "", 200},
	{"POST", "/admin/v1/users/ann/threads/t/stop", "{", 400},
	{"POST", "/admin/v1/users/ann/threads/t/stop", `{"turn_id":"none"}`, 200},
	{"POST", "/admin/v1/users/ann/threads/t/stop", "", 200},
	{"DELETE", "/admin/v1/users/ann/threads/t", "", 200},
	{"DELETE", "/admin/v1/users/ann", "", 200},
	{"GET", "/admin/v1/nothing", "", 404},
	{"GET", "/admin/v1/users/../turns", "", 404},
	{"PUT", "/admin/v1/turns", "", 405},
}

// headersOf are an answer's headers but those that differ between any two requests.
func headersOf(a answer) string {
	h := maps.Clone(a.header)
	for _, name := range []string{"Date", "X-Request-Id", "Content-Length"} {
		delete(h, name)
	}
	return fmt.Sprint(slices.Sorted(maps.Keys(h)), h.Get("WWW-Authenticate"), h.Get("Content-Type"))
}

func TestB100_EveryVerbNeedsTheScope(t *testing.T) {
	keys, err := identity.NewJWT(identity.Options{Secret: secret, Audience: "here"})
	if err != nil {
		t.Fatal(err)
	}
	r := start(t, redistest.Start(t), keys)
	good := token(t, secret, "root", time.Hour, "other", identity.ScopeAdmin)
	parts := strings.Split(good, ".")
	unsigned := base64.RawURLEncoding.EncodeToString([]byte(`{"alg":"none","typ":"JWT"}`)) + "." + parts[1] + "."
	elsewhere, err := identity.Mint(secret, identity.Grant{User: "root", Scopes: []string{identity.ScopeAdmin}, Audience: "there", Issued: time.Now(), Expires: time.Now().Add(time.Hour)})
	if err != nil {
		t.Fatal(err)
	}
	ann := token(t, secret, "ann", time.Hour)
	turn := r.submit("", "t", endless, "Authorization", "Bearer "+ann)

	walked := make(map[string]bool)
	for _, v := range verbs {
		if path := strings.NewReplacer("/ann", "/{user}", "/threads/t", "/threads/{thread}").Replace(v.path); v.status == 200 && v.method != "HEAD" {
			walked[v.method+" "+path] = true
		}
	}
	if routes := slices.Sorted(slices.Values(admin.Routes(bare(t, struct{ admin.Log }{})))); !slices.Equal(routes, slices.Sorted(maps.Keys(walked))) {
		t.Fatalf("routes %v\nwalked %v", routes, slices.Sorted(maps.Keys(walked)))
	}

	seen := map[int]answer{}
	for name, who := range map[string]struct {
		header string
		query  string
		status int
	}{
		"no token":              {"", "", 401},
		"an empty token":        {"Bearer ", "", 401},
		"no bearer":             {"Basic cm9vdDpyb290", "", 401},
		"garbage":               {"Bearer garbage", "", 401},
		"another secret":        {"Bearer " + token(t, bytes.ToUpper(secret), "root", time.Hour, identity.ScopeAdmin), "", 401},
		"expired":               {"Bearer " + token(t, secret, "root", -2*time.Minute, identity.ScopeAdmin), "", 401},
		"not signed":            {"Bearer " + unsigned, "", 401},
		"signature cut":         {"Bearer " + good[:len(good)-4], "", 401},
		"another audience":      {"Bearer " + elsewhere, "", 401},
		"too long":              {"Bearer " + strings.Repeat("x", 9000), "", 401},
		"two tokens":            {"Bearer " + good, "token=" + ann, 401},
		"a name alone":          {"", "user=root", 401},
		"a user":                {"Bearer " + ann, "", 403},
		"a user, in the query":  {"", "token=" + ann, 403},
		"a user of this name":   {"Bearer " + token(t, secret, "root", time.Hour), "", 403},
		"another scope":         {"Bearer " + token(t, secret, "ann", time.Hour, "admin", "turnlog"), "", 403},
		"a scope that is close": {"Bearer " + token(t, secret, "ann", time.Hour, identity.ScopeAdmin+"s", "Turnlog:Admin", "x"+identity.ScopeAdmin), "", 403},
	} {
		for _, v := range verbs {
			path := v.path
			if who.query != "" {
				path += map[bool]string{true: "&", false: "?"}[strings.Contains(path, "?")] + who.query
			}
			var headers []string
			if who.header != "" {
				headers = []string{"Authorization", who.header}
			}
			a := r.call(v.method, path, v.body, headers...)
			if a.status != who.status {
				t.Errorf("%s, %s %s: %d %s", name, v.method, v.path, a.status, a.text)
				continue
			}
			id, _ := a.json["request_id"].(string)
			a.text = bytes.ReplaceAll(a.text, []byte(id), nil)
			if v.method == "HEAD" {
				continue
			}
			first, ok := seen[a.status]
			if !ok {
				seen[a.status], first = a, a
			}
			if !bytes.Equal(a.text, first.text) || headersOf(a) != headersOf(first) {
				t.Errorf("%s, %s %s: %s %s\nanother one got %s %s", name, v.method, v.path, a.text, headersOf(a), first.text, headersOf(first))
			}
		}
	}
	if code := seen[403].json["code"]; code != "forbidden" {
		t.Errorf("403 has the code %v", code)
	}
	if got := r.log.changes(t); len(got) != 0 {
		t.Errorf("changes by nobody: %v", got)
	}

	r.headers = []string{"Authorization", "Bearer " + good}
	if got := list(r.want(200, "GET", "/admin/v1/turns", ""), "turns"); len(got) != 1 || got[0]["turn_id"] != turn || got[0]["user"] != "ann" {
		t.Fatalf("what nobody was allowed to touch: %v", got)
	}
	for _, v := range verbs {
		if a := r.call(v.method, v.path, v.body); a.status != v.status {
			t.Errorf("operator, %s %s: %d %s, want %d", v.method, v.path, a.status, a.text, v.status)
		}
	}
	for route := range walked {
		if !r.doc.Answered(route) {
			t.Errorf("%s never succeeded", route)
		}
	}
	wantChanges(r, "root", "stop_turn", "stop_turn", "delete_thread", "delete_user")
	if text := r.log.text(); strings.Contains(text, "secret words") || strings.Contains(text, parts[2]) {
		t.Error("the log has contents or tokens")
	}
}

// wantChanges wants one line for each change, with who and what.
func wantChanges(r *rig, by string, actions ...string) {
	r.Helper()
	var got []string
	for _, line := range r.log.changes(r) {
		got = append(got, line["action"].(string))
		if line["by"] != by || line["request_id"] == "" || line["client"] == "" || line["user"] == "" || line["level"] != "INFO" {
			r.Errorf("line %v", line)
		}
	}
	if !slices.Equal(got, actions) {
		r.Errorf("changes %v, want %v", got, actions)
	}
}

func TestWithoutAuthenticationOnlyLoopbackHasOperators(t *testing.T) {
	addr, _ := redistest.Mini(t)
	closed := start(t, addr, identity.NoAuth{}) // as beyond loopback
	for _, v := range verbs {
		if strings.Contains(v.path, "user=") {
			continue // here this is who asks
		}
		if a := closed.call(v.method, v.path, v.body); a.status != 403 {
			t.Errorf("%s %s: %d %s", v.method, v.path, a.status, a.text)
		}
	}
	open := start(t, addr, nil)
	open.want(200, "GET", "/admin/v1/nodes", "")
	open.want(200, "DELETE", "/admin/v1/users/ann?user=carol", "")
	wantChanges(open, "carol", "delete_user")
}
