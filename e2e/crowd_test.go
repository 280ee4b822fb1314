package e2e_test

import (
	"bytes"
	"context"
	"fmt"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/coder/websocket"
)

const (
	crowdViewers = 5000
	crowdThreads = 200
)

// spectator is a viewer that is cheap enough to have thousands of: it looks for numbers
// only and remembers the last one.
type spectator struct {
	ws     *websocket.Conn
	bytes  int64
	frames int64
	last   int64
}

func spectate(ctx context.Context, url, thread string, from int64, epoch string) (*spectator, error) {
	ws, _, err := websocket.Dial(ctx, url, nil)
	if err != nil {
		return nil, err
	}
	ws.SetReadLimit(-1)
	command := `{"command":"follow","data":{"thread_id":"` + thread + `"}}`
	if from > 0 {
		command = fmt.Sprintf(`{"command":"resume_chat","data":{"thread_id":%q,"last_seq":%d,"epoch":%q}}`, thread, from, epoch)
	}
	if err := ws.Write(ctx, websocket.MessageText, []byte(command)); err != nil {
		return nil, err
	}
	return &spectator{ws: ws, last: from}, nil
}

var seqKey = []byte(`"chat_seq":`)

// until reads messages until one contains what; numbers must go up by one.
func (s *spectator) until(ctx context.Context, what string) error {
	for {
		_, b, err := s.ws.Read(ctx)
		if err != nil {
			return err
		}
		s.bytes += int64(len(b))
		if i := bytes.LastIndex(b, seqKey); i >= 0 {
			digits := b[i+len(seqKey):]
			n, err := strconv.ParseInt(string(digits[:bytes.IndexAny(digits, ",}")]), 10, 64)
			if err != nil {
				return err
			}
			if n != s.last+1 {
				return fmt.Errorf("number %d after %d", n, s.last)
			}
			s.last, s.frames = n, s.frames+1
		}
		if bytes.Contains(b, []byte(what)) {
			return nil
		}
	}
}

func TestF20_ACrowdOfViewersNeedsNoConnectionsToRedis(t *testing.T) {
	p := own(t, twoNodes, "--redis.pool_size", "10", "--limits.running_turns_per_user", "0",
		"--limits.connections_per_user", "5000")
	user := someone()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	base := p.redis.info(t, "clients", "connected_clients")

	crowd := make([]*spectator, crowdViewers)
	var wg sync.WaitGroup
	slots := make(chan struct{}, 32)
	var failed atomic.Pointer[error]
	fail := func(err error) { failed.CompareAndSwap(nil, &err) }
	for i := range crowd {
		slots <- struct{}{}
		wg.Go(func() {
			defer func() { <-slots }()
			s, err := spectate(ctx, p.url(i, user), fmt.Sprint("t", i%crowdThreads), 0, "")
			if err == nil {
				err = s.until(ctx, `"last_seq"`) // the ack of follow
			}
			if err != nil {
				fail(fmt.Errorf("viewer %d: %w", i, err))
				return
			}
			crowd[i] = s
		})
	}
	wg.Wait()
	if err := failed.Load(); err != nil {
		t.Fatal(*err)
	}
	t.Cleanup(func() {
		for _, s := range crowd {
			_ = s.ws.CloseNow()
		}
	})

	senders := []*viewer{dial(t, p.url(0, user)), dial(t, p.url(1, user))}
	begin := time.Now()
	for i := range crowdThreads {
		senders[i%2].say(fmt.Sprint("t", i), object{"frames": 20, "interval_ms": 50})
		if i%100 == 99 {
			senders = append([]*viewer{dial(t, p.url(0, user)), dial(t, p.url(1, user))}, senders...) // 128 threads each
		}
	}
	for i, s := range crowd {
		wg.Go(func() {
			if err := s.until(ctx, `"turn_finished"`); err != nil {
				fail(fmt.Errorf("viewer %d: %w", i, err))
			} else if s.frames != whole(20) {
				fail(fmt.Errorf("viewer %d saw %d frames, want %d", i, s.frames, whole(20)))
			}
		})
	}
	busiest := int64(0)
	done := make(chan struct{})
	go func() { wg.Wait(); close(done) }()
	for watching := true; watching; {
		busiest = max(busiest, p.redis.info(t, "clients", "connected_clients"))
		select {
		case <-done:
			watching = false
		case <-time.After(200 * time.Millisecond):
		}
	}
	if err := failed.Load(); err != nil {
		t.Fatal(*err)
	}
	t.Logf("%d viewers saw everything within %v; Redis had %d connections, %d before", crowdViewers, time.Since(begin).Round(time.Millisecond), busiest, base)
	// Per node: the pool, three for appends, one for subscriptions; and one is the test's own.
	limit := int64(2*(10+3+1) + 1)
	if busiest > limit {
		t.Errorf("%d connections to Redis with %d viewers, want at most %d", busiest, crowdViewers, limit)
	}
	for _, s := range crowd {
		_ = s.ws.CloseNow()
	}
	for _, v := range senders {
		v.Cut()
	}
	quick := dial(t, p.url(0, someone()))
	ack := quick.say("after", object{"frames": 20})
	if end := quick.end("after", ack.Turn); end.Str("outcome") != "completed" {
		t.Errorf("end %s", end)
	}
	eventually(t, "nobody is subscribed any more", func() bool {
		channels, err := p.redis.own.PubSubChannels(ctx, "*:live").Result()
		return err == nil && len(channels) <= 1
	})
	if after := p.redis.info(t, "clients", "connected_clients"); after > limit {
		t.Errorf("%d connections to Redis after everybody left, %d before", after, base)
	}
}

