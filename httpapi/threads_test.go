package httpapi_test

import (
	"context"
	"fmt"
	"net/url"
	"reflect"
	"slices"
	"strings"
	"testing"

	"turnlog/embedded"
	"turnlog/eventlog"
	"turnlog/httpapi"
	"turnlog/internal/redistest"
	"turnlog/session"
)

// kinds are rules as the configuration makes them: threads k-... are batch.
func kinds() embedded.Options {
	policies := map[string]eventlog.Policy{"batch": eventlog.PolicyPreserve, "throwaway": eventlog.PolicyCancel}
	rule := func(s session.Submit) (string, eventlog.Policy) {
		if strings.HasPrefix(s.Thread.ID, "k-") || s.Client == "worker" {
			return "batch", policies["batch"]
		}
		return "", eventlog.PolicyUnset
	}
	return embedded.Options{
		Session: session.Options{Kind: rule},
		API:     httpapi.APIOptions{Kind: rule, KindPolicy: func(kind string) eventlog.Policy { return policies[kind] }},
	}
}

func TestThreads_MetadataIsCreatedChangedAndRead(t *testing.T) {
	onBoth(t, kinds(), func(n *restNode) {
		got := n.call("PUT", "/v1/threads/a%2Fb", `{"title":"One","on_disconnect":"grace"}`)
		if got.status != 201 || got.header.Get("Location") != "/v1/threads/a%2Fb" {
			n.Fatalf("created: %d %v", got.status, got.header)
		}
		wantJSON(n, got.json, map[string]any{"thread_id": "a/b", "title": "One", "on_disconnect": "grace", "status": "unknown", "last_seq": 0.0})
		wantJSON(n, n.want(200, "PUT", "/v1/threads/a%2Fb", `{"kind":"mine"}`),
			map[string]any{"thread_id": "a/b", "title": "One", "kind": "mine", "on_disconnect": "grace", "status": "unknown", "last_seq": 0.0})
		n.want(200, "PATCH", "/v1/threads/a%2Fb", `{"title":"Two","on_disconnect":"preserve"}`, "Content-Type", "application/merge-patch+json")
		wantJSON(n, n.want(200, "GET", "/v1/threads/a%2Fb", ""),
			map[string]any{"thread_id": "a/b", "title": "Two", "kind": "mine", "on_disconnect": "preserve", "status": "unknown", "last_seq": 0.0})
		for body, field := range map[string]string{
			`{"title":""}`: "title", `{"title":null}`: "title", `{"title":7}`: "title", `{"on_disconnect":"x"}`: "on_disconnect",
			`{"continues":"other"}`: "continues", `{"continues":"x","branch_of":"y"}`: "branch_of", `{"branch_seq":4}`: "branch_seq",
			`{"kind":"` + strings.Repeat("k", 65) + `"}`: "kind", `{"branch_of":"` + strings.Repeat("x", 300) + `"}`: "branch_of",
		} {
			wantField(n, n.want(400, "PATCH", "/v1/threads/a%2Fb", body), field)
		}
		n.want(404, "PATCH", "/v1/threads/none", `{"title":"x"}`)
		n.want(400, "PUT", "/v1/threads/self", `{"branch_of":"self"}`)
		n.want(404, "GET", "/v1/threads/self", "")
		if a := n.call("HEAD", "/v1/threads/a%2Fb", ""); a.status != 200 {
			n.Fatalf("HEAD: %d", a.status)
		}
	})
}

func TestThreads_KindsApplyToThreadsThatArePut(t *testing.T) {
	onBoth(t, kinds(), func(n *restNode) {
		for path, body := range map[string]string{
			"/v1/threads/k-1": `{}`, "/v1/threads/w?client=worker": `{}`, "/v1/threads/named": `{"kind":"batch"}`,
		} {
			if got := n.want(201, "PUT", path, body); got["kind"] != "batch" || got["on_disconnect"] != "preserve" {
				n.Errorf("%s: %v", path, got)
			}
			if got := n.want(409, "PATCH", strings.Split(path, "?")[0], `{"on_disconnect":"cancel"}`); got["code"] != "policy_conflict" {
				n.Errorf("%s: %v", path, got)
			}
		}
		if got := n.want(201, "PUT", "/v1/threads/k-2", `{"kind":"throwaway"}`); got["kind"] != "throwaway" || got["on_disconnect"] != "cancel" {
			n.Errorf("a kind that is named wins over the rule: %v", got)
		}
		if got := n.want(409, "PUT", "/v1/threads/k-3", `{"on_disconnect":"cancel","kind":"batch"}`); got["code"] != "policy_conflict" {
			n.Errorf("cancel for a kind that preserves: %v", got)
		}
		n.want(404, "GET", "/v1/threads/k-3", "")
		if got := n.want(201, "PUT", "/v1/threads/next", `{"continues":"k-1"}`); got["kind"] != "batch" || got["continues"] != "k-1" {
			n.Errorf("continued: %v", got)
		}
		if got := n.want(201, "PUT", "/v1/threads/plain", `{}`); got["kind"] != nil {
			n.Errorf("no rule fits: %v", got)
		}
	})
}

