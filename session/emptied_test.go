package session_test

import (
	"context"
	"testing"

	"github.com/redis/go-redis/v9"

	"turnlog/agent"
	"turnlog/session"
)

// B85: a Redis that comes back empty does not end the turns whose owner lives.
// Inputs of a turn that Redis has forgotten read like those of somebody else's
// turn; only the writer knows better.
func TestB85_ATurnSurvivesAnEmptiedRedis(t *testing.T) {
	onRedis(t, func(t *testing.T, addr string) {
		goOn := make(chan struct{})
		n := startReal(t, addr, agentFunc(func(ctx context.Context, turn agent.Turn) error {
			if err := emit(ctx, turn, chunk("before")); err != nil {
				return err
			}
			select {
			case <-goOn:
				return emit(ctx, turn, chunk("after"))
			case <-ctx.Done():
				return context.Cause(ctx)
			}
		}), session.Options{})
		n.submit("go")
		n.wantShape("turn_started chunk:before")
		rdb := redis.NewClient(&redis.Options{Addr: addr})
		defer func() { _ = rdb.Close() }()
		if err := rdb.FlushAll(t.Context()).Err(); err != nil {
			t.Fatal(err)
		}
		n.NudgeAll()
		n.wantShape("turn_started chunk:before") // written again
		close(goOn)
		n.wantShape("turn_started chunk:before chunk:after chunk: turn_finished:completed")
	})
}
