package doctor_test

import (
	"strings"
	"testing"
	"time"

	"turnlog/cmd/turnlog/doctor"
)

// healthy are the facts of a Redis with nothing wrong.
func healthy() doctor.Facts {
	pings := make([]time.Duration, 50)
	for i := range pings {
		pings[i] = time.Duration(200+i) * time.Microsecond
	}
	return doctor.Facts{
		Info: map[string]string{
			"redis_version": "7.2.4", "redis_mode": "standalone", "role": "master", "connected_slaves": "0", "aof_enabled": "1",
			"aof_last_write_status": "ok", "rdb_last_bgsave_status": "ok", "used_memory": "1048576", "maxmemory": "1073741824",
			"connected_clients": "12",
		},
		Config: map[string]string{
			"appendfsync": "everysec", "save": "", "maxmemory-policy": "noeviction", "stream-node-max-entries": "100", "stream-node-max-bytes": "4096",
			"client-output-buffer-limit": "normal 0 0 0 slave 268435456 67108864 60 pubsub 33554432 8388608 60",
			"proto-max-bulk-len":         "536870912", "maxclients": "10000", "stop-writes-on-bgsave-error": "yes",
		},
		Pings: pings, Clock: doctor.Clock{Name: "this machine"}, Scripts: 27, Loaded: 27, Databases: 1,
		Rights:     []doctor.Right{{Command: "XADD"}, {Command: "INFO", Optional: true}},
		Partitions: doctor.Partitions{Stored: 64, Configured: 64},
		Fleet:      doctor.Fleet{Known: true, Alive: 3, Versions: []string{"v1"}, Leader: "n-1"},
	}
}

func TestAHealthyRedisIsAllRight(t *testing.T) {
	checks := doctor.Judge(healthy())
	for _, c := range checks {
		if c.Status != doctor.OK || c.Found == "" || c.Means == "" || c.Do != "" {
			t.Errorf("%+v", c)
		}
	}
	if len(checks) != 14 || doctor.Worst(checks) != doctor.OK || doctor.OK.ExitCode() != 0 {
		t.Errorf("%d checks, %s", len(checks), doctor.Worst(checks))
	}
}

