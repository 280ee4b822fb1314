package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"time"

	"github.com/redis/go-redis/v9"

	"turnlog/agent"
	"turnlog/embedded"
	"turnlog/eventlog"
	"turnlog/identity"
)

// node is a node of package embedded, with the server and the log lines of this
// command around it.
type node struct {
	*embedded.Node
	config Config
	logger *slog.Logger
	http   *http.Server
	keys   *identity.JWT // nil without keys to keep up to date
	cert   *certificate  // nil without TLS
}

// serve builds a node and runs it until a signal has drained it.
func serve(ctx context.Context, config Config, logger *slog.Logger, signals <-chan os.Signal) error {
	agents, err := buildAgents(config, logger)
	if err != nil {
		return err
	}
	measured := newMetrics()
	auth, keys, err := newAuth(config, logger, measured.auth)
	if err != nil {
		return err
	}
	cert, err := newCertificate(config.TLS, logger)
	if err != nil {
		return err
	}
	listener, err := net.Listen("tcp", config.Listen)
	if err != nil {
		return fmt.Errorf("listen: %w; free the port or choose another one with --listen", err)
	}
	defer listener.Close()

	inside := (*embeddedRedis)(nil)
	if config.Redis.URL == "" {
		if inside, err = startEmbedded(); err != nil {
			return err
		}
		defer inside.close()
		config.Redis.URL = inside.url()
		logger.Warn("the embedded redis is in use: nothing survives this process; use --redis redis://... for anything real")
	}
	rdb, err := newRedisClient(config.Redis)
	if err != nil {
		return err
	}
	defer rdb.Close()

	starting, release := untilSignal(ctx, signals)
	n, err := newNode(starting, config, rdb, agents, auth, measured, listener.Addr(), logger)
	if signalled := release(); signalled {
		if err == nil {
			return n.Close()
		}
		return nil // interrupted while it waited: nothing was begun
	}
	if err != nil {
		return err
	}
	n.keys, n.cert = keys, cert
	return n.run(ctx, listener, inside, signals)
}

// newNode waits for Redis and makes the node on it.
func newNode(ctx context.Context, config Config, rdb *redis.Client, agents map[string]agent.Agent, auth identity.Authenticator, measured *metrics, addr net.Addr, logger *slog.Logger) (*node, error) {
	if err := awaitRedis(ctx, rdb, config.Redis, logger); err != nil {
		return nil, err
	}
	warnEviction(ctx, rdb, logger)
	n := &node{config: config, logger: logger}
	options := nodeOptions(config, measured)
	options.Auth = auth
	options.Session.AgentOf = agentOf(func() *eventlog.Log { return n.Log() }, config)
	options.Entry = embedded.Entry{Address: addr.String(), Version: buildVersion()}
	options.Logger = logger
	err := expose(&options, config, measured, logger)
	if err != nil {
		return nil, err
	}
	if n.Node, err = embedded.New(ctx, rdb, agents, options); err != nil {
		if unusable := (*embedded.OpenError)(nil); errors.As(err, &unusable) {
			return nil, fmt.Errorf("redis at %s: %w", maskURL(config.Redis.URL), err)
		}
		return nil, err
	}
	measured.gauges(n.Node)
	door := &doorkeeper{most: int64(config.Limits.Connections) + spareConnections, refused: measured.sockets.Refused}
	n.http = &http.Server{
		ConnState:         door.look,
		HTTP2:             http2Limits(),
		Handler:           n.Handler(),
		ReadHeaderTimeout: 10 * time.Second,
		IdleTimeout:       time.Minute,
		MaxHeaderBytes:    64 << 10,
		ErrorLog:          slog.NewLogLogger(logger.Handler(), slog.LevelDebug),
	}
	return n, nil
}
