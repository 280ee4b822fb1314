package admin_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"turnlog/eventlog"
	"turnlog/internal/redistest"
)

func TestNodesAndTheReaper(t *testing.T) {
	addr := redistest.Start(t)
	a, b := start(t, addr, nil), start(t, addr, nil)
	a.submit("ann", "t", endless)
	a.until("/admin/v1/nodes", "both nodes with all they tell", func(m map[string]any) bool {
		nodes := list(m, "nodes")
		return len(nodes) == 2 && nodes[0]["connections"] != nil && nodes[1]["connections"] != nil && m["reaper"] != nil
	})
	got := b.want(200, "GET", "/admin/v1/nodes", "")
	turns := 0.0
	for _, n := range list(got, "nodes") {
		turns += n["turns"].(float64)
		if n["state"] != "alive" || n["address"] != "127.0.0.1:1" || n["version"] != "test" || n["draining"] != false || n["dead_since"] != nil ||
			n["lease_left_ms"].(float64) > 10_000 || n["heartbeat_age_ms"].(float64) > 10_000 {
			t.Errorf("node %v", n)
		}
	}
	if turns != 1 {
		t.Errorf("%v turns", turns)
	}
	leader := got["reaper"].(map[string]any)
	if leader["since"] == nil || leader["term"] != 1.0 {
		t.Errorf("reaper %v", leader)
	}
	for _, r := range []*rig{a, b} {
		leads := leader["node"] == r.node.Sessions().Node()
		m := r.until("/admin/v1/reaper", "having looked", func(m map[string]any) bool {
			here := m["here"].(map[string]any)
			return (here["last_pass_at"] != nil) == leads && here["leads"] == leads
		})
		if lead := m["leader"].(map[string]any); lead["node"] != leader["node"] || m["backlog"].(map[string]any)["overdue"] == nil {
			t.Errorf("reaper %v", m)
		}
	}
	// A node that died, and whose burial is done.
	if err := a.node.Log().Resign(t.Context(), "node-gone"); err != nil {
		t.Fatal(err)
	}
	a.until("/admin/v1/nodes", "buried", func(m map[string]any) bool {
		at := slices.IndexFunc(list(m, "nodes"), func(n map[string]any) bool { return n["node"] == "node-gone" })
		return at >= 0 && list(m, "nodes")[at]["state"] == "buried" && list(m, "nodes")[at]["dead_since"] != nil
	})
}

func TestTurnsAreListedFilteredAndCounted(t *testing.T) {
	onBoth(t, func(r *rig) {
		var want []string
		for i := range 5 {
			r.submit(fmt.Sprintf("u%d", i%2), fmt.Sprintf("t%%2F%d", i), strings.Replace(endless, "{", `{"on_disconnect":"grace",`, 1))
			want = append(want, fmt.Sprintf("t/%d", i))
		}
		preserved := r.submit("zoe", "p", endless)
		var got []string
		for path, pages := "/admin/v1/turns?limit=2", 0; ; pages++ {
			page := r.want(200, "GET", path, "")
			for _, turn := range list(page, "turns") {
				got = append(got, turn["thread_id"].(string))
			}
			if page["next"] == nil || pages > 5 {
				break
			}
			path = "/admin/v1/turns?limit=2&cursor=" + url.QueryEscape(page["next"].(string))
		}
		if !slices.Equal(got, append(want, "p")) {
			r.Errorf("got %v", got)
		}
		for query, n := range map[string]int{
			"user=u0": 3, "user=u": 0, "q=T%2F3": 1, "q=ZO": 1, "q=" + preserved: 1, "state=detached": 6, "state=running": 0, "on_disconnect=preserve": 1,
			"node=-": 0, "node=" + r.node.Sessions().Node(): 6, "kind=none": 0, "user=u1&q=t%2F1": 1,
		} {
			if page := r.want(200, "GET", "/admin/v1/turns?"+query, ""); len(list(page, "turns")) != n || page["next"] != nil {
				r.Errorf("%s: %v", query, page)
			}
		}
		turn := list(r.want(200, "GET", "/admin/v1/turns?user=u1&limit=1", ""), "turns")[0]
		if left, _ := turn["grace_left_ms"].(float64); turn["state"] != "detached" || turn["grace_deadline"] == nil || left <= 0 || left > 600_000 || turn["owner"] != r.node.Sessions().Node() || turn["attempt"] != 1.0 {
			r.Errorf("turn %v", turn)
		}
		sum := r.want(200, "GET", "/admin/v1/turns/summary", "")
		if nodes := list(sum, "nodes"); sum["turns"] != 6.0 || sum["detached"] != 6.0 || len(nodes) != 1 || nodes[0]["turns"] != 6.0 {
			r.Errorf("summary %v", sum)
		}
		for _, bad := range []string{"limit=0", "limit=501", "cursor=!", "cursor=eA", "cursor=MSB4", "state=x", "on_disconnect=x", "q=" + strings.Repeat("x", 300)} {
			problem := r.want(400, "GET", "/admin/v1/turns?"+bad, "")
			if field := list(problem, "errors")[0]["field"]; field != strings.Split(bad, "=")[0] {
				r.Errorf("%s: %v", bad, problem)
			}
		}
	})
}

