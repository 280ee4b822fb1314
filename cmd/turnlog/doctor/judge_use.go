package doctor

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// Round trips: a frame is shown after one of them, a message is admitted after one or two.
const (
	slowMedian    = 5 * time.Millisecond
	hopelessPing  = 100 * time.Millisecond
	slowWorst     = 100 * time.Millisecond
	hopelessWorst = time.Second
)

func latency(f Facts) Check {
	c := Check{Name: "latency", Means: "every frame waits for one round trip to Redis before anybody sees it"}
	if len(f.Pings) == 0 {
		c.Found = fmt.Sprintf("none of %d pings was answered", f.Failed)
		c.worse(Fail, "Look at the network between here and Redis.")
		return c
	}
	median, worst := f.Pings[len(f.Pings)/2], f.Pings[len(f.Pings)-1]
	c.Found = fmt.Sprintf("median %s, worst %s of %d pings", brief(median), brief(worst), len(f.Pings))
	switch {
	case median >= hopelessPing:
		c.worse(Fail, "Move Redis next to the nodes: text comes in jerks, and a few round trips make a second.")
	case median >= slowMedian:
		c.worse(Warn, "Have Redis in the same data centre as the nodes, without a proxy that holds things up.")
	}
	switch {
	case worst >= hopelessWorst:
		c.worse(Fail, "Something stops Redis for moments: SLOWLOG GET, LATENCY DOCTOR, the fork of a rewrite, swapping, other users of this Redis.")
	case worst >= slowWorst && median < slowWorst:
		c.worse(Warn, "Something stops Redis for moments: SLOWLOG GET, LATENCY DOCTOR, the fork of a rewrite, swapping, other users of this Redis.")
	}
	if f.Failed > 0 {
		c.Found += fmt.Sprintf(", %d without an answer", f.Failed)
		c.worse(Fail, "Look at the network: pings got lost.")
	}
	return c
}

// brief is a duration with three digits.
func brief(d time.Duration) string {
	switch {
	case d >= time.Second:
		return d.Round(10 * time.Millisecond).String()
	case d >= time.Millisecond:
		return d.Round(10 * time.Microsecond).String()
	}
	return d.Round(time.Microsecond).String()
}

// Clocks: tokens are believed 30 s beyond their times.
const (
	askew      = 2 * time.Second
	farTooMuch = 30 * time.Second
)

func clock(f Facts) Check {
	c := Check{Name: "clock", Means: "deadlines go by the clock of Redis alone; a node's own clock judges tokens and stamps log lines"}
	clocks := []Clock{f.Clock}
	if f.Node != nil {
		clocks = append(clocks, *f.Node)
	}
	var found []string
	for _, k := range clocks {
		if k.Error != "" {
			found = append(found, k.Name+" not known: "+k.Error)
			c.worse(Warn, "Look whether the node of --url answers.")
			continue
		}
		off := max(k.Ahead.Abs()-k.Give, 0)
		where := "ahead of"
		if k.Ahead < 0 {
			where = "behind"
		}
		if off == 0 {
			found = append(found, k.Name+" is in step with Redis")
		} else {
			found = append(found, fmt.Sprintf("%s is %s %s Redis", k.Name, brief(off), where))
		}
		switch {
		case off >= farTooMuch:
			c.worse(Fail, "Run NTP (chrony, systemd-timesyncd) on both machines: tokens are refused or believed for too long.")
		case off >= askew:
			c.worse(Warn, "Run NTP (chrony, systemd-timesyncd) on both machines.")
		}
	}
	c.Found = strings.Join(found, "; ")
	return c
}

func scripts(f Facts) Check {
	c := Check{Name: "scripts", Means: "every change of a thread is a Lua script, so that it happens whole or not at all"}
	if f.Eval != "" {
		c.Found = "refused: " + f.Eval
		c.worse(Fail, "Allow Lua: ACL SETUSER name +eval +evalsha; managed servers have a switch for it.")
		return c
	}
	c.Found = "Lua works"
	if f.Loaded >= 0 {
		c.Found += fmt.Sprintf(", %d of %d scripts loaded (the rest is sent when it is needed)", f.Loaded, f.Scripts)
		if f.Loaded == f.Scripts {
			c.Found = fmt.Sprintf("Lua works, all %d scripts loaded", f.Scripts)
		}
	}
	return c
}

