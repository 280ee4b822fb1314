package main

import (
	"context"
	"fmt"
	"io"
	"log/slog"

	"github.com/redis/go-redis/v9"
)

// newLogger makes the process's only logger. Its lines go to stderr, so that
// stdout stays free for what commands print.
func newLogger(w io.Writer, c LogConfig) *slog.Logger {
	var level slog.Level
	if err := level.UnmarshalText([]byte(c.Level)); err != nil {
		level = slog.LevelInfo // config was validated; this is for callers without one
	}
	options := &slog.HandlerOptions{Level: level}
	if c.Format == "json" {
		return slog.New(slog.NewJSONHandler(w, options))
	}
	return slog.New(slog.NewTextHandler(w, options))
}

// redisLogger sends what go-redis has to say to the debug log: the node tells
// what matters itself, with the operation it failed in.
type redisLogger struct{ logger *slog.Logger }

// Printf implements go-redis's logging interface.
func (r redisLogger) Printf(ctx context.Context, format string, args ...any) {
	r.logger.DebugContext(ctx, "go-redis", "line", fmt.Sprintf(format, args...))
}

// routeRedisLog redirects go-redis's global log.
func routeRedisLog(logger *slog.Logger) { redis.SetLogger(redisLogger{logger}) }
