package main

import (
	"encoding/json"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"turnlog/cmd/turnlog/term"
	"turnlog/eventlog"
)

// jsonOf runs a command that prints JSON.
func jsonOf[T any](t *testing.T, args ...string) T {
	t.Helper()
	out, err := runCommand(t, append(args, "--json")...)
	if err != nil {
		t.Fatal(err)
	}
	var document T
	if err := json.Unmarshal([]byte(out), &document); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return document
}

const waitingTurn = `"content":"x","demo":{"frames":1,"approval":{"tool_name":"x","at":1}}`

func TestTurnsListsWhatRuns(t *testing.T) {
	url := "redis://" + startRedis(t)
	a, b := startNode(t, "--redis", url), startNode(t, "--redis", url)
	if out, err := runCommand(t, "turns", "--redis", url); err != nil || out != "no turn is running\n" {
		t.Fatalf("%q, %v", out, err)
	}
	begin := func(n *testNode, user, thread, policy string) *testConn {
		t.Helper()
		c := n.dialAs("?user=" + user)
		c.send(`{"command":"chat_message","data":{"thread_id":"` + thread + `",` + waitingTurn + `,"on_disconnect":"` + policy + `"}}`)
		c.until("the approval", ofType("tool_approval_request"))
		return c
	}
	begin(a, "ann", "watched", "cancel")
	begin(a, "ann", "left alone", "grace").ws.CloseNow()
	begin(b, "bob", "kept", "preserve").ws.CloseNow()

	var report turnsReport
	await(t, "two detached turns", func() bool {
		report = jsonOf[turnsReport](t, "turns", "--redis", url, "--detached")
		return len(report.Turns) == 2
	})
	report = jsonOf[turnsReport](t, "turns", "--redis", url)
	rows := map[string]listedTurn{}
	for _, turn := range report.Turns {
		rows[turn.ThreadID] = turn
	}
	if len(rows) != 3 {
		t.Fatalf("rows %+v", rows)
	}
	if r := rows["watched"]; r.User != "ann" || r.Policy != "cancel" || r.DetachedAt != nil || r.GraceDeadline != nil || r.Attempt != 1 || r.TurnID == "" || r.Owner == "" || r.LastSeq < 2 {
		t.Errorf("watched: %+v", r)
	}
	if r := rows["left alone"]; r.DetachedAt == nil || r.GraceDeadline == nil || r.GraceDeadline.Sub(*r.DetachedAt) != 10*time.Minute || r.Owner != rows["watched"].Owner {
		t.Errorf("left alone: %+v", r)
	}
	if r := rows["kept"]; r.User != "bob" || r.DetachedAt == nil || r.GraceDeadline != nil || r.Owner == rows["watched"].Owner || report.Now.Sub(r.LastFrameAt) > time.Minute || report.Now.Before(r.LastFrameAt) {
		t.Errorf("kept: %+v at %s", r, report.Now)
	}
	if only := jsonOf[turnsReport](t, "turns", "--redis", url, "--user", "bob"); len(only.Turns) != 1 || only.Turns[0].ThreadID != "kept" {
		t.Errorf("of bob: %+v", only)
	}
	if only := jsonOf[turnsReport](t, "turns", "--redis", url, "--search", "KEP", "--node", rows["kept"].Owner); len(only.Turns) != 1 || only.Turns[0].ThreadID != "kept" {
		t.Errorf("found: %+v", only)
	}
	if none := jsonOf[turnsReport](t, "turns", "--redis", url, "--user", "nobody"); none.Turns == nil || len(none.Turns) != 0 {
		t.Errorf("of nobody: %+v", none)
	}
	out, err := runCommand(t, "turns", "--redis", url)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(out), "\n")
	if len(lines) != 4 || !strings.HasPrefix(lines[0], "USER") {
		t.Fatalf("table:\n%s", out)
	}
	if !regexp.MustCompile(`grace +\S+ +(9m5\ds|10m) `).MatchString(out) {
		t.Errorf("the table does not tell what is left of the grace:\n%s", out)
	}
	for _, want := range []string{`"left alone"`, "preserve", rows["kept"].Owner} {
		if !strings.Contains(out, want) {
			t.Errorf("the table does not tell %q:\n%s", want, out)
		}
	}
}

