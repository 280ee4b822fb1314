package e2e_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"turnlog/e2e/wire"
)

// fleet is the nodes that take new connections, as a balancer knows them.
type fleet struct {
	mu    sync.Mutex
	nodes []*node
	turn  int
}

func (f *fleet) replace(old, now *node) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for i, n := range f.nodes {
		if n == old {
			f.nodes[i] = now
		}
	}
}

func (f *fleet) pick(user string) string {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.turn++
	return f.nodes[f.turn%len(f.nodes)].url(user, "")
}

// tab is a viewer as a correct client is one: whenever its socket ends it comes
// back, wherever it gets in, with its cursor.
type tab struct {
	fleet   *fleet
	user    string
	story   *wire.Story
	c       *wire.Conn
	bad     []string
	sockets int
}

func newTab(f *fleet, user, thread string) *tab {
	return &tab{fleet: f, user: user, story: wire.NewStory(thread)}
}

// connect gets a socket that follows the thread from the cursor on.
func (b *tab) connect(ctx context.Context) error {
	for {
		c, err := wire.Dial(ctx, b.fleet.pick(b.user), wire.Options{})
		if err == nil {
			data := object{"thread_id": b.story.Thread, "last_seq": b.story.Cursor}
			if b.story.Epoch != "" {
				data["epoch"] = b.story.Epoch
			}
			if _, err = c.Do("resume_chat", data); err == nil {
				b.c = c
				b.sockets++
				return nil
			}
			c.Cut()
			b.bad = append(b.bad, b.story.Add(c.Messages())...)
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("no connection: %w", err)
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// leave puts what the socket said to the story. Only the very first header, of a
// viewer that knows nothing yet, may announce a hole.
func (b *tab) leave() {
	if b.c == nil {
		return
	}
	b.c.Cut()
	for _, m := range b.c.Frames(b.story.Thread) {
		if m.Type == "chat_resumed" && m.Bool("replay_incomplete") && b.sockets > 1 {
			b.bad = append(b.bad, fmt.Sprintf("socket %d, cursor %d: a hole: %s", b.sockets, b.story.Cursor, m))
		}
	}
	b.bad = append(b.bad, b.story.Add(b.c.Messages())...)
	b.c = nil
}

// until watches, over as many sockets as it takes, until match.
func (b *tab) until(ctx context.Context, match func(wire.Message) bool) (wire.Message, error) {
	for {
		if b.c == nil {
			if err := b.connect(ctx); err != nil {
				return wire.Message{}, err
			}
		}
		_, m, err := b.c.Await(0, wire.Patience, func(m wire.Message) bool { return m.Thread == b.story.Thread && match(m) })
		if err == nil {
			return m, nil
		}
		if ctx.Err() != nil || errors.Is(err, wire.ErrTimeout) {
			return m, fmt.Errorf("thread %s: %w", b.story.Thread, err)
		}
		b.leave()
	}
}

// say submits until a node takes it; the message's id makes that once.
func (b *tab) say(ctx context.Context, data object) (turn string, err error) {
	for {
		if b.c == nil {
			if err := b.connect(ctx); err != nil {
				return "", err
			}
		}
		ack, err := b.c.Do("chat_message", data)
		if err == nil && !ack.Has("error") {
			return ack.Str("turn_id"), nil
		}
		if err == nil && !ack.Bool("retryable") {
			return "", fmt.Errorf("refused: %s", ack)
		}
		if ctx.Err() != nil {
			return "", ctx.Err()
		}
		b.leave()
	}
}

func ended(turn string) func(wire.Message) bool {
	return func(m wire.Message) bool { return m.Type == "turn_finished" && m.Turn == turn }
}

func TestB88_ARollingRestartIsSeenByNobody(t *testing.T) {
	t.Parallel()
	const talks, watchers, frames = 8, 2, 150
	flags := quick("--drain.timeout", "30s", "--drain.close_spread", "1s")
	p := own(t, three, flags...)
	f := &fleet{nodes: append([]*node(nil), p.nodes...)}
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	var rolled atomic.Bool
	var turns atomic.Int64
	var work sync.WaitGroup
	demo := object{"frames": frames, "interval_ms": 10}

	check := func(b *tab) {
		b.leave()
		for _, bad := range b.bad {
			t.Errorf("thread %s: %s", b.story.Thread, bad)
		}
	}
	talk := func(b *tab, begun func()) {
		defer check(b)
		thread := b.story.Thread
		for i := 0; ; i++ {
			last := rolled.Load()
			content := "go"
			if last {
				content = "last"
			}
			turn, err := b.say(ctx, message(thread, demo, object{"id": fmt.Sprint(thread, "-", i), "content": content}))
			if i == 0 {
				begun()
			}
			if err != nil {
				t.Error(err)
				return
			}
			end, err := b.until(ctx, ended(turn))
			if err != nil {
				t.Error(err)
				return
			}
			if end.Str("outcome") != "completed" {
				t.Errorf("thread %s turn %d ended %s", thread, i, end)
			}
			turns.Add(1)
			if last {
				b.leave()
				if got, want := b.story.Text(turn), wire.DemoText(frames, 0); got != want {
					t.Errorf("text %s", difference(got, want))
				}
				return
			}
		}
	}
	watch := func(b *tab) {
		defer check(b)
		thread := b.story.Thread
		first, last := "", ""
		_, err := b.until(ctx, func(m wire.Message) bool {
			if first == "" {
				first = m.Turn
			}
			if said, ok := m.Object["message"].(map[string]any); ok && said["content"] == "last" {
				last = m.Turn
			}
			return m.Type == "turn_finished" && m.Turn == last
		})
		if err != nil {
			t.Error(err)
			return
		}
		b.leave()
		for _, m := range b.story.Frames() {
			if m.Type == "turn_finished" && m.Turn != first && b.story.Text(m.Turn) != wire.DemoText(frames, 0) {
				t.Errorf("thread %s: a watcher saw %s", thread, difference(b.story.Text(m.Turn), wire.DemoText(frames, 0)))
			}
		}
		if b.sockets < 2 {
			t.Errorf("a watcher of thread %s had %d sockets: nothing was rolled", thread, b.sockets)
		}
	}
	var begun sync.WaitGroup
	for _, thread := range threads(talks) {
		// The thread has an epoch, and everybody knows it, before the load begins.
		user := someone()
		v := dial(t, p.url(0, user))
		first := v.say(thread, object{"frames": 2})
		v.end(thread, first.Str("turn_id"))
		v.Cut()
		tabs := make([]*tab, watchers+1)
		for i := range tabs {
			tabs[i] = newTab(f, user, thread)
			if err := tabs[i].connect(ctx); err != nil {
				t.Fatal(err)
			}
		}
		for _, b := range tabs[1:] {
			work.Go(func() { watch(b) })
		}
		begun.Add(1)
		work.Go(func() { talk(tabs[0], begun.Done) })
	}
	begun.Wait()
	for i, old := range p.nodes {
		again, err := serve(append([]string{"--redis", p.redis.url()}, flags...)...)
		if err != nil {
			t.Fatal(err)
		}
		f.replace(old, again)
		begin := time.Now()
		old.signal(syscall.SIGTERM)
		if code := old.exit(t); code != 0 {
			t.Errorf("exit code %d:\n%s", code, old.stderr)
		}
		t.Logf("node %d took %v", i, time.Since(begin).Round(time.Millisecond))
		p.nodes[i] = again
	}
	rolled.Store(true)
	work.Wait()
	if turns.Load() < 2*talks {
		t.Errorf("only %d turns ran", turns.Load())
	}
	t.Logf("%d turns", turns.Load())
}
