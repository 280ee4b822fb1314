package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"time"

	"github.com/spf13/cobra"

	"turnlog/eventlog"
)

// errNoRedis: commands that look into a running system have no embedded Redis to look into.
var errNoRedis = errors.New("redis.url is empty: name the Redis that the nodes use, like --redis redis://127.0.0.1:6379/0 or TURNLOG_REDIS_URL; " +
	"the embedded Redis of another process cannot be read")

// look opens the log that the command's flags name, only to read it, and
// hands it to see. It neither waits for Redis nor writes to it.
func look(cmd *cobra.Command, see func(context.Context, *eventlog.Log) error) error {
	config, err := loadCommand(cmd.Flags())
	if err != nil {
		return err
	}
	if config.Redis.URL == "" {
		return errNoRedis
	}
	if err := checkRedisURL(config.Redis.URL); err != nil {
		return err
	}
	routeRedisLog(slog.New(slog.DiscardHandler)) // errors tell
	rdb, err := newRedisClient(config.Redis)
	if err != nil {
		return err
	}
	defer rdb.Close()
	ctx := cmd.Context()
	timeout := config.Redis.CommandTimeout
	if err := pingWithin(ctx, rdb, timeout); err != nil {
		if sentence := hopeless(err); sentence != "" {
			return fmt.Errorf("redis at %s %s", maskURL(config.Redis.URL), sentence)
		}
		return fmt.Errorf("redis at %s does not answer: %w", maskURL(config.Redis.URL), err)
	}
	partitions, err := eventlog.StoredPartitions(ctx, rdb, timeout)
	if err != nil {
		return fmt.Errorf("redis at %s: %w", maskURL(config.Redis.URL), err)
	}
	log, err := eventlog.Open(ctx, rdb, eventlog.Options{Partitions: partitions, CommandTimeout: timeout})
	if err != nil {
		return fmt.Errorf("redis at %s: %w", maskURL(config.Redis.URL), err)
	}
	defer log.Close()
	return see(ctx, log)
}

// writeJSON prints one document for programs.
func writeJSON(w io.Writer, document any) error {
	encoder := json.NewEncoder(w)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	return encoder.Encode(document)
}

// span prints a duration for people: never longer than two units, "-" for none.
func span(d time.Duration) string {
	switch {
	case d < 0:
		d = 0
		fallthrough
	case d < 10*time.Second:
		return d.Round(100 * time.Millisecond).String()
	case d < time.Hour:
		return shortDuration(d.Round(time.Second))
	default:
		return shortDuration(d.Round(time.Minute))
	}
}

// stamp is a time for programs, nil for none.
func stamp(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	utc := t.UTC()
	return &utc
}

// age is how long ago something was.
func age(d time.Duration) string { return span(d) + " ago" }

// dash stands for nothing in a table.
func dash(text string) string {
	if text == "" {
		return "-"
	}
	return text
}
