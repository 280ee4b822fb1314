package main

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"turnlog/agent"
	"turnlog/eventlog"
	"turnlog/httpapi"
	"turnlog/reaper"
	"turnlog/session"
	"turnlog/wsapi"
)

// node is everything that runs in one process, built but not running.
type node struct {
	config Config
	logger *slog.Logger

	log     *eventlog.Log
	bus     *eventlog.Bus
	hub     *eventlog.Hub
	service *session.Service
	reaper  *reaper.Reaper
	sockets *wsapi.Server
	http    *http.Server

	draining atomic.Bool
}

// serve builds a node and runs it until a signal has drained it.
func serve(ctx context.Context, config Config, logger *slog.Logger, signals <-chan os.Signal) error {
	agents, err := buildAgents(config, logger)
	if err != nil {
		return err
	}
	listener, err := net.Listen("tcp", config.Listen)
	if err != nil {
		return fmt.Errorf("listen: %w; free the port or choose another one with --listen", err)
	}
	defer listener.Close()

	embedded := (*embeddedRedis)(nil)
	if config.Redis.URL == "" {
		if embedded, err = startEmbedded(); err != nil {
			return err
		}
		defer embedded.close()
		config.Redis.URL = embedded.url()
		logger.Warn("the embedded redis is in use: nothing survives this process; use --redis redis://... for anything real")
	}
	rdb, err := newRedisClient(config.Redis)
	if err != nil {
		return err
	}
	defer rdb.Close()

	starting, release := untilSignal(ctx, signals)
	measured := newMetrics()
	log, err := openLog(starting, rdb, config, logger, measured.log)
	if signalled := release(); signalled {
		if err == nil {
			err = log.Close()
		} else {
			err = nil // interrupted while it waited: nothing was begun
		}
		return err
	}
	if err != nil {
		return err
	}
	defer log.Close()

	n, err := newNode(config, log, rdb, agents, logger, measured)
	if err != nil {
		return err
	}
	return n.run(ctx, listener, embedded, signals)
}

// openLog waits for Redis and opens the log in it.
func openLog(ctx context.Context, rdb *redis.Client, config Config, logger *slog.Logger, counts eventlog.Metrics) (*eventlog.Log, error) {
	if err := awaitRedis(ctx, rdb, config.Redis, logger); err != nil {
		return nil, err
	}
	warnEviction(ctx, rdb, logger)
	log, err := eventlog.Open(ctx, rdb, eventlog.Options{
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
		Logger:           logger,
		Metrics:          counts,
	})
	if err != nil {
		return nil, fmt.Errorf("redis at %s: %w", maskURL(config.Redis.URL), err)
	}
	return log, nil
}

// newNode wires the parts. Whatever a package needs of another one it asks for
// as an interface of its own; here they meet.
func newNode(config Config, log *eventlog.Log, rdb *redis.Client, agents map[string]agent.Agent, logger *slog.Logger, measured *metrics) (*node, error) {
	n := &node{config: config, logger: logger, log: log}
	trust := reaper.NewTrust(config.Node.Lease, config.Node.Heartbeat)
	feed := &lateFeed{}
	var err error
	n.service, err = session.New(trustedLog{session.On(log), trust}, feed, agents, session.Options{
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
		AgentOf:      agentOf(log, config),
		OnRejoin: func(ctx context.Context, id string) {
			n.bus.ListenAs(id)
			n.hub.Reattach(ctx, id)
		},
		Logger:  logger,
		Metrics: measured.session,
	})
	if err != nil {
		return nil, err
	}
	n.bus = eventlog.NewBus(rdb, n.service.Node(), eventlog.BusOptions{Logger: logger})
	n.bus.OnWake(n.service.Wake)
	n.hub = eventlog.NewHub(log, n.bus, n.service.Node(), eventlog.HubOptions{
		JoinWait: commandBudget(config.Redis.CommandTimeout), OnDetach: n.service.Detached, Logger: logger, Metrics: measured.hub,
	})
	feed.hub.Store(n.hub)
	n.reaper, err = reaper.New(log, reaper.Options{
		Node: n.service.Node, Trust: trust, TextLimit: int(config.Limits.FrameBytes) / 2, Logger: logger, Metrics: measured.reaper,
	})
	if err != nil {
		return nil, err
	}
	n.sockets, err = wsapi.New(n.service, wsapi.NewHub(n.hub), log, wsapi.NoAuth{}, wsapi.Options{
		InboundBytes:         int64(config.Limits.InboundBytes),
		ThreadsPerConnection: config.Limits.ThreadsPerConnection,
		Logger:               logger,
		Metrics:              measured.sockets,
	})
	if err != nil {
		return nil, err
	}
	measured.gauges(n)
	handler, err := httpapi.New(httpapi.Options{WebSocket: n.sockets, Ready: n.ready, Metrics: measured.handler()})
	if err != nil {
		return nil, err
	}
	n.http = &http.Server{
		Handler:           handler,
		ReadHeaderTimeout: 10 * time.Second,
		IdleTimeout:       time.Minute,
		MaxHeaderBytes:    64 << 10,
		ErrorLog:          slog.NewLogLogger(logger.Handler(), slog.LevelDebug),
	}
	return n, nil
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
