package doctor

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"
)

func unreachable(f Facts) Check {
	return Check{
		Name: "connection", Status: Fail, Found: f.Unreachable,
		Means: "nothing runs without Redis: nodes refuse messages, and running turns fail after redis.outage_budget",
		Do:    "Start it, or correct redis.url (--redis, TURNLOG_REDIS_URL, or the configuration file).",
	}
}

// oldest is the first major version that has what the scripts use.
const oldest = 7

func version(f Facts) Check {
	c := Check{Name: "version", Means: "Turnlog is tested with Redis 7 and newer; the log's scripts use what older ones lack"}
	if f.Info == nil {
		c.unknown("INFO")
		return c
	}
	kind, release := "Redis", f.text("redis_version")
	switch {
	case f.text("server_name") == "valkey" || f.text("valkey_version") != "":
		kind, release = "Valkey", cmp.Or(f.text("valkey_version"), release)
	case f.text("dragonfly_version") != "":
		kind, release = "Dragonfly", f.text("dragonfly_version")
	case f.text("server_name") != "" && f.text("server_name") != "redis":
		kind = f.text("server_name")
	}
	c.Found = strings.TrimSpace(kind + " " + release)
	major, err := strconv.Atoi(strings.SplitN(release, ".", 2)[0])
	switch {
	case kind != "Redis" && kind != "Valkey":
		c.worse(Warn, "Use Redis 7 or newer: nobody has tried Turnlog with this server.")
	case err != nil:
		c.worse(Warn, "Find out its version; 7 is the oldest that works.")
	case major < oldest:
		c.worse(Fail, "Upgrade to version 7 or newer; nodes refuse to start with this one.")
	}
	return c
}

func topology(f Facts) Check {
	c := Check{Name: "topology", Means: "one Redis serves all nodes; a replica takes no writes, and Cluster and Sentinel are not supported yet"}
	if f.Info == nil {
		c.unknown("INFO")
		return c
	}
	mode, role := cmp.Or(f.text("redis_mode"), "standalone"), cmp.Or(f.text("role"), "master")
	switch {
	case mode == "sentinel":
		c.Found = "a Sentinel, not the Redis that it watches"
		c.worse(Fail, "Name the master in redis.url: redis-cli SENTINEL MASTERS lists it.")
		return c
	case mode == "cluster" || f.text("cluster_enabled") == "1":
		c.Found = "a node of a Redis Cluster"
		c.worse(Fail, "Use a Redis without cluster-enabled.")
		return c
	case role != "master":
		c.Found = "a replica of " + f.text("master_host") + ":" + f.text("master_port")
		c.worse(Fail, "Name the master in redis.url.")
		return c
	}
	c.replicas(f)
	if f.Sentinels > 0 {
		c.Found += fmt.Sprintf(", watched by %s", plural(f.Sentinels, "Sentinel"))
		c.worse(Warn, "Put a name or a proxy that follows the master into redis.url: nodes do not ask Sentinel where it went. A failover loses what was not replicated yet; clients are told by a new epoch.")
	}
	return c
}

// lagging is how many seconds a replica may be silent; it reports once a second.
const lagging = 10

// replicas says what follows the master.
func (c *Check) replicas(f Facts) {
	n := f.number("connected_slaves")
	if n == 0 {
		c.Found = "a master without replicas"
		return
	}
	c.Found = "a master with " + plural(n, "replica")
	for i := range n {
		fields := map[string]string{}
		for _, pair := range strings.Split(f.text(fmt.Sprintf("slave%d", i)), ",") {
			name, value, _ := strings.Cut(pair, "=")
			fields[name] = value
		}
		at := fields["ip"] + ":" + fields["port"]
		lag, _ := strconv.Atoi(fields["lag"])
		switch {
		case fields["state"] != "" && fields["state"] != "online":
			c.worse(Warn, fmt.Sprintf("Replica %s is not in step (%s): wait for it, or look into its log.", at, fields["state"]))
		case lag >= lagging:
			c.worse(Warn, fmt.Sprintf("Replica %s has said nothing for %d s: look whether it lives.", at, lag))
		}
	}
}

func plural(n int64, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

func persistence(f Facts) Check {
	c := Check{Name: "persistence", Means: "what Redis has not on disk is lost when it restarts: running turns, logs, messages"}
	if f.Info == nil {
		c.unknown("INFO")
		return c
	}
	aof, fsync := f.text("aof_enabled") == "1", f.Config["appendfsync"]
	save, saveKnown := f.Config["save"]
	switch {
	case aof:
		c.Found = "AOF, " + cmp.Or(fsync, "fsync not known")
		if fsync == "no" {
			c.worse(Warn, "CONFIG SET appendfsync everysec: as it is the system decides when to write, often after half a minute.")
		}
	case saveKnown && save != "" || !saveKnown && f.number("rdb_last_save_time") > 0 && f.number("rdb_saves") > 0:
		c.Found = "snapshots only (RDB)" + quotedIf(save)
		c.worse(Warn, "CONFIG SET appendonly yes: a restart loses everything since the last snapshot, with AOF at most the last second.")
	case !saveKnown:
		c.Found = "no AOF; whether snapshots are taken is not known"
		c.worse(Warn, "Turn AOF on: without it a restart loses everything since the last snapshot.")
	case f.number("connected_slaves") > 0:
		c.Found = "none here; replicas hold copies"
		c.worse(Warn, "CONFIG SET appendonly yes: a master that restarts empty empties its replicas, too.")
	default:
		c.Found = "none"
		c.worse(Fail, "CONFIG SET appendonly yes, and CONFIG REWRITE so that it stays. For trying things out this is fine.")
	}
	if aof && f.text("aof_last_write_status") == "err" {
		c.Found += ", the last write failed"
		c.worse(Fail, "Look at the disk (full?) and Redis's log: until it can write, Redis refuses writes.")
	}
	if f.text("rdb_last_bgsave_status") == "err" && f.Config["stop-writes-on-bgsave-error"] != "no" {
		c.Found += ", the last snapshot failed"
		c.worse(Fail, "Look at the disk and Redis's log: Redis refuses writes (MISCONF) until a snapshot succeeds.")
	}
	if f.text("loading") == "1" {
		c.Found += ", still loading"
		c.worse(Warn, "Wait until it has read its data.")
	}
	return c
}

func quotedIf(text string) string {
	if text == "" {
		return ""
	}
	return ", save " + strconv.Quote(text)
}
