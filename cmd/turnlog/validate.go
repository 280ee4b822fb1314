package main

import (
	"errors"
	"fmt"
	"net"
	"slices"
	"strconv"
	"time"
)

// rule is one thing that must hold; when broken its sentence names the setting
// and the cure.
type rule struct {
	broken   bool
	sentence string
}

// validate checks each value and their combinations. All broken rules are
// told at once, one sentence per line.
func (c *Config) validate() error {
	var problems []error
	for _, rules := range [][]rule{c.listenRules(), c.edgeRules(), c.rangeRules(), c.relationRules(), c.agentRules(), c.authRules()} {
		for _, r := range rules {
			if r.broken {
				problems = append(problems, errors.New(r.sentence))
			}
		}
	}
	if err := checkRedisURL(c.Redis.URL); err != nil {
		problems = append(problems, err)
	}
	return errors.Join(problems...)
}

func (c *Config) listenRules() []rule {
	host, port, err := net.SplitHostPort(c.Listen)
	if err != nil {
		return []rule{{true, fmt.Sprintf("listen: %q is not host:port; write it like 127.0.0.1:8080", c.Listen)}}
	}
	number, err := strconv.Atoi(port)
	return []rule{
		{err != nil || number < 0 || number > 65535, fmt.Sprintf("listen: %q is not a port; use 0 to 65535", port)},
		{!loopback(host) && !c.Insecure && !c.authenticates(), fmt.Sprintf("listen: %s can be reached from other machines and there is no authentication; "+
			"set auth.mode to jwt, listen on 127.0.0.1, or pass --insecure if something in front of it authenticates", c.Listen)},
	}
}

// loopback tells whether the host is this machine only. Names other than
// localhost count as reachable from outside: what they resolve to may change.
func loopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || (ip != nil && ip.IsLoopback())
}

func (c *Config) rangeRules() []rule {
	atLeast := func(key string, value, least time.Duration) rule {
		return rule{value < least, fmt.Sprintf("%s: %s is too short; use at least %s", key, shortDuration(value), shortDuration(least))}
	}
	between := func(key string, value, least, most int) rule {
		return rule{value < least || value > most, fmt.Sprintf("%s: %d is out of range; use %d to %d", key, value, least, most)}
	}
	size := func(key string, value, least, most Bytes) rule {
		return rule{value < least || value > most, fmt.Sprintf("%s: %s is out of range; use %s to %s", key, value, least, most)}
	}
	return []rule{
		between("partitions", c.Partitions, 1, 4096),
		between("redis.pool_size", c.Redis.PoolSize, 4, 10000),
		atLeast("redis.outage_budget", c.Redis.OutageBudget, time.Second),
		atLeast("redis.command_timeout", c.Redis.CommandTimeout, 100*time.Millisecond),
		atLeast("redis.start_timeout", c.Redis.StartTimeout, 0),
		between("replay.max_frames", c.Replay.MaxFrames, 1, 10_000_000),
		size("replay.max_bytes", c.Replay.MaxBytes, 1, 1<<40),
		atLeast("replay.retention", c.Replay.Retention, time.Second),
		atLeast("history.retention", c.History.Retention, time.Second),
		{c.Disconnect.Grace <= 0, fmt.Sprintf("disconnect.grace: %s is no grace; use a positive duration, or disconnect.policy cancel to end turns at once", shortDuration(c.Disconnect.Grace))},
		atLeast("disconnect.reconnect_window", c.Disconnect.ReconnectWindow, 100*time.Millisecond),
		atLeast("turn.max_duration", c.Turn.MaxDuration, 0),
		atLeast("turn.stall_after", c.Turn.StallAfter, 0),
		atLeast("turn.stop_timeout", c.Turn.StopTimeout, 100*time.Millisecond),
		atLeast("turn.tool_timeout", c.Turn.ToolTimeout, 0),
		atLeast("node.lease", c.Node.Lease, time.Second),
		atLeast("node.heartbeat", c.Node.Heartbeat, 100*time.Millisecond),
		atLeast("drain.timeout", c.Drain.Timeout, 0),
		atLeast("drain.close_spread", c.Drain.CloseSpread, 0),
		size("limits.frame_bytes", c.Limits.FrameBytes, 1<<10, 64<<20),
		size("limits.inbound_bytes", c.Limits.InboundBytes, 4<<10, 256<<20),
		between("limits.threads_per_connection", c.Limits.ThreadsPerConnection, 1, 100_000),
		between("limits.running_turns_per_user", c.Limits.RunningTurnsPerUser, 0, 1_000_000),
		between("limits.connections", c.Limits.Connections, 1, 10_000_000),
		between("limits.connections_per_user", c.Limits.ConnectionsPerUser, 1, 10_000_000),
		between("limits.commands_per_second", c.Limits.CommandsPerSecond, 1, 1_000_000),
	}
}

