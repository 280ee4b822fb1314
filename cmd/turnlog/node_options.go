package main

import (
	"time"

	"turnlog/embedded"
	"turnlog/eventlog"
	"turnlog/httpapi"
	"turnlog/reaper"
	"turnlog/session"
	"turnlog/wsapi"
)

// nodeOptions says in the words of the parts what the settings say.
func nodeOptions(config Config, measured *metrics) embedded.Options {
	return embedded.Options{
		Log: eventlog.Options{
			Partitions:       config.Partitions,
			ReplayMaxFrames:  config.Replay.MaxFrames,
			ReplayMaxBytes:   int64(config.Replay.MaxBytes),
			ReplayRetention:  config.Replay.Retention,
			HistoryRetention: config.History.Retention,
			StopTimeout:      config.Turn.StopTimeout,
			NodeLease:        config.Node.Lease,
			ReconnectWindow:  config.Disconnect.ReconnectWindow,
			Grace:            config.Disconnect.Grace,
			DefaultPolicy:    config.Disconnect.Policy,
			OutageBudget:     config.Redis.OutageBudget,
			CommandTimeout:   config.Redis.CommandTimeout,
			Metrics:          measured.log,
		},
		Session: session.Options{
			DefaultAgent: config.Agent.Name,
			OnBusy:       config.Turn.OnBusy,
			Quota:        config.Limits.RunningTurnsPerUser,
			FrameLimit:   int(config.Limits.FrameBytes),
			StopTimeout:  config.Turn.StopTimeout,
			ToolTimeout:  zeroIsNever(config.Turn.ToolTimeout),
			MaxDuration:  config.Turn.MaxDuration,
			StallAfter:   config.Turn.StallAfter,
			Attempts:     attempts(config.Turn.OnOwnerLost),
			Heartbeat:    config.Node.Heartbeat,
			AdmitBudget:  commandBudget(config.Redis.CommandTimeout),
			Kind:         kindOf(config.Kinds),
			Metrics:      measured.session,
		},
		Hub:    eventlog.HubOptions{JoinWait: commandBudget(config.Redis.CommandTimeout), Metrics: measured.hub},
		Reaper: reaper.Options{TextLimit: int(config.Limits.FrameBytes) / 2, Metrics: measured.reaper},
		Sockets: wsapi.Options{
			InboundBytes:         int64(config.Limits.InboundBytes),
			ThreadsPerConnection: config.Limits.ThreadsPerConnection,
			Metrics:              measured.sockets,
		},
		API: httpapi.APIOptions{
			InboundBytes: int64(config.Limits.InboundBytes),
			Kind:         kindOf(config.Kinds),
			KindPolicy:   kindPolicyOf(config.Kinds),
			Metrics:      measured.sockets,
		},
		HTTP:  embedded.HTTP{Metrics: measured.handler(), AdminScope: config.Auth.AdminScope},
		Drain: embedded.Drain{Timeout: zeroIsNever(config.Drain.Timeout), CloseSpread: zeroIsNever(config.Drain.CloseSpread)},
	}
}

// commandBudget is how long a client's command is tried while Redis does not
// answer: twice when it hangs, more often when it refuses. Each command keeps
// those behind it on the connection waiting.
func commandBudget(commandTimeout time.Duration) time.Duration {
	return min(max(2*commandTimeout, time.Second), 10*time.Second)
}

// restartAttempts bounds how often a turn is begun when its nodes keep dying.
const restartAttempts = 3

func attempts(onOwnerLost string) int {
	if onOwnerLost == ownerLostRestart {
		return restartAttempts
	}
	return 1
}

// zeroIsNever turns a setting whose 0 means "off" into an option whose 0 means
// "default" and whose negative value means "off".
func zeroIsNever(d time.Duration) time.Duration {
	if d == 0 {
		return -1
	}
	return d
}