func TestThreads_AreListedByLastActivityInPages(t *testing.T) {
	onBoth(t, embedded.Options{}, func(n *restNode) {
		var want []string
		for i := range 5 {
			id := fmt.Sprintf("t/%d", i)
			n.want(201, "PUT", "/v1/threads/"+url.PathEscape(id), fmt.Sprintf(`{"title":"no %d"}`, i))
			want = append(want, id)
		}
		n.want(201, "PUT", "/v1/threads/x?user=eve", `{"title":"hers"}`)
		n.want(202, "POST", "/v1/threads/t%2F1/turns", `{"content":"hi","demo":{"frames":2}}`)
		n.finished("/v1/threads/t%2F1")
		var got []string
		for cursor, pages := "", 0; ; pages++ {
			page := n.want(200, "GET", "/v1/threads?limit=2&cursor="+cursor, "")
			for _, x := range page["threads"].([]any) {
				got = append(got, x.(map[string]any)["thread_id"].(string))
			}
			if page["next"] == nil || pages > 5 {
				break
			}
			cursor = page["next"].(string)
		}
		slices.Sort(want)
		if got[0] != "t/1" {
			n.Errorf("the active one is not the first: %v", got)
		}
		slices.Sort(got)
		if !slices.Equal(got, want) {
			n.Errorf("got %v, want %v", got, want)
		}
		wantField(n, n.want(400, "GET", "/v1/threads?cursor=!", ""), "cursor")
		wantField(n, n.want(400, "GET", "/v1/threads?limit=0", ""), "limit")
	})
}

func TestThreads_DeleteRemovesEveryKeyAndEndsTheTurn(t *testing.T) {
	n := startRest(t, redistest.Start(t), embedded.Options{})
	const id, path = "forget-me/now", "/v1/threads/forget-me%2Fnow"
	n.want(202, "POST", path+"/turns", `{"content":"secret words","id":"first","demo":{"frames":100000,"interval_ms":1,"tool_call":{"name":"look","at":5}}}`)
	n.until(path+"/requests", "asking", func(m map[string]any) bool { return len(m["requests"].([]any)) > 0 })
	n.want(202, "POST", path+"/turns", `{"content":"secret words","on_busy":"enqueue"}`)
	if got := n.call("DELETE", path, ""); got.status != 204 || len(got.text) > 0 {
		t.Fatalf("%d %s", got.status, got.text)
	}
	n.until("/v1/turns", "empty", func(m map[string]any) bool { return len(m["turns"].([]any)) == 0 })
	deadline, cancel := context.WithTimeout(t.Context(), restPatience)
	defer cancel()
	for left := []string{"?"}; len(left) > 0; {
		if left = remains(n, "forget-me%2Fnow"); deadline.Err() != nil {
			t.Fatalf("still there: %v", left)
		}
	}
	for _, verb := range [][2]string{{"GET", ""}, {"DELETE", ""}, {"GET", "/frames"}, {"GET", "/messages"}} {
		n.want(404, verb[0], path+verb[1], "")
	}
	// The name may be used again, and nothing of before shows.
	n.want(202, "POST", path+"/turns", `{"content":"new","demo":{"frames":1}}`)
	n.finished(path)
	if got := n.want(200, "GET", path+"/messages", ""); strings.Contains(fmt.Sprint(got), "secret") {
		t.Fatalf("history of the deleted thread: %v", got)
	}
}

