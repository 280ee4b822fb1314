package e2e_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"turnlog/e2e/wire"
)

// grace and window are what places of unwatched give turns that nobody watches.
const (
	grace  = 2 * time.Second
	window = time.Second
)

// shortLived are the flags that make everything short that a turn without
// viewers waits for, with more behind them.
func shortLived(more ...string) []string {
	return append([]string{
		"--node.lease", lease.String(), "--node.heartbeat", "500ms",
		"--disconnect.grace", grace.String(), "--disconnect.reconnect_window", window.String(),
	}, more...)
}

// unwatched runs a test on one node, and with its parties on two.
func unwatched(t *testing.T, test func(t *testing.T, p *place)) {
	t.Helper()
	t.Parallel()
	for _, kind := range []string{oneNode, twoNodes} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			test(t, at(t, kind, shortLived()...))
		})
	}
}

// Turns that go on until they are ended.
var (
	endless = object{"frames": 1_000_000, "interval_ms": 20}
	hanging = object{"frames": 5, "hang_at": 3}
)

// running is the thread's turn as it is told to a socket that does not view it.
func (v *viewer) running(thread string) (turn wire.Message, found bool) {
	v.t.Helper()
	mark := v.Mark()
	v.ok("list_chat_turns", nil)
	for _, m := range v.Messages()[mark:] {
		if m.Type == "chat_turn_active" && m.Thread == thread {
			return m, true
		}
	}
	return turn, false
}

// runs is running for a turn that has to be there.
func (v *viewer) runs(thread string) wire.Message {
	v.t.Helper()
	turn, found := v.running(thread)
	if !found {
		v.t.Fatalf("the turn of %q does not run any more", thread)
	}
	return turn
}

// detached waits until the thread's turn runs without viewers.
func (v *viewer) detached(thread string) (turn wire.Message) {
	v.t.Helper()
	eventually(v.t, thread+" is detached", func() bool {
		turn = v.runs(thread)
		return turn.Bool("detached")
	})
	return turn
}

// over waits until no turn of the thread runs and returns when that was seen.
func (v *viewer) over(thread string) time.Time {
	v.t.Helper()
	eventually(v.t, "the turn of "+thread+" is over", func() bool {
		_, found := v.running(thread)
		return !found
	})
	return time.Now()
}

// deadline is when the grace of a turn ends.
func deadline(t testing.TB, m wire.Message) time.Time {
	t.Helper()
	at, err := time.Parse(time.RFC3339Nano, m.Str("grace_deadline"))
	if err != nil {
		t.Fatalf("grace deadline of %s: %v", m, err)
	}
	return at
}

// until waits for a moment.
func until(t testing.TB, moment time.Time) {
	t.Helper()
	eventually(t, "it is "+moment.Format("15:04:05.000"), func() bool { return !time.Now().Before(moment) })
}

// frameOf is the frame of a log entry, and whether it has this type.
func frameOf(e redis.XMessage, typ string) (frame string, is bool) {
	frame, _ = e.Values["frame"].(string)
	return frame, e.Values["type"] == typ
}

// endedOnce checks that the log ends one turn, the only one it holds, as outcome.
func endedOnce(t testing.TB, p *place, user, thread, outcome string) {
	t.Helper()
	ends, stops := 0, 0
	entries := p.logged(t, user, thread)
	for _, e := range entries {
		switch e.Values["type"] {
		case "turn_finished":
			ends++
		case "generation_stopped":
			stops++
		}
	}
	if last, is := frameOf(entries[len(entries)-1], "turn_finished"); ends != 1 || !is || !strings.Contains(last, `"outcome":"`+outcome+`"`) {
		t.Errorf("%s: %d ends, the last frame is %s, want one end, %s", thread, ends, last, outcome)
	}
	if stopped := outcome == "stopped"; stopped != (stops == 1) {
		t.Errorf("%s: ended %s with %d generation_stopped", thread, outcome, stops)
	}
	if before, is := frameOf(entries[len(entries)-2], "chunk"); !is || !strings.Contains(before, `"done":true`) {
		t.Errorf("%s: the end follows %s", thread, before)
	}
}

// traces are the places in Redis, beyond log and history, that know of the
// thread: what a turn may leave there only while it runs.
func (p *place) traces(t testing.TB, user, thread string) (out []string) {
	t.Helper()
	ctx, c, name := context.Background(), p.redis.own, user+"/"+thread
	all, err := c.Keys(ctx, "turnlog:*").Result()
	if err != nil {
		t.Fatal(err)
	}
	for _, key := range all {
		var found bool
		var err error
		switch field := key[strings.LastIndexByte(key, ':')+1:]; {
		case strings.HasSuffix(key, name+":inputs"), strings.HasSuffix(key, name+":requests"), strings.HasSuffix(key, name+":queue"):
			found = true
		case strings.Contains(key, "/"):
		case field == "due", field == "ready", strings.HasSuffix(key, "}:turns"):
			err = c.ZScore(ctx, key, name).Err()
			found = err == nil
		case strings.HasSuffix(key, user+":requests"):
			var threads []string
			threads, err = c.HVals(ctx, key).Result()
			found = slices.Contains(threads, thread)
		case strings.HasSuffix(key, user+":running"):
			found, err = c.SIsMember(ctx, key, thread).Result()
		case strings.Contains(key, "}:node:"):
			found, err = c.SIsMember(ctx, key, name).Result()
		}
		if err != nil && !errors.Is(err, redis.Nil) {
			t.Fatalf("%s: %v", key, err)
		}
		if found {
			out = append(out, key)
		}
	}
	return out
}

// unsubscribed waits until no node listens to the thread; they keep listening a moment longer than they have viewers.
func (p *place) unsubscribed(t testing.TB, user, thread string) {
	t.Helper()
	eventually(t, "no node listens to "+thread, func() bool {
		channels, err := p.redis.own.PubSubChannels(context.Background(), "*"+user+"/"+thread+":live").Result()
		return err == nil && len(channels) == 0
	})
}