func rights(f Facts) Check {
	c := Check{Name: "rights", Means: "a command that the user may not call fails in the middle of a turn"}
	var needed, optional, without []string
	answer := ""
	for _, r := range f.Rights {
		switch {
		case r.Refused == "":
			continue
		case r.Optional:
			optional = append(optional, r.Command)
			continue
		}
		if answer = r.Refused; !slices.Contains(needed, r.Command) {
			needed = append(needed, r.Command)
			without = append(without, "+"+strings.ReplaceAll(strings.ToLower(r.Command), "transactions", "@transaction"))
		}
	}
	c.Found = "all commands are allowed"
	if len(optional) > 0 {
		c.Found = fmt.Sprintf("all that nodes need; refused, but not needed: %s", strings.Join(optional, ", "))
	}
	if len(needed) > 0 {
		c.Found = fmt.Sprintf("refused: %s (%s)", strings.Join(needed, ", "), answer)
		c.worse(Fail, "ACL SETUSER name ~turnlog:* &turnlog:* "+strings.Join(without, " ")+"; commands that were renamed or disabled have to come back.")
	}
	return c
}

// crowded is the share of maxclients in per cent from which on it is told.
const crowded = 80

func clients(f Facts) Check {
	c := Check{Name: "clients", Means: "each node holds up to redis.pool_size connections, and one more for its subscriptions"}
	now, most := f.number("connected_clients"), f.number("maxclients")
	if n, ok := f.setting("maxclients"); ok {
		most = n
	}
	if f.Info == nil || most == 0 {
		c.unknown("INFO")
		return c
	}
	c.Found = fmt.Sprintf("%d of at most %d connections", now, most)
	if now*100/most >= crowded {
		c.worse(Warn, "CONFIG SET maxclients higher, or lower redis.pool_size: nodes that get no connection do not run turns.")
	}
	if n := f.number("rejected_connections"); n > 0 {
		c.Found += fmt.Sprintf(", %d refused since it started", n)
		c.worse(Warn, "Connections were refused because there were too many: raise maxclients.")
	}
	return c
}

func partitions(f Facts) Check {
	c := Check{Name: "partitions", Means: "the number of partitions is part of the stored data; a node configured otherwise refuses to start"}
	p := f.Partitions
	switch {
	case p.Error != "":
		c.Found = p.Error
		c.worse(Fail, "Use a turnlog that knows this format, or another Redis.")
	case p.Stored == 0:
		c.Found = fmt.Sprintf("no node has used this Redis; the first one writes %d", p.Configured)
	case p.Stored == p.Configured:
		c.Found = fmt.Sprintf("%d, as configured", p.Stored)
	case p.Explicit:
		c.Found = fmt.Sprintf("%d, but configured are %d", p.Stored, p.Configured)
		c.worse(Fail, fmt.Sprintf("Set partitions to %d; it cannot be changed without emptying this Redis.", p.Stored))
	default:
		c.Found = fmt.Sprintf("%d; the default is %d", p.Stored, p.Configured)
		c.worse(Warn, fmt.Sprintf("Make sure that all nodes have partitions: %d (here it is not configured at all).", p.Stored))
	}
	if f.Databases > 1 {
		c.Found += fmt.Sprintf("; %d databases of this Redis are in use", f.Databases)
		c.worse(Warn, "Give each Turnlog a Redis of its own: channels are the same in all databases of one.")
	}
	return c
}

func fleet(f Facts) Check {
	c := Check{Name: "nodes", Means: "nodes on one Redis are to be of one version, and one of them leads the reaper"}
	n := f.Fleet
	switch {
	case !n.Known:
		c.Found = "not known"
	case n.Alive == 0 && n.Late == 0:
		c.Found = "none is running"
	default:
		c.Found = plural(int64(n.Alive), "node") + " alive"
		if n.Late > 0 {
			c.Found += fmt.Sprintf(", %d late", n.Late)
			c.worse(Warn, "A node does not renew its lease: turnlog nodes says which; look whether it lives.")
		}
		if n.Leader == "" && n.Alive > 0 {
			c.Found += ", nobody leads the reaper"
			c.worse(Warn, "Look again in ten seconds: a node that just started waits for one lease. If it stays, look at the nodes' logs.")
		}
		if len(n.Versions) > 1 {
			c.Found += ", versions " + strings.Join(n.Versions, ", ")
			c.worse(Warn, "Bring all nodes to one version, unless an upgrade is under way.")
		}
	}
	return c
}
