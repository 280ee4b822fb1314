package doctor

import (
	"context"
	"errors"
	"strings"

	"github.com/redis/go-redis/v9"
)

// Keys that are only named, never written: one of each kind that ACL patterns may tell apart.
const (
	scratchKey  = "turnlog:{nodes}:doctor"
	scratchUser = "turnlog:{0}:doctor/doctor:state"
	scratchNode = "turnlog:node:doctor"
)

// commands are what nodes call, directly or in scripts, each with words that it takes: what
// is wrong with the number of words would hide what is wrong with the right. K is a key.
var commands = []string{
	"PING", "TIME", "EVAL x 1 K", "EVALSHA x 1 K", "PUBLISH turnlog:node:doctor x",
	"DEL K", "EXISTS K", "EXPIRE K 1", "PERSIST K", "PEXPIRE K 1", "PTTL K", "UNLINK K",
	"GET K", "SET K x", "SETNX K x", "INCR K",
	"HDEL K x", "HEXISTS K x", "HGET K x", "HGETALL K", "HKEYS K", "HLEN K", "HMGET K x", "HSET K x y", "HSETNX K x y",
	"LINDEX K 0", "LLEN K", "LPOP K", "LPUSH K x", "LRANGE K 0 1", "LREM K 0 x", "RPUSH K x",
	"SADD K x", "SCARD K", "SMEMBERS K", "SMISMEMBER K x", "SPOP K 1", "SRANDMEMBER K 1", "SREM K x", "SSCAN K 0",
	"XADD K * x y", "XDEL K 1", "XLEN K", "XRANGE K - +", "XREVRANGE K + -", "XTRIM K MAXLEN 1",
	"ZADD K 1 x", "ZCARD K", "ZCOUNT K 0 1", "ZRANGE K 0 1", "ZRANGEBYSCORE K 0 1", "ZREM K x", "ZREMRANGEBYSCORE K 0 1",
	"ZREVRANGE K 0 1", "ZREVRANGEBYSCORE K 1 0", "ZSCAN K 0", "ZSCORE K x",
}

// optional commands only tell operators more: eviction, weights, a failover, subscriptions.
var optional = []string{"INFO", "CONFIG GET maxmemory-policy", "MEMORY USAGE K", "SCRIPT EXISTS x", "PUBSUB NUMSUB x"}

// probe is a command on its way into a transaction.
type probe struct {
	right  Right
	answer *redis.Cmd
}

// rights queues every command and discards them all. It finds out before that this works,
// because without MULTI they would be carried out.
func (c *collector) rights(ctx context.Context) {
	rdb := redis.NewClient(c.rdb.Options()) // a connection that hangs in MULTI must not be used again
	defer rdb.Close()
	var refused error
	_ = c.bounded(ctx, func(ctx context.Context) error {
		pipe := rdb.Pipeline()
		multi, exec, discard := pipe.Do(ctx, "MULTI"), pipe.Do(ctx, "EXEC"), pipe.Do(ctx, "DISCARD")
		_, _ = pipe.Exec(ctx) // each has its own error
		refused = errors.Join(multi.Err(), exec.Err())
		if err := discard.Err(); err != nil && !strings.Contains(err.Error(), "without MULTI") {
			refused = errors.Join(refused, err)
		}
		return nil
	})
	if refused != nil {
		c.facts.Rights = append(c.facts.Rights, Right{Command: "transactions", Refused: refused.Error()})
		return
	}
	_ = c.bounded(ctx, func(ctx context.Context) error {
		pipe := rdb.Pipeline()
		pipe.Do(ctx, "MULTI")
		probes := queue(ctx, pipe)
		pipe.Do(ctx, "DISCARD")
		_, _ = pipe.Exec(ctx) // refusals are what is looked for
		for _, p := range probes {
			if err := p.answer.Err(); err != nil {
				p.right.Refused = err.Error()
			}
			c.facts.Rights = append(c.facts.Rights, p.right)
		}
		return nil
	})
}

// queue puts all commands into a pipeline.
func queue(ctx context.Context, pipe redis.Pipeliner) []probe {
	var probes []probe
	ask := func(line, key string, optional bool) {
		words := strings.Fields(line)
		args := make([]any, len(words))
		for i, w := range words {
			if args[i] = w; w == "K" {
				args[i] = key
			}
		}
		probes = append(probes, probe{Right{Command: commandName(words), Optional: optional}, pipe.Do(ctx, args...)})
	}
	for _, line := range commands {
		ask(line, scratchUser, false)
	}
	for _, line := range optional {
		ask(line, scratchUser, true)
	}
	ask("HSET K x y", scratchNode, false)
	ask("ZADD K 1 x", scratchKey, false)
	return probes
}

// commandName is a command with its subcommand.
func commandName(words []string) string {
	switch words[0] {
	case "CONFIG", "MEMORY", "SCRIPT", "PUBSUB":
		return words[0] + " " + words[1]
	}
	return words[0]
}
