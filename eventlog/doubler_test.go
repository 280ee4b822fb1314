package eventlog_test

import (
	"context"
	"crypto/sha1"
	"encoding/hex"
	"fmt"
	"net"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/redis/go-redis/v9"

	"turnlog/eventlog"
)

// doubler sends every script twice, as a client does whose reply got lost, and
// wants that the second one changes nothing. The caller gets the second reply
// from scripts whose answer must be the same, and the first one from the others.
type doubler struct {
	tb  testing.TB
	rdb *redis.Client

	mu   sync.Mutex
	seen map[string]int
}

var _ redis.Hook = (*doubler)(nil)

// answersOnce may say something else the second time: "already done".
var answersOnce = []string{"send_input", "detach", "delete", "drop_queued", "release_conn", "bury", "reap"}

func (d *doubler) DialHook(next redis.DialHook) redis.DialHook {
	return func(ctx context.Context, network, addr string) (net.Conn, error) { return next(ctx, network, addr) }
}

func (d *doubler) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}

func (d *doubler) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		c, ok := cmd.(*redis.Cmd)
		if !ok || cmd.Name() != "evalsha" && cmd.Name() != "eval" {
			return next(ctx, cmd)
		}
		sha := fmt.Sprint(cmd.Args()[1])
		if cmd.Name() == "eval" {
			sum := sha1.Sum([]byte(sha))
			sha = hex.EncodeToString(sum[:])
		}
		name := eventlog.ScriptName(sha)
		d.mu.Lock()
		defer d.mu.Unlock()
		if err := next(ctx, cmd); err != nil {
			return err
		}
		if d.seen == nil {
			d.seen = make(map[string]int)
		}
		d.seen[name]++
		first, before := c.Val(), dump(d.tb, d.rdb)
		again := redis.NewCmd(ctx, cmd.Args()...)
		if err := next(ctx, again); err != nil {
			d.tb.Errorf("%s, second time: %v", name, err)
			return nil
		}
		one, ok := first.([]any)
		if !ok {
			d.tb.Errorf("%s answers %v", name, first)
			return nil
		}
		switch {
		case name == "bury": // the second call is the next page
			two := again.Val().([]any)
			c.SetVal([]any{two[0], slices.Concat(one[1].([]any), two[1].([]any))})
			return nil
		case name == "reap" && one[0] == "", name == "declare_dead" && one[0] == int64(0):
			return nil // nothing was due; it may be by now
		}
		if after := dump(d.tb, d.rdb); !reflect.DeepEqual(before, after) {
			d.tb.Errorf("%s has an effect the second time:\n%s", name, difference(before, after))
		}
		if !slices.Contains(answersOnce, name) {
			if !reflect.DeepEqual(first, again.Val()) {
				d.tb.Errorf("%s answers otherwise the second time:\n%v\n%v", name, first, again.Val())
			}
			c.SetVal(again.Val())
		}
		return nil
	}
}

// dump reads every key. Left out are scores that only say when something was last touched.
func dump(tb testing.TB, rdb *redis.Client) map[string]string {
	tb.Helper()
	ctx := context.Background()
	out := make(map[string]string)
	keys, err := rdb.Keys(ctx, "*").Result()
	if err != nil {
		tb.Fatalf("dump: %v", err)
	}
	types := make([]*redis.StatusCmd, len(keys))
	pipe := rdb.Pipeline()
	for i, k := range keys {
		types[i] = pipe.Type(ctx, k)
	}
	if _, err := pipe.Exec(ctx); err != nil && len(keys) > 0 {
		tb.Fatalf("dump: %v", err)
	}
	values := make([]redis.Cmder, len(keys))
	for i, k := range keys {
		switch types[i].Val() {
		case "string":
			values[i] = pipe.Get(ctx, k)
		case "hash":
			values[i] = pipe.HGetAll(ctx, k)
		case "list":
			values[i] = pipe.LRange(ctx, k, 0, -1)
		case "set":
			values[i] = pipe.SMembers(ctx, k)
		case "zset":
			values[i] = pipe.ZRangeWithScores(ctx, k, 0, -1)
			switch { // these are renewed each time
			case strings.HasSuffix(k, ":lease"):
				values[i] = pipe.ZRange(ctx, k, 0, -1)
			case strings.HasSuffix(k, ":threads"): // two of one millisecond may change places
				values[i] = pipe.Sort(ctx, k, &redis.Sort{Alpha: true})
			}
		case "stream":
			values[i] = pipe.XRange(ctx, k, "-", "+")
		}
	}
	_, _ = pipe.Exec(ctx) // a key may have expired since
	for i, k := range keys {
		switch v := values[i].(type) {
		case *redis.MapStringStringCmd:
			out[k] = fmt.Sprint(v.Val())
		case *redis.StringSliceCmd:
			list := v.Val()
			if types[i].Val() == "set" {
				slices.Sort(list)
			}
			out[k] = fmt.Sprintf("%q", list)
		case *redis.ZSliceCmd:
			out[k] = fmt.Sprint(v.Val())
		case *redis.XMessageSliceCmd:
			out[k] = fmt.Sprint(v.Val())
		case *redis.StringCmd:
			out[k] = v.Val()
		}
	}
	return out
}

func difference(before, after map[string]string) string {
	var b strings.Builder
	for k, v := range before {
		if after[k] != v {
			fmt.Fprintf(&b, "%s\n  before %s\n  after  %s\n", k, v, after[k])
		}
	}
	for k, v := range after {
		if _, ok := before[k]; !ok {
			fmt.Fprintf(&b, "%s\n  new    %s\n", k, v)
		}
	}
	return b.String()
}
