package main

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"

	"turnlog/cmd/turnlog/doctor"
)

// diagnose runs turnlog doctor --json.
func diagnose(t *testing.T, args ...string) (d diagnosis, code int) {
	t.Helper()
	out, err := runCommand(t, append([]string{"doctor", "--json"}, args...)...)
	if jsonErr := json.Unmarshal([]byte(out), &d); jsonErr != nil {
		t.Fatalf("%v, %v: %s", err, jsonErr, out)
	}
	return d, exitCode(err)
}

func (d diagnosis) check(name string) doctor.Check {
	for _, c := range d.Checks {
		if c.Name == name {
			return c
		}
	}
	return doctor.Check{}
}

func TestDoctorsExitCodeIsTheWorstCheck(t *testing.T) {
	well := startRedis(t, "--appendonly", "yes", "--maxmemory", "200mb")
	n := startNode(t, "--redis", "redis://"+well)
	await(t, "everything is well", func() bool { // until the reaper leads, and while this machine is slow, it is not
		_, code := diagnose(t, "--redis", "redis://"+well, "--url", n.addr, "--pings", "5")
		return code == 0
	})
	unlimited := startRedis(t, "--appendonly", "yes")
	await(t, "only the limit is missing", func() bool {
		d, code := diagnose(t, "--redis", "redis://"+unlimited, "--pings", "5")
		return code == 1 && d.Status == doctor.Warn && d.check("memory").Status == doctor.Warn
	})
	d, code := diagnose(t, "--redis", "redis://:hunter2@"+startRedis(t, "--requirepass", "hunter2"))
	if code != 2 || d.Status != doctor.Fail || d.check("persistence").Status != doctor.Fail || strings.Contains(d.Redis, "hunter2") {
		t.Errorf("exit code %d: %+v", code, d)
	}
	d, code = diagnose(t, "--redis", "redis://127.0.0.1:"+strconv.Itoa(freePort(t)))
	if code != 2 || len(d.Checks) != 1 || !strings.Contains(d.check("connection").Found, "refused") {
		t.Errorf("exit code %d: %+v", code, d)
	}
	d, code = diagnose(t, "--redis", "redis://"+startRedis(t, "--requirepass", "hunter2"))
	if code != 2 || !strings.Contains(d.check("connection").Found, "wants a password") {
		t.Errorf("exit code %d: %+v", code, d)
	}
}

func TestDoctorExplains(t *testing.T) {
	url := "redis://" + startRedis(t)
	out, err := runCommand(t, "doctor", "--redis", url)
	if exitCode(err) != 2 || err.Error() != "" {
		t.Errorf("%v", err)
	}
	for _, want := range []string{"fail  persistence", "CONFIG SET appendonly yes", "ok    version", " ok, ", " fail\n"} {
		if !strings.Contains(out, want) {
			t.Errorf("no %q in\n%s", want, out)
		}
	}
	if strings.Contains(out, "tested with Redis 7") || strings.Contains(out, "\x1b[") {
		t.Errorf("too much:\n%s", out)
	}
	out, _ = runCommand(t, "doctor", "--redis", url, "--explain", "--color", "always")
	if !strings.Contains(out, "tested with Redis 7") || !strings.Contains(out, "\x1b[31mfail\x1b[0m  persistence") {
		t.Errorf("too little:\n%s", out)
	}
	for _, row := range []struct {
		args []string
		want string
	}{
		{nil, "redis.url is empty"}, {[]string{"--redis", url, "--pings", "0"}, "--pings"}, {[]string{"--redis", url, "--url", "ftp://x"}, "scheme"}, {[]string{"x"}, "x"},
	} {
		if _, err := runCommand(t, append([]string{"doctor"}, row.args...)...); exitCode(err) != 1 || !strings.Contains(err.Error(), row.want) {
			t.Errorf("%v: %v", row.args, err)
		}
	}
}

func TestDoctorComparesPartitionsWithTheConfiguration(t *testing.T) {
	url := "redis://" + startRedis(t)
	startNode(t, "--redis", url, "--partitions", "8")
	for _, row := range []struct {
		args []string
		want doctor.Status
	}{{nil, doctor.Warn}, {[]string{"--partitions", "8"}, doctor.OK}, {[]string{"--partitions", "16"}, doctor.Fail}} {
		d, _ := diagnose(t, append([]string{"--redis", url, "--pings", "1"}, row.args...)...)
		if c := d.check("partitions"); c.Status != row.want {
			t.Errorf("%v: %+v", row.args, c)
		}
		if c := d.check("nodes"); !strings.Contains(c.Found, "1 node alive") {
			t.Errorf("%+v", c)
		}
	}
}

// TestEveryCommandThatANodeCallsIsProbed asks Redis what a node called, and holds the
// doctor's list against it.
func TestEveryCommandThatANodeCallsIsProbed(t *testing.T) {
	addr := startRedis(t)
	url := "redis://" + addr
	n, other := startNode(t, "--redis", url), startNode(t, "--redis", url)
	c, d := n.dial(), other.dial()
	c.send(`{"command":"chat_message","data":{"thread_id":"t1",` + waitingTurn + `}}`)
	seen := c.until("the approval", ofType("tool_approval_request"))
	d.send(`{"command":"resume_chat","data":{"thread_id":"t1","full":true}}`)
	d.until("the approval", ofType("tool_approval_request"))
	d.send(`{"type":"tool_approval_response","approval_id":"` + seen[len(seen)-1]["approval_id"].(string) + `","decision":"allow"}`)
	c.until("the end", ofType("turn_finished"))
	for _, args := range [][]string{{"inspect", "t1"}, {"threads"}, {"turns"}, {"nodes"}, {"tail", "t1", "--no-follow"}} {
		if out, err := runCommand(t, append(args, "--redis", url)...); err != nil {
			t.Errorf("%v: %v, %s", args, err, out)
		}
	}
	n.delete("/v1/threads/t1")
	rdb := redis.NewClient(&redis.Options{Addr: addr})
	defer rdb.Close()
	stats, err := rdb.Info(t.Context(), "commandstats").Result()
	if err != nil {
		t.Fatal(err)
	}
	facts, err := doctor.Collect(t.Context(), rdb, doctor.Options{Pings: 1})
	if err != nil {
		t.Fatal(err)
	}
	known := []string{"HELLO", "CLIENT", "MULTI", "EXEC", "SUBSCRIBE", "UNSUBSCRIBE", "INFO"} // of the connection; probed elsewhere or optional
	for _, r := range facts.Rights {
		known = append(known, strings.Fields(r.Command)[0])
	}
	called := 0
	for line := range strings.Lines(stats) {
		name, found := strings.CutPrefix(line, "cmdstat_")
		if !found {
			continue
		}
		called++
		name, _, _ = strings.Cut(strings.ToUpper(name), ":")
		name, _, _ = strings.Cut(name, "|")
		if !slices.Contains(known, name) {
			t.Errorf("a node calls %s, which the doctor does not probe", name)
		}
	}
	if called < 20 {
		t.Errorf("only %d commands were called", called)
	}
}
