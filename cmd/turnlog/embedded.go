package main

import (
	"context"
	"fmt"
	"time"

	"github.com/alicebob/miniredis/v2"
)

// embeddedRedis is a Redis inside the process, for trying things out. Its
// clock stands still by itself, so run drives it and keys expire as they do
// elsewhere.
type embeddedRedis struct {
	server *miniredis.Miniredis
}

// embeddedTick is the resolution of the embedded clock for expiry.
const embeddedTick = 100 * time.Millisecond

// startEmbedded listens on a free loopback port.
func startEmbedded() (*embeddedRedis, error) {
	server := miniredis.NewMiniRedis()
	if err := server.Start(); err != nil {
		return nil, fmt.Errorf("start the embedded redis: %w", err)
	}
	return &embeddedRedis{server: server}, nil
}

// url is where the embedded Redis listens, as a redis.url.
func (e *embeddedRedis) url() string { return "redis://" + e.server.Addr() }

// run moves the embedded clock until ctx ends. TTLs follow the time that
// really passed, however late the ticker comes.
func (e *embeddedRedis) run(ctx context.Context) error {
	ticker := time.NewTicker(embeddedTick)
	defer ticker.Stop()
	last := time.Now()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
			now := time.Now()
			e.server.FastForward(now.Sub(last))
			last = now
		}
	}
}

// close ends the embedded Redis and everything it held.
func (e *embeddedRedis) close() { e.server.Close() }
