package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
)

// checkRedisURL says what is wrong with a redis.url, without repeating its password.
func checkRedisURL(text string) error {
	if text == "" {
		return nil
	}
	scheme, _, found := strings.Cut(text, "://")
	switch {
	case !found:
		return fmt.Errorf("redis.url: %q is not a URL; write it like redis://127.0.0.1:6379/0", maskURL(text))
	case scheme != "redis" && scheme != "rediss" && scheme != "unix":
		return fmt.Errorf("redis.url: %q is not a known scheme; use redis://, rediss:// (TLS) or unix://", scheme)
	}
	if _, err := redis.ParseURL(text); err != nil {
		return fmt.Errorf("redis.url: %s is not usable: %w; write it like redis://user:password@host:6379/0", maskURL(text), withoutURL(err))
	}
	return nil
}

// withoutURL drops the URL that url.Error repeats, because it may hold a password.
func withoutURL(err error) error {
	var urlError *url.Error
	if errors.As(err, &urlError) {
		return urlError.Err
	}
	return err
}

// maskURL hides the password of a URL.
func maskURL(text string) string {
	parsed, err := url.Parse(text)
	if err != nil {
		head, tail, found := cutLast(text, "@")
		if !found {
			return text
		}
		scheme, _, _ := strings.Cut(head, "://")
		return scheme + "://***@" + tail
	}
	if _, has := parsed.User.Password(); has {
		parsed.User = url.UserPassword(parsed.User.Username(), "xxxxx")
		return strings.Replace(parsed.String(), ":xxxxx@", ":***@", 1)
	}
	if !strings.Contains(text, "://") && strings.Contains(text, "@") {
		_, tail, _ := cutLast(text, "@")
		return "***@" + tail
	}
	return text
}

// withoutPassword drops the password of a URL and keeps the rest.
func withoutPassword(text string) string {
	parsed, err := url.Parse(text)
	if err != nil || parsed.User == nil {
		return text
	}
	parsed.User = url.User(parsed.User.Username())
	if parsed.User.Username() == "" {
		parsed.User = nil
	}
	return parsed.String()
}

func cutLast(text, separator string) (before, after string, found bool) {
	if i := strings.LastIndex(text, separator); i >= 0 {
		return text[:i], text[i+len(separator):], true
	}
	return text, "", false
}

// newRedisClient makes the client that every part of the node shares. Retries
// are off: the log retries the same idempotent call itself, with the outage
// budget as its bound.
func newRedisClient(c RedisConfig) (*redis.Client, error) {
	options, err := redis.ParseURL(c.URL)
	if err != nil {
		return nil, checkRedisURL(c.URL)
	}
	options.ClientName = "turnlog"
	options.PoolSize = c.PoolSize
	options.MaxActiveConns = c.PoolSize // PoolSize alone is no bound: go-redis opens more under load
	options.PipelinePoolSize = -1       // and has a second pool for pipelines
	options.PoolTimeout = c.CommandTimeout
	options.MaxRetries = -1
	options.DialerRetries = 1
	options.ContextTimeoutEnabled = true
	options.DialTimeout = c.CommandTimeout
	options.ReadTimeout = c.CommandTimeout
	options.WriteTimeout = c.CommandTimeout
	return redis.NewClient(options), nil
}

// awaitRedis pings until Redis answers, with one progress line every few
// seconds, for at most the start timeout. Errors that waiting cannot cure end it at once.
func awaitRedis(ctx context.Context, rdb redis.UniversalClient, c RedisConfig, logger *slog.Logger) error {
	const pause, report = 500 * time.Millisecond, 3 * time.Second
	deadline := time.Now().Add(c.StartTimeout)
	nextReport := time.Now()
	for {
		err := pingWithin(ctx, rdb, min(c.CommandTimeout, max(time.Until(deadline), pause)))
		if err == nil {
			return nil
		}
		if sentence := hopeless(err); sentence != "" {
			return fmt.Errorf("redis at %s %s", maskURL(c.URL), sentence)
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		left := time.Until(deadline)
		if left <= 0 {
			hint := ""
			if strings.HasPrefix(c.URL, "rediss://") && errors.Is(err, context.DeadlineExceeded) {
				hint = " (does it speak TLS? if not, use redis://)"
			}
			return fmt.Errorf("redis at %s did not answer within redis.start_timeout %s (%w); start it, correct redis.url%s, or leave redis.url empty for the embedded one",
				maskURL(c.URL), shortDuration(c.StartTimeout), err, hint)
		}
		if now := time.Now(); !now.Before(nextReport) {
			logger.Warn("waiting for redis", "url", maskURL(c.URL), "giving_up_in", left.Round(time.Second), "error", err)
			nextReport = now.Add(report)
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(min(pause, left)):
		}
	}
}

// pingWithin is a PING with a deadline of its own.
func pingWithin(ctx context.Context, rdb redis.UniversalClient, timeout time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	return rdb.Ping(ctx).Err()
}

// hopeless says what to do about errors that no waiting cures.
func hopeless(err error) string {
	text := err.Error()
	switch {
	case strings.HasPrefix(text, "NOAUTH"):
		return "wants a password; put it into redis.url, like redis://:password@host:6379/0"
	case strings.HasPrefix(text, "WRONGPASS"), strings.Contains(text, "invalid username-password pair"):
		return "refused the user or password of redis.url; correct them (special characters are percent-encoded)"
	case strings.HasPrefix(text, "NOPERM"):
		return "does not allow this user to run PING; give it +@all on ~turnlog:* and &turnlog:* (" + text + ")"
	case strings.Contains(text, "DB index is out of range"):
		return "has no database of that number; use a smaller number at the end of redis.url"
	case strings.Contains(text, "first record does not look like a TLS handshake"):
		return "does not speak TLS; use redis:// instead of rediss://"
	case strings.Contains(text, "x509:") || strings.Contains(text, "tls: failed to verify"):
		return "has a certificate that this machine does not trust (" + text + "); add its authority to the system's trust store"
	default:
		return ""
	}
}

// warnEviction tells when Redis may throw frames away on its own.
func warnEviction(ctx context.Context, rdb redis.UniversalClient, logger *slog.Logger) {
	values, err := rdb.ConfigGet(ctx, "maxmemory-policy").Result()
	if err != nil {
		return // managed services hide CONFIG; then there is nothing to say
	}
	if policy := values["maxmemory-policy"]; policy != "" && policy != "noeviction" {
		logger.Warn("redis may evict logs of running turns; set maxmemory-policy noeviction", "maxmemory_policy", policy)
	}
}
