package doctor_test

import (
	"context"
	"fmt"
	"net"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"go.uber.org/goleak"

	"turnlog/cmd/turnlog/doctor"
	"turnlog/eventlog"
	"turnlog/internal/netproxy"
	"turnlog/internal/redistest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func client(t *testing.T, addr, user string) *redis.Client {
	t.Helper()
	o := &redis.Options{Addr: addr, MaxRetries: -1, ContextTimeoutEnabled: true}
	if user != "" {
		o.Username, o.Password = user, "x"
	}
	rdb := redis.NewClient(o)
	t.Cleanup(func() { rdb.Close() })
	return rdb
}

// examine looks at a server and returns its checks by name.
func examine(t *testing.T, rdb *redis.Client, o doctor.Options) (doctor.Facts, map[string]doctor.Check) {
	t.Helper()
	facts, err := doctor.Collect(t.Context(), rdb, o)
	if err != nil {
		t.Fatal(err)
	}
	checks := map[string]doctor.Check{}
	for _, c := range doctor.Judge(facts) {
		checks[c.Name] = c
	}
	return facts, checks
}

func is(t *testing.T, checks map[string]doctor.Check, name string, want doctor.Status, says string) {
	t.Helper()
	if c := checks[name]; c.Status != want || !strings.Contains(c.Found+" "+c.Do, says) {
		t.Errorf("%s: %+v, want %s with %q", name, c, want, says)
	}
}

func TestRealServersAreJudgedRight(t *testing.T) {
	for _, row := range []struct {
		name string
		args []string
		want map[string]doctor.Status
		says map[string]string
	}{
		{"all well", []string{"--appendonly", "yes", "--maxmemory", "200mb"},
			map[string]doctor.Status{
				"version": doctor.OK, "topology": doctor.OK, "persistence": doctor.OK, "memory": doctor.OK, "eviction": doctor.OK, "scripts": doctor.OK,
				"rights": doctor.OK, "pubsub": doctor.OK, "streams": doctor.OK, "clients": doctor.OK, "partitions": doctor.OK, "nodes": doctor.OK,
			},
			map[string]string{"persistence": "AOF, everysec", "version": "Redis 7", "rights": "all commands are allowed", "memory": "of 200.0 MiB", "topology": "without replicas"}},
		{"no AOF", []string{"--appendonly", "no"}, map[string]doctor.Status{"persistence": doctor.Fail, "memory": doctor.Warn}, map[string]string{"persistence": "none"}},
		{"snapshots", []string{"--save", "3600 1"}, map[string]doctor.Status{"persistence": doctor.Warn}, map[string]string{"persistence": "3600 1"}},
		{"allkeys-lru", []string{"--maxmemory", "200mb", "--maxmemory-policy", "allkeys-lru"}, map[string]doctor.Status{"eviction": doctor.Fail}, nil},
		{"beyond its limit", []string{"--maxmemory", "500kb"}, map[string]doctor.Status{"memory": doctor.Fail}, nil},
		{"small buffers", []string{"--client-output-buffer-limit", "pubsub 1mb 1mb 10"}, map[string]doctor.Status{"pubsub": doctor.Fail}, nil},
		{"streams never trimmed", []string{"--stream-node-max-entries", "0", "--stream-node-max-bytes", "0"}, map[string]doctor.Status{"streams": doctor.Warn}, nil},
		{"a cluster", []string{"--cluster-enabled", "yes"}, map[string]doctor.Status{"topology": doctor.Fail}, map[string]string{"topology": "Cluster"}},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			addr, _ := redistest.Launch(t, row.args...)
			rdb := client(t, addr, "")
			_, checks := examine(t, rdb, doctor.Options{Pings: 10})
			for name, want := range row.want {
				is(t, checks, name, want, row.says[name])
			}
			if keys := rdb.Keys(t.Context(), "*").Val(); len(keys) > 0 {
				t.Errorf("looking wrote %v", keys)
			}
		})
	}
}