func (c *Config) relationRules() []rule {
	return []rule{
		{c.Node.Lease <= 2*c.Node.Heartbeat, fmt.Sprintf("node.lease: %s does not outlive two heartbeats of %s; use a node.lease of more than %s, or a shorter node.heartbeat",
			shortDuration(c.Node.Lease), shortDuration(c.Node.Heartbeat), shortDuration(2*c.Node.Heartbeat))},
		{c.Replay.Retention > c.History.Retention, fmt.Sprintf("replay.retention: %s is longer than history.retention %s, so frames would outlive their numbering; raise history.retention",
			shortDuration(c.Replay.Retention), shortDuration(c.History.Retention))},
		{c.Limits.FrameBytes > c.Limits.InboundBytes, fmt.Sprintf("limits.frame_bytes: %s is larger than limits.inbound_bytes %s; raise limits.inbound_bytes",
			c.Limits.FrameBytes, c.Limits.InboundBytes)},
		{c.Limits.FrameBytes > c.Replay.MaxBytes, fmt.Sprintf("replay.max_bytes: %s cannot hold one frame of limits.frame_bytes %s; raise replay.max_bytes or lower limits.frame_bytes",
			c.Replay.MaxBytes, c.Limits.FrameBytes)},
		{c.Redis.OutageBudget < c.Redis.CommandTimeout, fmt.Sprintf("redis.outage_budget: %s is shorter than one redis.command_timeout of %s; raise redis.outage_budget",
			shortDuration(c.Redis.OutageBudget), shortDuration(c.Redis.CommandTimeout))},
		{c.Drain.CloseSpread > c.Drain.Timeout, fmt.Sprintf("drain.close_spread: %s is longer than drain.timeout %s, after which the node goes; lower drain.close_spread or raise drain.timeout",
			shortDuration(c.Drain.CloseSpread), shortDuration(c.Drain.Timeout))},
		{c.Turn.MaxDuration > 0 && c.Turn.StallAfter > c.Turn.MaxDuration, fmt.Sprintf("turn.stall_after: %s can never come before turn.max_duration %s; lower it or set it to 0",
			shortDuration(c.Turn.StallAfter), shortDuration(c.Turn.MaxDuration))},
	}
}

func (c *Config) agentRules() []rule {
	names := c.agentNames()
	return []rule{
		{!slices.Contains(names, c.Agent.Name) && (c.Agent.Name == agentOpenAI || c.Agent.Name == agentWebhook), fmt.Sprintf(
			"agent: %s needs settings that only the list agents of the file can hold (turnlog serve --config turnlog.yaml; docs/agents.md)", c.Agent.Name)},
		{!slices.Contains(names, c.Agent.Name), fmt.Sprintf("agent: there is no agent %q%s; use demo, command, or a name of the list agents in the file",
			c.Agent.Name, suggestion(c.Agent.Name, append(names, agentDemo, agentCommand)))},
		{c.Agent.Name == agentCommand && len(c.Agent.Command) == 0 && !c.listed(agentCommand),
			"agent: command needs a program; name it behind two dashes, like: turnlog serve --agent command -- my-agent --flag"},
		{c.listed(agentCommand) && len(c.Agent.Command) > 0,
			"agents: one is named command, and a program was given behind two dashes; rename the one or leave out the other"},
		{c.Agent.Name != agentCommand && len(c.Agent.Command) > 0,
			fmt.Sprintf("agent: %s runs no program, but %q was given; add --agent command or remove it", c.Agent.Name, c.Agent.Command)},
	}
}

// listed tells whether the list agents has one of that name.
func (c *Config) listed(name string) bool {
	return slices.ContainsFunc(c.Agents, func(s AgentSpec) bool { return s.Name == name })
}
