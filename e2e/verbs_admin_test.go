package e2e_test

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/golang-jwt/jwt/v5"

	"turnlog/identity"
)

// adminVerbs are all calls of operators, by their route, with the body that goes with them.
var adminVerbs = map[string]string{
	"GET /admin/v1/nodes":                                "",
	"GET /admin/v1/reaper":                               "",
	"GET /admin/v1/turns":                                "",
	"GET /admin/v1/turns/summary":                        "",
	"GET /admin/v1/users/{user}/threads":                 "",
	"GET /admin/v1/users/{user}/threads/{thread}":        "",
	"GET /admin/v1/users/{user}/threads/{thread}/frames": "",
	"GET /admin/v1/openapi.json":                         "",
	"POST /admin/v1/users/{user}/threads/{thread}/stop":  `{"reason":"enough"}`,
	"DELETE /admin/v1/users/{user}/threads/{thread}":     "",
	"DELETE /admin/v1/users/{user}":                      "",
}

// adminLast end what the others look at, in this order.
var adminLast = []string{
	"POST /admin/v1/users/{user}/threads/{thread}/stop", "DELETE /admin/v1/users/{user}/threads/{thread}", "DELETE /admin/v1/users/{user}",
}

func TestB100_B101_EveryVerbOfOperatorsIsForThemAlone(t *testing.T) {
	t.Parallel()
	v := startVerbs(t)
	scope := jwt.MapClaims{"scope": identity.ScopeAdmin}
	operator := v.as(t, v.passes.good(t, "root", scope))

	var document struct {
		Paths map[string]map[string]json.RawMessage
	}
	if err := json.Unmarshal([]byte(operator.ask("GET", "/admin/v1/openapi.json", "").body), &document); err != nil {
		t.Fatal(err)
	}
	var routes []string
	for path, methods := range document.Paths {
		for method := range methods {
			if method != "parameters" {
				routes = append(routes, strings.ToUpper(method)+" "+path)
			}
		}
	}
	if slices.Sort(routes); !slices.Equal(routes, slices.Sorted(maps.Keys(adminVerbs))) {
		t.Fatalf("the document has %q\nwalked are %q", routes, slices.Sorted(maps.Keys(adminVerbs)))
	}
	routes = append(slices.DeleteFunc(routes, func(r string) bool { return slices.Contains(adminLast, r) }), adminLast...)

	bad := v.passes.bad(t)
	for name, token := range v.passes.bad(t, scope) { // and none becomes an operator's by saying so
		bad[name+", with the scope"] = token
	}
	users := map[string]string{
		"ann": v.passes.good(t, "ann"), "bob": v.passes.good(t, "bob"),
		"another scope":   v.passes.good(t, "bob", jwt.MapClaims{"scope": "admin turnlog:admins turnlog"}),
		"root without it": v.passes.good(t, "root"),
	}
	var unknown, forbidden heard
	for i, route := range routes {
		method, path, _ := strings.Cut(route, " ")
		body := adminVerbs[route]
		at := func(user, thread string) string {
			return strings.NewReplacer("{user}", user, "{thread}", thread).Replace(path)
		}
		refused := v.as(t, "").ask(method, at("ann", "hers"), body)
		denied := v.as(t, users["bob"]).ask(method, at("ann", "hers"), body)
		if i == 0 {
			unknown, forbidden = refused, denied
			if refused.status != 401 || denied.status != 403 || !strings.Contains(denied.body, `"code":"forbidden"`) {
				t.Fatalf("%+v %+v", refused, denied)
			}
		}
		for _, whose := range []string{at("ann", "hers"), at("ann", "none"), at("nobody", "none")} {
			for name, token := range bad {
				if got := v.as(t, token).ask(method, whose, body); got != unknown {
					t.Errorf("%s %s, %s: %+v\nwithout a token: %+v", method, whose, name, got, unknown)
				}
			}
			for name, token := range users {
				if got := v.as(t, token).ask(method, whose, body); got != forbidden {
					t.Errorf("%s %s, %s: %+v\nanother one: %+v", method, whose, name, got, forbidden)
				}
			}
		}
		if got := operator.ask(method, at("ann", "hers"), body); got.status != 200 {
			t.Errorf("%s by an operator: %+v", route, got)
		}
	}
	if got := v.as(t, users["ann"]).ask("GET", "/v1/threads", ""); got.status != 200 || strings.Contains(got.body, "hers") {
		t.Errorf("what the operator deleted: %+v", got)
	}
}
