package e2e_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"turnlog/internal/ssetest"
)

// httpVerb is one call of the HTTP API on a thread, as its owner may make it.
type httpVerb struct {
	below, query, body string
	owner              int  // status that the owner gets
	creates            bool // whoever calls makes a thread of their own, so that it answers everybody alike
	steps              int  // of what Redis does, so many belong to the call and not to the turn behind it; 0 = all
}

// httpVerbs are all calls that name a thread, by their route. TURN is the running turn,
// WAITING one in the queue, REQUEST an open request. They are walked in the order of verbsOrder.
var httpVerbs = map[string]httpVerb{
	"GET /v1/threads/{id}":                    {owner: 200},
	"GET /v1/threads/{id}/frames":             {below: "/frames", owner: 200},
	"GET /v1/threads/{id}/messages":           {below: "/messages", owner: 200},
	"GET /v1/threads/{id}/requests":           {below: "/requests", owner: 200},
	"GET /v1/threads/{id}/events":             {below: "/events", owner: 200, steps: 10},
	"GET /v1/threads/{id}/queue":              {below: "/queue", owner: 200},
	"GET /v1/threads/{id}/queue/{turn_id}":    {below: "/queue/WAITING", owner: 200},
	"PATCH /v1/threads/{id}":                  {body: `{"title":"new"}`, owner: 200},
	"PUT /v1/threads/{id}":                    {body: `{"title":"new"}`, owner: 200, creates: true},
	"POST /v1/threads/{id}/turns":             {below: "/turns", body: `{"content":"x","on_busy":"reject","demo":{"frames":1}}`, owner: 409, creates: true, steps: 20},
	"POST /v1/threads/{id}/steer":             {below: "/steer", body: `{"content":"left"}`, owner: 202},
	"POST /v1/threads/{id}/answers":           {below: "/answers", body: `{"request_id":"REQUEST","result":1}`, owner: 202},
	"DELETE /v1/threads/{id}/queue/{turn_id}": {below: "/queue/WAITING", owner: 204},
	"POST /v1/threads/{id}/stop":              {below: "/stop", body: `{"turn_id":"TURN"}`, owner: 200},
	"DELETE /v1/threads/{id}":                 {owner: 204},
}

// verbsLast end the turn or the thread, in this order.
var verbsLast = []string{"DELETE /v1/threads/{id}/queue/{turn_id}", "POST /v1/threads/{id}/stop", "DELETE /v1/threads/{id}"}

// verbsOfNoThread name none, and show their caller's own or nothing.
var verbsOfNoThread = []string{"GET /v1/turns", "GET /v1/threads", "GET /v1/openapi.json"}

func verbsOrder() []string {
	order := slices.Sorted(maps.Keys(httpVerbs))
	order = slices.DeleteFunc(order, func(route string) bool { return slices.Contains(verbsLast, route) })
	return append(order, verbsLast...)
}

// asker makes calls as somebody.
type asker struct {
	t     testing.TB
	node  *node
	token string
}

// heard is an answer without what names the request.
type heard struct {
	status int
	header string
	body   string
}

var requestIDs = regexp.MustCompile(`"request_id":"[^"]*"`)

// ask makes a call. Of an event stream it hears the first event behind the welcome.
func (a asker) ask(method, path, body string) heard {
	a.t.Helper()
	r, err := http.NewRequestWithContext(a.t.Context(), method, "http://"+a.node.addr+path, strings.NewReader(body))
	if err != nil {
		a.t.Fatal(err)
	}
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	if a.token != "" {
		r.Header.Set("Authorization", "Bearer "+a.token)
	}
	resp, err := http.DefaultTransport.RoundTrip(r)
	if err != nil {
		a.t.Fatalf("%s %s: %v", method, path, err)
	}
	defer resp.Body.Close()
	text := new(bytes.Buffer)
	if resp.Header.Get("Content-Type") == "text/event-stream" {
		events := ssetest.NewReader(resp.Body, "")
		for e := (ssetest.Event{}); e.Type == "" || e.Type == "welcome"; {
			if e, err = events.Next(); err != nil {
				a.t.Fatalf("%s %s: %v", method, path, err)
			}
			text.Reset()
			text.WriteString(e.Type + " " + e.Data)
		}
	} else if _, err := io.Copy(text, resp.Body); err != nil {
		a.t.Fatal(err)
	}
	header := resp.Header.Clone()
	header.Del("Date")
	header.Del("X-Request-Id")
	var lines bytes.Buffer
	_ = header.Write(&lines)
	return heard{resp.StatusCode, lines.String(), requestIDs.ReplaceAllString(text.String(), `"request_id":"R"`)}
}