// counter counts what a client sends.
type counter struct{ sent atomic.Int64 }

var _ redis.Hook = (*counter)(nil)

func (c *counter) DialHook(next redis.DialHook) redis.DialHook {
	return func(ctx context.Context, network, addr string) (net.Conn, error) { return next(ctx, network, addr) }
}

func (c *counter) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		c.sent.Add(1)
		return next(ctx, cmd)
	}
}

func (c *counter) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		c.sent.Add(int64(len(cmds)))
		return next(ctx, cmds)
	}
}

// B30: with 10,000 running turns a page costs what a page costs.
func TestB30_PagesOfTenThousandRunningTurns(t *testing.T) {
	rdb := redis.NewClient(&redis.Options{Addr: redistest.Start(t)})
	defer rdb.Close()
	log, err := eventlog.Open(t.Context(), rdb, eventlog.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	pipe := rdb.Pipeline()
	now := time.Now().UnixMilli()
	for i := range 10_000 {
		user := fmt.Sprintf("user-%d", i%300)
		p, err := log.Partition(user)
		if err != nil {
			t.Fatal(err)
		}
		prefix, name := fmt.Sprintf("turnlog:{%d}:", p), fmt.Sprintf("%s/t%d", user, i)
		pipe.ZAdd(t.Context(), prefix+"turns", redis.Z{Score: float64(now + int64(i)), Member: name})
		pipe.HSet(t.Context(), prefix+name+":state", "status", "running", "turn_id", fmt.Sprint("turn-", i), "policy", "preserve", "owner", fmt.Sprint("node-", i%3),
			"attempt", 1, "last_append_at", now, "epoch", "e", "last_seq", 1)
	}
	if _, err := pipe.Exec(t.Context()); err != nil {
		t.Fatal(err)
	}
	counted := &counter{}
	rdb.AddHook(counted)
	api := bare(t, log)
	read := func(path string, most int64, into any) {
		t.Helper()
		counted.sent.Store(0)
		w := httptest.NewRecorder()
		api.ServeHTTP(w, httptest.NewRequest("GET", path, nil))
		if err := json.Unmarshal(w.Body.Bytes(), into); err != nil || w.Code != 200 {
			t.Fatalf("%s: %d %v %s", path, w.Code, err, w.Body)
		}
		if n := counted.sent.Load(); n > most {
			t.Fatalf("%s took %d commands, at most %d are its due", path, n, most)
		}
		if n := w.Body.Len(); n > 200_000 {
			t.Errorf("%s answers %d bytes", path, n)
		}
	}
	get := func(path string, most int64) (page struct {
		Turns []struct {
			TurnID string `json:"turn_id"`
		}
		Next    string
		Scanned int
	}) {
		t.Helper()
		read(path, most, &page)
		return page
	}
	seen := 0
	for path := "/admin/v1/turns?limit=200"; ; {
		page := get(path, 64*2+2*200+1)
		if len(page.Turns) != 200 || page.Turns[0].TurnID != fmt.Sprint("turn-", seen) {
			t.Fatalf("behind %d: %d turns, first %v", seen, len(page.Turns), page.Turns[:1])
		}
		if seen += len(page.Turns); page.Next == "" {
			break
		}
		path = "/admin/v1/turns?limit=200&cursor=" + page.Next
	}
	if seen != 10_000 {
		t.Errorf("%d turns", seen)
	}
	found := 0
	for path, pages := "/admin/v1/turns?q=user-77&node=node-2", 0; ; pages++ {
		page := get(path, 2*2000+64*8+1)
		if page.Scanned > 2000 || pages > 10 {
			t.Fatalf("page %d looked at %d turns", pages, page.Scanned)
		}
		if found += len(page.Turns); page.Next == "" {
			break
		}
		path = "/admin/v1/turns?q=user-77&node=node-2&cursor=" + page.Next
	}
	if found == 0 || found > 34 {
		t.Errorf("found %d", found)
	}
	var sum struct {
		Turns int
		Nodes []struct{ Turns int }
	}
	if read("/admin/v1/turns/summary", 64+64+40+1, &sum); sum.Turns != 10_000 || len(sum.Nodes) != 3 || sum.Nodes[0].Turns != 3334 {
		t.Errorf("summary %+v", sum)
	}
}
