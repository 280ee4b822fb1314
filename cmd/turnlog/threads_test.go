package main

import (
	"fmt"
	"strings"
	"testing"

	"turnlog/httpapi/admin"
)

func TestThreadsListsThemByLastActivityFromRedisAndFromANode(t *testing.T) {
	url := "redis://" + startRedis(t)
	n := startNode(t, "--redis", url)
	c := n.dialAs("?user=ann")
	for i := range 25 {
		c.send(chatMessage(fmt.Sprintf("t%02d", i), 1, 0))
		c.until("the end", ofType("turn_finished"))
	}
	for _, where := range [][]string{{"--redis", url}, {"--url", n.addr}} {
		listing := func(more ...string) threadListing {
			return jsonOf[threadListing](t, append(append([]string{"threads", "--user", "ann"}, where...), more...)...)
		}
		newest := listing()
		if len(newest.Threads) != newestThreads || !newest.More || newest.User != "ann" || newest.Threads[0].ThreadID != "t24" || newest.Threads[1].ThreadID != "t23" {
			t.Errorf("%v: %d threads, %+v", where, len(newest.Threads), newest.Threads[0])
		}
		if one := newest.Threads[0]; one.Status != "finished" || one.Outcome != "completed" || one.TurnID == "" || one.LastSeq < 3 || newest.Now.Sub(one.LastActivity).Abs().Minutes() > 1 {
			t.Errorf("%v: %+v at %s", where, one, newest.Now)
		}
		if all := listing("--all"); len(all.Threads) != 25 || all.More || all.Threads[24].ThreadID != "t00" {
			t.Errorf("%v: all are %d", where, len(all.Threads))
		}
		if few := listing("--limit", "3"); len(few.Threads) != 3 || !few.More {
			t.Errorf("%v: three are %d", where, len(few.Threads))
		}
		if none := jsonOf[threadListing](t, append([]string{"threads", "--user", "nobody"}, where...)...); none.Threads == nil || len(none.Threads) != 0 {
			t.Errorf("%v: of nobody: %+v", where, none)
		}
		out, err := runCommand(t, append([]string{"threads"}, where...)...)
		if err != nil || out != "user 1 has no threads; --user NAME names another user\n" {
			t.Errorf("%v: %q, %v", where, out, err)
		}
	}
	for _, args := range [][]string{{"--limit", "0"}, {"--limit", "3", "--all"}, {"word"}} {
		if out, err := runCommand(t, append([]string{"threads", "--redis", url}, args...)...); err == nil {
			t.Errorf("%v was accepted: %s", args, out)
		}
	}
}

func TestInspectShowsOneThreadFromRedisAndFromANode(t *testing.T) {
	url := "redis://" + startRedis(t)
	n := startNode(t, "--redis", url)
	c := n.dial()
	c.send(`{"command":"chat_message","data":{"thread_id":"t1",` + waitingTurn + `}}`)
	c.until("the approval", ofType("tool_approval_request"))
	for _, where := range [][]string{{"--redis", url}, {"--url", "http://" + n.addr}} {
		facts := jsonOf[admin.Thread](t, append([]string{"inspect", "t1"}, where...)...)
		if facts.Status != "running" || facts.Turn == nil || facts.Turn.Owner == "" || len(facts.Requests) != 1 || len(facts.Viewers) != 1 || facts.Log.Bytes == 0 || len(facts.Keys) == 0 {
			t.Errorf("%v: %+v", where, facts)
		}
		out, err := runCommand(t, append([]string{"inspect", "t1"}, where...)...)
		if err != nil {
			t.Fatal(err)
		}
		for _, want := range []string{"running (watched on 1 node)", facts.Turn.TurnID, facts.Turn.Owner, facts.Requests[0].RequestID, "tool_approval", "T:log", " HGETALL 'turnlog:{", facts.Log.Epoch} {
			if !strings.Contains(out, want) {
				t.Errorf("%v: no %q in\n%s", where, want, out)
			}
		}
	}
	out, err := runCommand(t, "inspect", "t1", "--redis", url)
	if err != nil || !strings.Contains(out, "redis-cli -u '"+url+"' XRANGE") {
		t.Errorf("%v, the commands do not name the Redis:\n%s", err, out)
	}
	n.delete("/v1/threads/t1")
	if out, err := runCommand(t, "inspect", "t1", "--redis", url); err != nil || !strings.Contains(out, "deleted") || strings.Contains(out, "HGETALL 'turnlog:{0}:1:running") {
		t.Errorf("%v: %s", err, out)
	}
	if _, err := runCommand(t, "inspect", "nope", "--redis", url); exitCode(err) != 1 || !strings.Contains(err.Error(), "no thread nope") {
		t.Errorf("%v", err)
	}
}