// everyRoute reads the served OpenAPI document and fails when a route is not walked.
func everyRoute(t testing.TB, n *node) []string {
	t.Helper()
	var document struct {
		Paths map[string]map[string]json.RawMessage
	}
	if err := json.Unmarshal([]byte(asker{t: t, node: n}.ask("GET", "/v1/openapi.json", "").body), &document); err != nil {
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
	slices.Sort(routes)
	walked := append(verbsOrder(), verbsOfNoThread...)
	if slices.Sort(walked); !slices.Equal(routes, walked) {
		t.Fatalf("the document has %s\nwalked are %s", strings.Join(routes, "\n  "), strings.Join(walked, "\n  "))
	}
	return routes
}

// verbsPlace is a node with tokens, and what ann has there.
type verbsPlace struct {
	*place
	passes                 *passes
	turn, waiting, request string
}

// startVerbs gives ann a thread "hers" with a running turn, an open request and a queue.
func startVerbs(t *testing.T) *verbsPlace {
	t.Helper()
	v := &verbsPlace{passes: newPasses(t)}
	keys := write(t, "public.pem", v.passes.file, 0o644)
	config := write(t, "turnlog.yaml", "auth: {mode: jwt, secret: \""+authSecret+"\", key_files: [\""+keys+"\"], issuer: \""+verbsIssuer+"\", audience: "+verbsAudience+"}\n", 0o600)
	v.place = own(t, oneNode, "--config", config, "--limits.commands_per_second", "10000")
	a := dialWith(t, v.nodes[0].ws(), withToken(v.passes.good(t, "ann")))
	ack := a.say("hers", object{"frames": 100000, "interval_ms": 5, "tool_call": object{"name": "look", "at": 2}}, object{"on_disconnect": "preserve"})
	call := a.typed("hers", "tool_call")
	later := a.say("hers", object{"frames": 1}, object{"on_busy": "enqueue"})
	v.turn, v.waiting, v.request = ack.Str("turn_id"), later.Str("turn_id"), call.Str("tool_call_id")
	if v.turn == "" || v.waiting == "" || v.request == "" {
		t.Fatalf("%s %s %s", ack, later, call)
	}
	return v
}

// names fills in what is ann's.
func (v *verbsPlace) names(text string) string {
	return strings.NewReplacer("TURN", v.turn, "WAITING", v.waiting, "REQUEST", v.request).Replace(text)
}

func (v *verbsPlace) as(t testing.TB, token string) asker {
	return asker{t: t, node: v.nodes[0], token: token}
}

// ids are what differs between two threads of the same story.
var ids = regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f-]{27}|[0-9A-Z]{20,}|[0-9a-f]{16,32}|[0-9]+`)

// alike takes out of a text what may differ between two threads.
func alike(text, thread string) string {
	return ids.ReplaceAllString(strings.ReplaceAll(text, thread, "THREAD"), "#")
}

// scripts keeps the digests of scripts from being taken for ids.
var scripts = regexp.MustCompile(`(?i)^"(evalsha|eval)" "([0-9a-f]{8})[0-9a-f]*"`)

// first are the first n commands, or all for n = 0.
func first(commands []string, n int) []string {
	if n == 0 {
		return commands
	}
	return commands[:min(n, len(commands))]
}

func alikeAll(commands []string, thread string) []string {
	out := make([]string, len(commands))
	for i, c := range commands {
		out[i] = alike(scripts.ReplaceAllString(c, `"$1" "$2"`), thread)
	}
	return out
}

func TestB100_B101_EveryVerbForEverybody(t *testing.T) {
	t.Parallel()
	v := startVerbs(t)
	everyRoute(t, v.nodes[0])
	ann := v.as(t, v.passes.good(t, "ann"))
	bad := v.passes.bad(t)
	watch := v.redis.watch(t)

	for i, route := range verbsOrder() {
		verb := httpVerbs[route]
		method, _, _ := strings.Cut(route, " ")
		body := v.names(verb.body)
		path := func(thread string) string {
			return "/v1/threads/" + url.PathEscape(thread) + v.names(verb.below) + verb.query
		}

		// Whoever is not believed learns nothing, whatever they show and whatever is there.
		refused := v.as(t, "").ask(method, path("hers"), body)
		if refused.status != 401 || !strings.Contains(refused.header, "Www-Authenticate: Bearer") || !strings.Contains(refused.body, `"code":"unauthorized"`) {
			t.Errorf("%s without a token: %+v", route, refused)
		}
		for name, token := range bad {
			for _, thread := range []string{"hers", "missing"} {
				if got := v.as(t, token).ask(method, path(thread), body); got != refused {
					t.Errorf("%s, %s, %s: %+v\nwithout a token: %+v", route, name, thread, got, refused)
				}
			}
		}

		// Somebody else's thread is one that is not there, and takes the same steps to find out.
		const missing = "zzzz"
		user := fmt.Sprintf("bob%d", i) // with nothing left of the rows before
		bob := v.as(t, v.passes.good(t, user))
		v.as(t, v.passes.good(t, user+"x")).ask(method, path(missing), body) // the server has its scripts
		var other, none heard
		otherSteps := watch.during(t, user+"/hers", func() { other = bob.ask(method, path("hers"), body) })
		noneSteps := watch.during(t, user+"/"+missing, func() { none = bob.ask(method, path(missing), body) })
		if alike(other.body, "hers") != alike(none.body, missing) || alike(other.header, "hers") != alike(none.header, missing) || other.status != none.status {
			t.Errorf("%s of somebody else's thread: %+v\nof none: %+v", route, other, none)
		}
		if !verb.creates && (other.status != 404 || !strings.Contains(other.body, `"code":"not_found"`)) {
			t.Errorf("%s of somebody else's thread: %+v", route, other)
		}
		if a, b := alikeAll(first(otherSteps, verb.steps), "hers"), alikeAll(first(noneSteps, verb.steps), missing); len(a) == 0 || !slices.Equal(a, b) {
			t.Errorf("%s of somebody else's thread: %d steps, of none: %d\n%s\n\n%s", route, len(a), len(b), strings.Join(a, "\n"), strings.Join(b, "\n"))
		}

		if got := ann.ask(method, path("hers"), body); got.status != verb.owner {
			t.Errorf("%s by its owner: %+v, want %d", route, got, verb.owner)
		}
	}
	for _, path := range []string{"/v1/turns", "/v1/threads"} {
		refused := v.as(t, "").ask("GET", path, "")
		for name, token := range bad {
			if got := v.as(t, token).ask("GET", path, ""); got != refused || got.status != 401 {
				t.Errorf("%s, %s: %+v", path, name, got)
			}
		}
		if got := v.as(t, v.passes.good(t, "bob")).ask("GET", path, ""); got.status != 200 || strings.Contains(got.body, v.turn) {
			t.Errorf("%s shows bob %s", path, got.body)
		}
	}
}

func TestB101_NoHandshakeWithABadToken(t *testing.T) {
	t.Parallel()
	v := startVerbs(t)
	shake := func(dress func(*http.Request)) heard {
		t.Helper()
		r, err := http.NewRequest("GET", "http://"+v.nodes[0].addr+"/ws", nil)
		if err != nil {
			t.Fatal(err)
		}
		for k, value := range map[string]string{"Connection": "Upgrade", "Upgrade": "websocket", "Sec-WebSocket-Version": "13", "Sec-WebSocket-Key": "dGhlIHNhbXBsZSBub25jZQ=="} {
			r.Header.Set(k, value)
		}
		dress(r)
		client := &http.Client{Timeout: time.Minute}
		resp, err := client.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		if resp.StatusCode == http.StatusSwitchingProtocols {
			return heard{status: 101}
		}
		text, _ := io.ReadAll(resp.Body)
		return heard{status: resp.StatusCode, body: requestIDs.ReplaceAllString(string(text), `"request_id":"R"`)}
	}
	ways := map[string]func(token string) func(*http.Request){
		"header": func(token string) func(*http.Request) {
			return func(r *http.Request) { r.Header.Set("Authorization", "Bearer "+token) }
		},
		"token": func(token string) func(*http.Request) {
			return func(r *http.Request) { r.URL.RawQuery = "token=" + token }
		},
		"api_key": func(token string) func(*http.Request) {
			return func(r *http.Request) { r.URL.RawQuery = "api_key=" + token }
		},
		"protocol": func(token string) func(*http.Request) {
			return func(r *http.Request) { r.Header.Set("Sec-WebSocket-Protocol", "turnlog.v1, bearer."+token) }
		},
	}
	refused := shake(func(*http.Request) {})
	if refused.status != 401 || !strings.Contains(refused.body, `"code":"unauthorized"`) {
		t.Fatalf("without a token: %+v", refused)
	}
	good := v.passes.good(t, "ann")
	for way, dress := range ways {
		if got := shake(dress(good)); got.status != 101 {
			t.Errorf("a good token as %s: %+v", way, got)
		}
		for name, token := range v.passes.bad(t) {
			if got := shake(dress(token)); got != refused {
				t.Errorf("%s as %s: %+v, without a token: %+v", name, way, got, refused)
			}
		}
	}
	if got := shake(func(r *http.Request) { // two that differ are none
		r.Header.Set("Authorization", "Bearer "+good)
		r.URL.RawQuery = "token=" + v.passes.good(t, "bob")
	}); got != refused {
		t.Errorf("two tokens: %+v", got)
	}
}
