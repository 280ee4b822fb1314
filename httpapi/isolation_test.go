package httpapi_test

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"turnlog/embedded"
	"turnlog/httpapi"
)

// verb is one call on a thread, as its owner may make it.
type verb struct {
	method, below, body string
	owner               int // status that the owner gets
}

// threadVerbs are all calls on a thread that is there; TURN is its running turn,
// WAITING one in its queue, REQUEST an open request. The last ones end it.
var threadVerbs = []verb{
	{"GET", "", "", 200},
	{"HEAD", "", "", 200},
	{"GET", "/frames", "", 200},
	{"GET", "/messages", "", 200},
	{"GET", "/requests", "", 200},
	{"GET", "/queue", "", 200},
	{"GET", "/queue/WAITING", "", 200},
	{"PATCH", "", `{"title":"new"}`, 200},
	{"POST", "/steer", `{"content":"left"}`, 202},
	{"POST", "/answers", `{"request_id":"REQUEST","result":1}`, 202},
	{"DELETE", "/queue/WAITING", "", 204},
	{"POST", "/stop", `{"turn_id":"TURN"}`, 200},
	{"DELETE", "", "", 204},
}

// creating are the calls on a thread that make it when it is not there, so that they
// say nothing about others either.
var creating = []string{"PUT /v1/threads/{id}", "POST /v1/threads/{id}/turns"}

// elsewhere are the routes that name no thread, and the event stream, whose tests walk its own table.
var elsewhere = []string{"GET /v1/openapi.json", "GET /v1/threads", "GET /v1/turns", "GET /v1/threads/{id}/events"}

func TestB100_EveryVerbOnSomebodyElsesThreadAnswersLikeOnAMissingOne(t *testing.T) {
	walked := append(slices.Clone(creating), elsewhere...)
	for _, v := range threadVerbs {
		if v.method != "HEAD" {
			walked = append(walked, v.method+" /v1/threads/{id}"+strings.Replace(v.below, "WAITING", "{turn_id}", 1))
		}
	}
	slices.Sort(walked)
	if routes := slices.Sorted(slices.Values(httpapi.Routes(bareAPI(t, nil, nil)))); !slices.Equal(routes, walked) {
		t.Fatalf("routes %v\nwalked %v", routes, walked)
	}
	onBoth(t, embedded.Options{}, func(n *restNode) {
		turn := n.want(202, "POST", "/v1/threads/hers/turns?user=ann", `{"content":"mine","demo":{"frames":100000,"interval_ms":2,"tool_call":{"name":"look","at":2}}}`)
		asked := n.until("/v1/threads/hers/requests?user=ann", "asking", func(m map[string]any) bool { return len(m["requests"].([]any)) == 1 })
		waiting := n.want(202, "POST", "/v1/threads/hers/turns?user=ann", `{"content":"later","on_busy":"enqueue"}`)
		names := strings.NewReplacer("TURN", turn["turn_id"].(string), "WAITING", waiting["turn_id"].(string),
			"REQUEST", asked["requests"].([]any)[0].(map[string]any)["request_id"].(string))
		for _, v := range threadVerbs {
			below, body := names.Replace(v.below), names.Replace(v.body)
			call := func(thread, user string) answer {
				return n.call(v.method, "/v1/threads/"+thread+below+"?user="+user, body)
			}
			other, missing, mine := call("hers", "bob"), call("nobodys", "bob"), call("nobodys", "ann")
			for who, a := range map[string]answer{"somebody else": other, "missing": missing, "missing, to the owner": mine} {
				if a.status != 404 || !bytes.Equal(a.anonymous(), missing.anonymous()) || !slices.Equal(headerNames(a), headerNames(missing)) ||
					v.method != "HEAD" && a.json["code"] != "not_found" {
					n.Errorf("%s %s, %s: %d %s %v", v.method, v.below, who, a.status, a.text, headerNames(a))
				}
			}
			if owner := call("hers", "ann"); owner.status != v.owner {
				n.Errorf("%s %s, owner: %d %s, want %d", v.method, v.below, owner.status, owner.text, v.owner)
			}
		}
		n.want(201, "PUT", "/v1/threads/new?user=ann", `{}`)
		for _, path := range []string{"/v1/threads", "/v1/turns", "/v1/openapi.json"} {
			n.want(200, "GET", path+"?user=ann", "")
		}
		// Every call has succeeded, and so was held against its description.
		for _, route := range walked {
			if !n.doc.Answered(route) && !strings.HasSuffix(route, "/events") {
				n.Errorf("%s never succeeded", route)
			}
		}
	})
}

func TestB100_CreatingAThreadOfTheSameNameTouchesNobodyElses(t *testing.T) {
	onBoth(t, embedded.Options{}, func(n *restNode) {
		first := n.want(202, "POST", "/v1/threads/t/turns?user=ann", `{"content":"hers","id":"k","demo":{"frames":100000,"interval_ms":2}}`)
		before := n.want(200, "GET", "/v1/threads/t?user=ann", "")
		same, fresh := n.want(201, "PUT", "/v1/threads/t?user=bob", `{"title":"his"}`), n.want(201, "PUT", "/v1/threads/u?user=bob", `{"title":"his"}`)
		if delete(same, "thread_id"); fmt.Sprint(same) != fmt.Sprint(without(fresh, "thread_id")) {
			n.Fatalf("%v, %v", same, fresh)
		}
		second := n.want(202, "POST", "/v1/threads/t/turns?user=bob", `{"content":"his","id":"k","demo":{"frames":1}}`)
		if second["duplicate"] != false || second["turn_id"] == first["turn_id"] || second["chat_seq"] != 1.0 {
			n.Fatalf("%v", second)
		}
		after := n.want(200, "GET", "/v1/threads/t?user=ann", "")
		for _, field := range []string{"turn_id", "epoch", "title", "status"} {
			if after[field] != before[field] {
				n.Errorf("%s was %v, is %v", field, before[field], after[field])
			}
		}
		for _, path := range []string{"/v1/turns", "/v1/threads"} {
			if text := n.call("GET", path+"?user=eve", "").text; strings.Contains(string(text), "turn_id") {
				n.Errorf("%s shows eve %s", path, text)
			}
		}
		// Nobody continues somebody else's thread.
		n.want(200, "PATCH", "/v1/threads/t?user=ann", `{"kind":"private"}`)
		if got := n.want(201, "PUT", "/v1/threads/v?user=eve", `{"continues":"t"}`); got["kind"] != nil {
			n.Errorf("eve continues %v", got)
		}
		if got := n.want(200, "GET", "/v1/threads/v/messages?user=eve&before=100@t", ""); len(got["messages"].([]any)) != 0 {
			n.Errorf("eve reads %v", got)
		}
	})
}

func headerNames(a answer) []string { return slices.Sorted(maps.Keys(a.header)) }

func without(m map[string]any, key string) map[string]any {
	m = maps.Clone(m)
	delete(m, key)
	return m
}