func TestF25_AHundredMegabytesAreReplayedInLittleMemory(t *testing.T) {
	p := own(t, twoNodes, "--replay.max_bytes", "256MiB", "--replay.max_frames", "100000")
	const frames, size = 1600, 64 << 10 // 100 MiB
	user := someone()
	sender := dial(t, p.url(0, user))
	ack := sender.say("t", object{"frames": frames, "bytes": size})
	sender.Cut()
	look := dial(t, p.url(0, user))
	eventually(t, "the turn is over", func() bool { return look.ok("list_chat_turns", nil).Int("count") == 0 })
	last := whole(frames)
	cold := p.nodes[1]
	before := memory(t, cold)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()

	// One reads, one does not: neither makes the node hold the backlog.
	idle, err := spectate(ctx, cold.url(user, ""), "t", 1, ack.Str("epoch"))
	if err != nil {
		t.Fatal(err)
	}
	defer idle.ws.CloseNow()
	s, err := spectate(ctx, cold.url(user, ""), "t", 1, ack.Str("epoch"))
	if err != nil {
		t.Fatal(err)
	}
	defer s.ws.CloseNow()
	peak := before
	read := make(chan error, 1)
	go func() { read <- s.until(ctx, `"turn_finished"`) }()
	for reading := true; reading; {
		peak = max(peak, memory(t, cold))
		select {
		case err := <-read:
			if err != nil {
				t.Fatal(err)
			}
			reading = false
		case <-time.After(5 * time.Millisecond):
		}
	}
	if s.last != last || s.bytes < frames*size {
		t.Errorf("read %d bytes up to %d, want more than %d up to %d", s.bytes, s.last, frames*size, last)
	}
	t.Logf("%d MiB replayed; the node went from %d to at most %d MiB", s.bytes>>20, before>>20, peak>>20)
	if limit := int64(64 << 20); !raced && peak-before > limit {
		t.Errorf("the node grew by %d MiB while it replayed %d MiB, want at most %d", (peak-before)>>20, s.bytes>>20, limit>>20)
	}
}

// F31: what a turn costs Redis grows with its length, not with the square of it.
func TestF31_TheCostOfAnAnswerIsLinear(t *testing.T) {
	p := own(t, oneNode)
	user := someone()
	a := dial(t, p.url(0, user))
	cost := func(frames int) (sent, commands int64) {
		in, n := p.redis.info(t, "stats", "total_net_input_bytes"), p.redis.info(t, "stats", "total_commands_processed")
		ack := a.say("t", object{"frames": frames, "bytes": 100, "interval_ms": 1})
		a.end("t", ack.Turn)
		return p.redis.info(t, "stats", "total_net_input_bytes") - in, p.redis.info(t, "stats", "total_commands_processed") - n
	}
	cost(100)
	bytesShort, commandsShort := cost(400)
	bytesLong, commandsLong := cost(1600)
	t.Logf("400 frames: %d bytes, %d commands; 1600 frames: %d bytes, %d commands", bytesShort, commandsShort, bytesLong, commandsLong)
	if bytesLong > 6*bytesShort || commandsLong > 6*commandsShort {
		t.Errorf("four times the frames cost %.1f times the bytes and %.1f times the commands",
			float64(bytesLong)/float64(bytesShort), float64(commandsLong)/float64(commandsShort))
	}
}