func TestEachIllnessIsFound(t *testing.T) {
	info := func(pairs ...string) func(*doctor.Facts) {
		return func(f *doctor.Facts) {
			for i := 0; i < len(pairs); i += 2 {
				f.Info[pairs[i]] = pairs[i+1]
			}
		}
	}
	config := func(pairs ...string) func(*doctor.Facts) {
		return func(f *doctor.Facts) {
			for i := 0; i < len(pairs); i += 2 {
				f.Config[pairs[i]] = pairs[i+1]
			}
		}
	}
	both := func(all ...func(*doctor.Facts)) func(*doctor.Facts) {
		return func(f *doctor.Facts) {
			for _, one := range all {
				one(f)
			}
		}
	}
	pings := func(all ...time.Duration) func(*doctor.Facts) {
		return func(f *doctor.Facts) { f.Pings = all }
	}
	for _, row := range []struct {
		name, check string
		ill         func(*doctor.Facts)
		want        doctor.Status
		says        string // in what was found or what to do
	}{
		{"too old", "version", info("redis_version", "6.2.14"), doctor.Fail, "Upgrade"},
		{"valkey", "version", info("server_name", "valkey", "valkey_version", "8.0.1"), doctor.OK, "Valkey 8.0.1"},
		{"another server", "version", info("dragonfly_version", "df-v1.2"), doctor.Warn, "nobody has tried"},
		{"no version", "version", info("redis_version", ""), doctor.Warn, "Find out"},
		{"cluster", "topology", info("redis_mode", "cluster"), doctor.Fail, "cluster-enabled"},
		{"sentinel itself", "topology", info("redis_mode", "sentinel"), doctor.Fail, "SENTINEL MASTERS"},
		{"watched by sentinels", "topology", func(f *doctor.Facts) { f.Sentinels = 3 }, doctor.Warn, "3 Sentinels"},
		{"a replica", "topology", info("role", "slave", "master_host", "10.0.0.1", "master_port", "6379"), doctor.Fail, "a replica of 10.0.0.1:6379"},
		{"with a replica", "topology", info("connected_slaves", "1", "slave0", "ip=10.0.0.2,port=6379,state=online,offset=1,lag=1"), doctor.OK, "1 replica"},
		{"a silent replica", "topology", info("connected_slaves", "1", "slave0", "ip=10.0.0.2,port=6379,state=online,offset=1,lag=42"), doctor.Warn, "42 s"},
		{"a replica that is not in step", "topology", info("connected_slaves", "1", "slave0", "ip=10.0.0.2,port=6379,state=wait_bgsave"), doctor.Warn, "wait_bgsave"},
		{"nothing on disk", "persistence", info("aof_enabled", "0"), doctor.Fail, "appendonly yes"},
		{"only replicas", "persistence", info("aof_enabled", "0", "connected_slaves", "1"), doctor.Warn, "empties its replicas"},
		{"snapshots only", "persistence", both(info("aof_enabled", "0"), config("save", "3600 1")), doctor.Warn, `save "3600 1"`},
		{"never flushed", "persistence", config("appendfsync", "no"), doctor.Warn, "everysec"},
		{"always flushed", "persistence", config("appendfsync", "always"), doctor.OK, "always"},
		{"disk full", "persistence", info("aof_last_write_status", "err"), doctor.Fail, "the disk"},
		{"snapshot failed", "persistence", info("rdb_last_bgsave_status", "err"), doctor.Fail, "MISCONF"},
		{"snapshot failed and nobody minds", "persistence", both(info("rdb_last_bgsave_status", "err"), config("stop-writes-on-bgsave-error", "no")), doctor.OK, "AOF"},
		{"loading", "persistence", info("loading", "1"), doctor.Warn, "Wait"},
		{"no AOF and CONFIG hidden", "persistence", both(info("aof_enabled", "0"), func(f *doctor.Facts) { f.Config = nil }), doctor.Warn, "not known"},
		{"no limit", "memory", info("maxmemory", "0"), doctor.Warn, "CONFIG SET maxmemory"},
		{"nearly full", "memory", info("used_memory", "900000000"), doctor.Warn, "(83 %)"},
		{"full", "memory", info("used_memory", "1073741000"), doctor.Fail, "now"},
		{"evicts anything", "eviction", config("maxmemory-policy", "allkeys-lru"), doctor.Fail, "running turns"},
		{"evicts what expires", "eviction", config("maxmemory-policy", "volatile-lru"), doctor.Warn, "finished turns"},
		{"would evict", "eviction", both(config("maxmemory-policy", "allkeys-lru"), info("maxmemory", "0")), doctor.Warn, "once that is set"},
		{"policy from INFO", "eviction", both(func(f *doctor.Facts) { f.Config = nil }, info("maxmemory_policy", "allkeys-lfu")), doctor.Fail, "allkeys-lfu"},
		{"has evicted", "eviction", both(config("maxmemory-policy", "allkeys-lru"), info("evicted_keys", "7")), doctor.Fail, "7 keys evicted"},
		{"far away", "latency", pings(8*time.Millisecond, 9*time.Millisecond, 9*time.Millisecond), doctor.Warn, "same data centre"},
		{"on the moon", "latency", pings(time.Second, 2*time.Second), doctor.Fail, "Move Redis"},
		{"hiccups", "latency", pings(time.Millisecond, time.Millisecond, 150*time.Millisecond), doctor.Warn, "SLOWLOG"},
		{"long hiccups", "latency", pings(time.Millisecond, time.Millisecond, 3*time.Second), doctor.Fail, "SLOWLOG"},
		{"lost pings", "latency", func(f *doctor.Facts) { f.Failed = 2 }, doctor.Fail, "2 without an answer"},
		{"no ping", "latency", func(f *doctor.Facts) { f.Pings, f.Failed = nil, 50 }, doctor.Fail, "none of 50"},
		{"clock behind", "clock", func(f *doctor.Facts) { f.Clock.Ahead = -5 * time.Second }, doctor.Warn, "5s behind Redis"},
		{"clock far ahead", "clock", func(f *doctor.Facts) { f.Clock.Ahead = time.Hour }, doctor.Fail, "ahead of Redis"},
		{"clock within the error", "clock", func(f *doctor.Facts) { f.Clock.Ahead, f.Clock.Give = 3*time.Second, 4*time.Second }, doctor.OK, "in step"},
		{"a node's clock", "clock", func(f *doctor.Facts) { f.Node = &doctor.Clock{Name: "node x", Ahead: -time.Minute, Give: time.Second} }, doctor.Fail, "node x is 59s behind"},
		{"a node that is silent", "clock", func(f *doctor.Facts) { f.Node = &doctor.Clock{Name: "node x", Error: "refused"} }, doctor.Warn, "node x not known: refused"},
		{"no Lua", "scripts", func(f *doctor.Facts) { f.Eval = "NOPERM eval" }, doctor.Fail, "+evalsha"},
		{"fresh", "scripts", func(f *doctor.Facts) { f.Loaded = 3 }, doctor.OK, "3 of 27"},
		{"may not write", "rights", func(f *doctor.Facts) { f.Rights[0].Refused = "NOPERM" }, doctor.Fail, "+xadd"},
		{"may not look", "rights", func(f *doctor.Facts) { f.Rights[1].Refused = "NOPERM" }, doctor.OK, "not needed: INFO"},
		{"no channels", "pubsub", func(f *doctor.Facts) { f.Subscribe = "NOPERM channel" }, doctor.Fail, "&turnlog:*"},
		{"small buffers", "pubsub", config("client-output-buffer-limit", "normal 0 0 0 pubsub 4194304 0 0"), doctor.Warn, "32mb"},
		{"tiny buffers", "pubsub", config("client-output-buffer-limit", "pubsub 33554432 65536 60"), doctor.Fail, "32mb"},
		{"unlimited buffers", "pubsub", config("client-output-buffer-limit", "pubsub 0 0 0"), doctor.OK, "none"},
		{"cut off", "pubsub", info("client_output_buffer_limit_disconnections", "4"), doctor.Warn, "4 clients cut off"},
		{"streams never trimmed", "streams", config("stream-node-max-entries", "0", "stream-node-max-bytes", "0"), doctor.Warn, "replay.max_frames"},
		{"small values", "streams", config("proto-max-bulk-len", "1048576"), doctor.Warn, "limits.inbound_bytes"},
		{"crowded", "clients", info("connected_clients", "9000"), doctor.Warn, "maxclients"},
		{"refused clients", "clients", info("rejected_connections", "3"), doctor.Warn, "3 refused"},
		{"other format", "partitions", func(f *doctor.Facts) { f.Partitions.Error = "version 9" }, doctor.Fail, "version 9"},
		{"never used", "partitions", func(f *doctor.Facts) { f.Partitions.Stored = 0 }, doctor.OK, "first one writes 64"},
		{"other partitions", "partitions", func(f *doctor.Facts) { f.Partitions = doctor.Partitions{Stored: 8, Configured: 16, Explicit: true} }, doctor.Fail, "Set partitions to 8"},
		{"partitions not configured here", "partitions", func(f *doctor.Facts) { f.Partitions = doctor.Partitions{Stored: 8, Configured: 64} }, doctor.Warn, "partitions: 8"},
		{"shared", "partitions", func(f *doctor.Facts) { f.Databases = 2 }, doctor.Warn, "of its own"},
		{"nobody", "nodes", func(f *doctor.Facts) { f.Fleet = doctor.Fleet{Known: true} }, doctor.OK, "none is running"},
		{"nodes cannot be read", "nodes", func(f *doctor.Facts) { f.Fleet = doctor.Fleet{} }, doctor.OK, "not known"},
		{"two versions", "nodes", func(f *doctor.Facts) { f.Fleet.Versions = []string{"v1", "v2"} }, doctor.Warn, "v1, v2"},
		{"a late node", "nodes", func(f *doctor.Facts) { f.Fleet.Late = 1 }, doctor.Warn, "turnlog nodes"},
		{"no leader", "nodes", func(f *doctor.Facts) { f.Fleet.Leader = "" }, doctor.Warn, "nobody leads"},
	} {
		f := healthy()
		row.ill(&f)
		checks := doctor.Judge(f)
		found := false
		for _, c := range checks {
			switch {
			case c.Name == row.check:
				found = true
				if c.Status != row.want || !strings.Contains(c.Found+" "+c.Do, row.says) || (c.Do == "") != (c.Status == doctor.OK) {
					t.Errorf("%s: %+v", row.name, c)
				}
			case c.Status != doctor.OK && c.Name != "memory":
				t.Errorf("%s: also %+v", row.name, c)
			}
		}
		if !found {
			t.Errorf("%s: no check %s", row.name, row.check)
		}
		if got := doctor.Worst(checks); got != row.want && row.want != doctor.OK {
			t.Errorf("%s: all in all %s, want %s", row.name, got, row.want)
		}
	}
}

func TestAServerThatHidesEverythingFailsNothing(t *testing.T) {
	f := healthy()
	f.Info, f.Config, f.Loaded = nil, nil, -1
	for _, c := range doctor.Judge(f) {
		if c.Status != doctor.OK || c.Found == "" {
			t.Errorf("%+v", c)
		}
	}
}

func TestWithoutAnAnswerThereIsOneCheck(t *testing.T) {
	checks := doctor.Judge(doctor.Facts{Unreachable: "connection refused"})
	if len(checks) != 1 || checks[0].Status != doctor.Fail || checks[0].Found != "connection refused" || doctor.Worst(checks).ExitCode() != 2 {
		t.Errorf("%+v", checks)
	}
}