func TestAUserWithoutACommandIsToldWhich(t *testing.T) {
	addr := redistest.Start(t)
	root := client(t, addr, "")
	for _, row := range []struct {
		name, rules string
		rights      doctor.Status
		says        string
		others      map[string]doctor.Status
	}{
		{"everything", "~turnlog:* &turnlog:* +@all", doctor.OK, "all commands", map[string]doctor.Status{"scripts": doctor.OK, "pubsub": doctor.OK}},
		{"what the documentation says and nothing else", "~turnlog:* &turnlog:* +@all -@admin -@dangerous", doctor.OK, "not needed: INFO, CONFIG GET", map[string]doctor.Status{"scripts": doctor.OK, "memory": doctor.OK}},
		{"no XADD", "~turnlog:* &turnlog:* +@all -xadd", doctor.Fail, "+xadd", nil},
		{"no EVALSHA", "~turnlog:* &turnlog:* +@all -evalsha", doctor.Fail, "+evalsha", nil},
		{"no Lua", "~turnlog:* &turnlog:* +@all -@scripting", doctor.Fail, "EVAL", map[string]doctor.Status{"scripts": doctor.Fail}},
		{"other keys", "~other:* &turnlog:* +@all", doctor.Fail, "~turnlog:*", map[string]doctor.Status{"scripts": doctor.Fail}},
		{"no keys of nodes", "~turnlog:{* &turnlog:* +@all", doctor.Fail, "HSET", nil},
		{"read only", "~turnlog:* &turnlog:* +@all -@write", doctor.Fail, "ZADD", nil},
		{"no channels", "~turnlog:* resetchannels +@all", doctor.Fail, "PUBLISH", map[string]doctor.Status{"pubsub": doctor.Fail}},
		{"no transactions", "~turnlog:* &turnlog:* +@all -exec", doctor.Fail, "+@transaction", nil},
		{"no way out of a transaction", "~turnlog:* &turnlog:* +@all -discard", doctor.Fail, "+@transaction", nil},
		{"no MULTI", "~turnlog:* &turnlog:* +@all -multi", doctor.Fail, "+@transaction", nil},
	} {
		name := "u" + strings.ReplaceAll(row.name, " ", "-")
		set := []any{"ACL", "SETUSER", name, "reset", "on", ">x"}
		for _, rule := range strings.Fields(row.rules) {
			set = append(set, rule)
		}
		if err := root.Do(t.Context(), set...).Err(); err != nil {
			t.Fatalf("%s: %v", row.name, err)
		}
		_, checks := examine(t, client(t, addr, name), doctor.Options{Pings: 1})
		is(t, checks, "rights", row.rights, row.says)
		for other, want := range row.others {
			is(t, checks, other, want, "")
		}
		if keys := root.Keys(t.Context(), "*").Val(); len(keys) > 0 {
			t.Fatalf("%s: looking wrote %v", row.name, keys)
		}
		if err := root.Do(t.Context(), "ACL", "DELUSER", name).Err(); err != nil {
			t.Fatal(err)
		}
	}
}

func TestReplicasAreSeenFromBothSides(t *testing.T) {
	master, _ := redistest.Launch(t)
	host, port, err := net.SplitHostPort(master)
	if err != nil {
		t.Fatal(err)
	}
	replica, _ := redistest.Launch(t, "--replicaof", host+" "+port)
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	rdb := client(t, master, "")
	for !strings.Contains(rdb.Info(ctx, "replication").Val(), "state=online") {
		if ctx.Err() != nil {
			t.Fatal("the replica never was in step")
		}
	}
	_, checks := examine(t, rdb, doctor.Options{Pings: 1})
	is(t, checks, "topology", doctor.OK, "a master with 1 replica")
	is(t, checks, "persistence", doctor.Warn, "empties its replicas")
	_, checks = examine(t, client(t, replica, ""), doctor.Options{Pings: 1})
	is(t, checks, "topology", doctor.Fail, "a replica of 127.0.0.1:"+port)
}