// remains lists what Redis holds of a thread: keys, and members of other keys. The mark that
// keeps late owners from bringing it back, and the memory of ids, hold no content and run out.
func remains(n *restNode, encoded string) (left []string) {
	n.Helper()
	ctx := n.Context()
	keys, err := n.rdb.Keys(ctx, "*").Result()
	if err != nil {
		n.Fatal(err)
	}
	for _, key := range keys {
		if strings.Contains(key, encoded) {
			mark := strings.HasSuffix(key, encoded+":state")
			if mark || strings.Contains(key, encoded+":submit:") || strings.Contains(key, encoded+":input:") {
				fields, _ := n.rdb.HKeys(ctx, key).Result()
				slices.Sort(fields)
				ttl := n.rdb.TTL(ctx, key).Val()
				if ttl <= 0 || ttl.Hours() > 24 || mark && !slices.Equal(fields, []string{"deleted", "epoch", "turn_id"}) {
					left = append(left, fmt.Sprint(key, fields, ttl))
				}
				continue
			}
			left = append(left, key)
		}
		if dump, _ := n.rdb.Dump(ctx, key).Result(); strings.Contains(dump, "secret words") {
			left = append(left, "content in "+key)
		}
		var members []string
		switch n.rdb.Type(ctx, key).Val() {
		case "zset":
			members, _ = n.rdb.ZRange(ctx, key, 0, -1).Result()
		case "set":
			members, _ = n.rdb.SMembers(ctx, key).Result()
		case "hash":
			members, _ = n.rdb.HVals(ctx, key).Result()
		}
		for _, m := range members {
			if strings.Contains(m, encoded) {
				left = append(left, key+" has "+m)
			}
		}
	}
	return left
}

func TestB103_ThreadIDsOfEveryKindNameTheirOwnThread(t *testing.T) {
	onBoth(t, embedded.Options{}, func(n *restNode) {
		ids := []string{"a/b{c}:d", "a", "a/b", "a%2Fb", "{1}:x", "ü ö", "👋🏽", "..", ".", "../x", "a//b", "turns", "a?b#c", "a\nb", "\x00", "+", "a b", "queue/x"}
		for _, id := range ids {
			path := "/v1/threads/" + strings.ReplaceAll(url.PathEscape(id), ".", "%2E")
			got := n.call("PUT", path, fmt.Sprintf(`{"title":%q}`, "title of "+fmt.Sprintf("%x", id)))
			if got.status != 201 || got.json["thread_id"] != id {
				n.Fatalf("%q: %d %s", id, got.status, got.text)
			}
			if at := got.header.Get("Location"); n.want(200, "GET", at, "")["thread_id"] != id {
				n.Fatalf("%q is not at %s", id, at)
			}
		}
		for _, id := range ids {
			path := "/v1/threads/" + strings.ReplaceAll(url.PathEscape(id), ".", "%2E")
			if got := n.want(200, "GET", path, ""); got["title"] != fmt.Sprintf("title of %x", id) {
				n.Errorf("%q: %v", id, got)
			}
		}
		long := strings.Repeat("x", 10000)
		for _, id := range []string{long, strings.Repeat("%F0%9F%91%8B", 30), "%FF"} {
			for _, verb := range []string{"GET", "DELETE", "PUT"} {
				if got := n.want(400, verb, "/v1/threads/"+id, map[string]string{"PUT": `{"title":"x"}`}[verb]); got["code"] != "invalid_request" {
					n.Errorf("%s %.20s: %v", verb, id, got)
				}
			}
			n.want(400, "POST", "/v1/threads/"+id+"/turns", `{"content":"x"}`)
		}
		for _, path := range []string{"/v1/threads//", "/v1/threads/../turns", "/v1/threads/./x", "/v1//threads", "/v1/threads/a/", "/v1/threads//a"} {
			n.want(404, "DELETE", path, "")
		}
		n.want(200, "GET", "/v1/threads/a", "")
	})
}

func wantJSON(t testing.TB, got, want map[string]any) {
	t.Helper()
	if !reflect.DeepEqual(got, want) {
		t.Fatalf("got %v\nwant %v", got, want)
	}
}

// wantField wants a problem that names the field.
func wantField(t testing.TB, got map[string]any, field string) {
	t.Helper()
	list, _ := got["errors"].([]any)
	if got["code"] != "invalid_request" || len(list) == 0 || list[0].(map[string]any)["field"] != field {
		t.Errorf("got %v, want a problem about %s", got, field)
	}
}