func TestNodesListsNodesAndTheReaper(t *testing.T) {
	addr := startRedis(t)
	url := "redis://" + addr
	a := startNode(t, "--redis", url, "--partitions", "8")
	b := startNode(t, "--redis", url, "--partitions", "8")
	c := a.dial()
	c.send(`{"command":"chat_message","data":{"thread_id":"t1",` + waitingTurn + `}}`)
	c.until("the approval", ofType("tool_approval_request"))
	d := b.dial()
	d.send(`{"command":"follow","data":{"thread_id":"t1"}}`)
	d.until("the acknowledgement", func(m map[string]any) bool { return m["message"] == "Following" })

	// A node that has been gone for long, and one whose lease has just run out.
	rdb := redis.NewClient(&redis.Options{Addr: addr})
	defer rdb.Close()
	log, err := eventlog.Open(t.Context(), rdb, eventlog.Options{Partitions: 8})
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	if err := log.Resign(t.Context(), "n-gone"); err != nil {
		t.Fatal(err)
	}

	var report nodesReport
	byAddress := map[string]listedNode{}
	await(t, "addresses, the burial and a reaper", func() bool {
		report = jsonOf[nodesReport](t, "nodes", "--redis", url)
		buried := false
		for _, n := range report.Nodes {
			byAddress[n.Address] = n
			buried = buried || n.Node == "n-gone" && n.State == "buried"
		}
		return buried && byAddress[a.addr].Node != "" && byAddress[b.addr].Node != "" && report.Reaper != nil
	})
	if n := byAddress[a.addr]; n.State != "alive" || n.Turns != 1 || n.Viewing != 1 || n.Version == "" || n.StartedAt == nil || n.LeaseUntil == nil || n.DeadSince != nil {
		t.Errorf("owner: %+v", n)
	}
	if n := byAddress[b.addr]; n.State != "alive" || n.Turns != 0 || n.Viewing != 1 {
		t.Errorf("viewer's node: %+v", n)
	}
	if left := byAddress[a.addr].LeaseUntil.Sub(report.Now); left <= 0 || left > 10*time.Second {
		t.Errorf("the lease runs for %s", left)
	}
	r := report.Reaper
	if (r.Node != byAddress[a.addr].Node && r.Node != byAddress[b.addr].Node) || r.Term < 1 || r.LeaseUntil.Sub(report.Now) > eventlog.ReaperLease {
		t.Errorf("reaper: %+v", r)
	}
	out, err := runCommand(t, "nodes", "--redis", url)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"NODE", a.addr, b.addr, "alive", "n-gone", "buried", " ago", "reaper: " + r.Node + " leads, term " + strconv.FormatInt(r.Term, 10)} {
		if !strings.Contains(out, want) {
			t.Errorf("the table does not tell %q:\n%s", want, out)
		}
	}
}

func TestNodeStatesInWords(t *testing.T) {
	now := time.Now()
	past, ahead := now.Add(-3*time.Second), now.Add(7*time.Second)
	var out strings.Builder
	report := nodesReport{Now: now, Nodes: []listedNode{
		{Node: "n-1", State: "alive", LeaseUntil: &ahead}, {Node: "n-2", State: "late", LeaseUntil: &past}, {Node: "n-3", State: "dead", DeadSince: &past},
	}}
	if err := report.table(term.Fixed(&out, 0, false)); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"7s left", "3s past", "3s ago", "reaper: nobody leads"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q in\n%s", want, out.String())
		}
	}
	for _, row := range []struct {
		state eventlog.NodeState
		want  string
	}{
		{eventlog.NodeState{}, "alive"}, {eventlog.NodeState{Past: true}, "late"},
		{eventlog.NodeState{Past: true, Dead: true}, "dead"}, {eventlog.NodeState{Past: true, Dead: true, Buried: true}, "buried"},
	} {
		if got := row.state.State(); got != row.want {
			t.Errorf("%+v is %s, want %s", row.state, got, row.want)
		}
	}
}

func TestInspectingSaysWhatIsMissing(t *testing.T) {
	empty, locked := startRedis(t), startRedis(t, "--requirepass", "hunter2")
	nobody := "127.0.0.1:" + strconv.Itoa(freePort(t))
	rows := []struct {
		name string
		args []string
		want []string
	}{
		{"no redis", nil, []string{"redis.url is empty", "--redis redis://", "embedded Redis of another process cannot be read"}},
		{"no URL", []string{"--redis", "localhost"}, []string{"redis.url", "localhost"}},
		{"nobody there", []string{"--redis", "redis://" + nobody}, []string{"does not answer", nobody}},
		{"never used", []string{"--redis", "redis://" + empty}, []string{"no node has ever used it"}},
		{"password", []string{"--redis", "redis://" + locked}, []string{"wants a password"}},
		{"other flag of serve", []string{"--listen", ":80"}, []string{"unknown flag --listen"}},
		{"argument", []string{"t1"}, []string{"t1"}},
	}
	for _, command := range []string{"turns", "nodes"} {
		for _, row := range rows {
			_, err := runCommand(t, append([]string{command}, row.args...)...)
			if err == nil {
				t.Errorf("%s, %s: was accepted", command, row.name)
				continue
			}
			for _, want := range row.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("%s, %s: %q does not mention %q", command, row.name, err, want)
				}
			}
		}
	}
	rdb := redis.NewClient(&redis.Options{Addr: empty})
	defer rdb.Close()
	if keys := rdb.Keys(t.Context(), "*").Val(); len(keys) > 0 {
		t.Errorf("looking wrote %v", keys)
	}
}

func TestSpans(t *testing.T) {
	for d, want := range map[time.Duration]string{
		-time.Second: "0s", 1234 * time.Millisecond: "1.2s", 75*time.Second + 300*time.Millisecond: "1m15s", 5 * time.Minute: "5m", 26*time.Hour + 90*time.Second: "26h2m",
	} {
		if got := span(d); got != want {
			t.Errorf("%s: %s, want %s", d, got, want)
		}
	}
}