func TestAnyNameReachesItsThread(t *testing.T) {
	url := "redis://" + startRedis(t)
	n := startNode(t, "--redis", url)
	const user, thread = "ann@example.com", "a/b c%2F?d=é"
	c := n.dialAs("?user=" + user)
	c.send(chatMessage(thread, 1, 0))
	c.until("the end", ofType("turn_finished"))
	for _, where := range [][]string{{"--redis", url}, {"--url", n.addr}} {
		if facts := jsonOf[admin.Thread](t, append([]string{"inspect", thread, "--user", user}, where...)...); facts.ThreadID != thread || facts.User != user {
			t.Errorf("%v: %+v", where, facts)
		}
		out, err := runCommand(t, append([]string{"tail", thread, "--user", user, "--no-follow"}, where...)...)
		if err != nil || !strings.Contains(out, "turn_finished") {
			t.Errorf("%v: %v, %s", where, err, out)
		}
	}
}

func TestANodesAnswersAreToldInSentences(t *testing.T) {
	t.Setenv("TURNLOG_AUTH_SECRET", strings.Repeat("s", 40)) // for turnlog token
	t.Setenv("TURNLOG_TOKEN", "")
	n := startNode(t, "--config", configFile(t, "turnlog.yaml", "auth: {mode: jwt, secret: "+strings.Repeat("s", 40)+"}"))
	token := func(args ...string) string {
		out, err := runCommand(t, append([]string{"token", "--user", "root"}, args...)...)
		if err != nil {
			t.Fatal(err)
		}
		return strings.TrimSpace(out)
	}
	for _, row := range []struct{ token, want string }{{"", "wants a token"}, {token(), "no admin scope"}} {
		args := []string{"threads", "--url", n.addr}
		if row.token != "" {
			args = append(args, "--token", row.token)
		}
		if _, err := runCommand(t, args...); err == nil || !strings.Contains(err.Error(), row.want) {
			t.Errorf("%v does not mention %q", err, row.want)
		}
	}
	t.Setenv("TURNLOG_TOKEN", token("--scope", "turnlog:admin"))
	if out, err := runCommand(t, "threads", "--url", n.addr); err != nil || !strings.Contains(out, "no threads") {
		t.Errorf("%v: %s", err, out)
	}
}

func TestShellsCompleteCommandsThreadsAndNodes(t *testing.T) {
	url := "redis://" + startRedis(t)
	n := startNode(t, "--redis", url)
	c := n.dial()
	c.send(chatMessage("groceries", 1, 0))
	c.until("the end", ofType("turn_finished"))
	await(t, "the node is listed", func() bool { return len(jsonOf[nodesReport](t, "nodes", "--redis", url).Nodes) == 1 })
	for _, row := range []struct {
		words []string
		want  string
	}{
		{[]string{"ins"}, "inspect\t"},
		{[]string{"tail", "--redis", url, ""}, "groceries\tcompleted"},
		{[]string{"inspect", "--url", n.addr, ""}, "groceries\tcompleted"},
		{[]string{"turns", "--redis", url, "--node", ""}, "n-"},
		{[]string{"nodes", "--color", ""}, "never"},
		{[]string{"completion", ""}, "fish"},
	} {
		out, err := runCommand(t, append([]string{"__complete"}, row.words...)...)
		if err != nil || !strings.Contains(out, row.want) {
			t.Errorf("%v: %v, %s", row.words, err, out)
		}
	}
	for _, words := range [][]string{{"tail", ""}, {"tail", "--redis", "redis://127.0.0.1:1", ""}, {"tail", "groceries", "--redis", url, ""}} {
		out, err := runCommand(t, append([]string{"__complete"}, words...)...)
		if err != nil || !strings.HasPrefix(out, ":") { // nothing but the directive
			t.Errorf("%v: %v, %q", words, err, out)
		}
	}
	for _, shell := range []string{"bash", "zsh", "fish"} {
		if out, err := runCommand(t, "completion", shell); err != nil || !strings.Contains(out, "turnlog") {
			t.Errorf("%s: %v, %d bytes", shell, err, len(out))
		}
	}
	if _, err := runCommand(t, "completion", "tcsh"); err == nil {
		t.Error("tcsh was accepted")
	}
}