func TestASentinelIsNoticed(t *testing.T) {
	addr := redistest.Start(t)
	rdb := client(t, addr, "")
	ps := rdb.Subscribe(t.Context(), "__sentinel__:hello") // what a Sentinel does with a server that it watches
	defer ps.Close()
	if _, err := ps.Receive(t.Context()); err != nil {
		t.Fatal(err)
	}
	_, checks := examine(t, rdb, doctor.Options{Pings: 1})
	is(t, checks, "topology", doctor.Warn, "watched by 1 Sentinel")
}

func TestASlowNetworkIsMeasured(t *testing.T) {
	addr := redistest.Start(t)
	proxy, err := netproxy.Start(addr, netproxy.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer proxy.Close()
	proxy.Delay(20 * time.Millisecond) // each way
	facts, checks := examine(t, client(t, proxy.Addr(), ""), doctor.Options{Pings: 5})
	if len(facts.Pings) != 5 || facts.Pings[0] < 40*time.Millisecond {
		t.Errorf("pings %v", facts.Pings)
	}
	if c := checks["latency"]; c.Status == doctor.OK || !strings.Contains(c.Found, "5 pings") {
		t.Errorf("%+v", c)
	}
	if c := facts.Clock; c.Ahead.Abs() > c.Give+time.Second {
		t.Errorf("a slow network is taken for a wrong clock: %s", c)
	}
}

func TestASilentRedisIsBounded(t *testing.T) {
	addr := redistest.Start(t)
	proxy, err := netproxy.Start(addr, netproxy.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer proxy.Close()
	proxy.BlackHole()
	facts, err := doctor.Collect(t.Context(), client(t, proxy.Addr(), ""), doctor.Options{Timeout: 100 * time.Millisecond})
	if err != nil || facts.Unreachable == "" {
		t.Errorf("%v, %+v", err, facts)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := doctor.Collect(ctx, client(t, addr, ""), doctor.Options{}); err == nil {
		t.Error("an end that was asked for is no error")
	}
}

func TestWhatNodesLeftIsRead(t *testing.T) {
	addr := redistest.Start(t)
	rdb := client(t, addr, "")
	log, err := eventlog.Open(t.Context(), rdb, eventlog.Options{Partitions: 8})
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	for i, version := range []string{"v1", "v2"} {
		node := fmt.Sprintf("n-%d", i)
		if _, err := log.Heartbeat(t.Context(), node); err != nil {
			t.Fatal(err)
		}
		if err := log.Register(t.Context(), eventlog.NodeInfo{ID: node, Version: version}); err != nil {
			t.Fatal(err)
		}
	}
	facts, checks := examine(t, rdb, doctor.Options{Pings: 1, Partitions: 64, Explicit: true})
	is(t, checks, "partitions", doctor.Fail, "Set partitions to 8")
	is(t, checks, "nodes", doctor.Warn, "2 nodes alive, nobody leads the reaper, versions v1, v2")
	if facts.Loaded < 1 || facts.Loaded >= facts.Scripts {
		t.Errorf("%d of %d scripts", facts.Loaded, facts.Scripts)
	}
	if err := rdb.Set(t.Context(), "turnlog:{nodes}:format", "99 64", 0).Err(); err != nil {
		t.Fatal(err)
	}
	_, checks = examine(t, rdb, doctor.Options{Pings: 1})
	is(t, checks, "partitions", doctor.Fail, "version 99")
}

// TestEveryCommandOfAScriptIsProbed holds the list against the scripts' own text.
func TestEveryCommandOfAScriptIsProbed(t *testing.T) {
	var probed []string
	facts, _ := examine(t, client(t, redistest.Start(t), ""), doctor.Options{Pings: 1})
	for _, r := range facts.Rights {
		if r.Refused != "" {
			t.Errorf("%s is refused: %s", r.Command, r.Refused)
		}
		probed = append(probed, r.Command)
	}
	if len(eventlog.Scripts()) < 20 {
		t.Errorf("%d scripts", len(eventlog.Scripts()))
	}
	for _, s := range eventlog.Scripts() {
		for _, command := range s.Commands {
			if !slices.Contains(probed, command) {
				t.Errorf("%s calls %s, which is not probed", s.Name, command)
			}
		}
	}
}
