package e2e_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"turnlog/e2e/wire"
)

const (
	// raceTries is how often each race is run between two nodes. Within one process
	// with the embedded Redis, which serves one command at a time, a tenth says as much.
	raceTries = 10_000

	// racers run at once, each with sockets and a user of its own: few enough tries
	// per socket to stay under the flood limit.
	racers = 24
)

// pair is one racer: a socket that submits and one, on another node, that resumes.
type pair struct {
	t            testing.TB
	a, b         *wire.Conn
	seenA, seenB int
}

// race shares the tries out among the racers.
func race(t *testing.T, p *place, tries int64, try func(r *pair, thread string) error) {
	t.Helper()
	var next atomic.Int64
	var wg sync.WaitGroup
	var failed atomic.Pointer[error]
	for range racers {
		user := someone()
		r := &pair{t: t, a: dial(t, p.url(0, user)).Conn, b: dial(t, p.url(1, user)).Conn}
		wg.Go(func() {
			for failed.Load() == nil {
				n := next.Add(1)
				if n > tries {
					return
				}
				thread := fmt.Sprint("t", n)
				if err := try(r, thread); err != nil {
					err = fmt.Errorf("try %d: %w", n, err)
					failed.CompareAndSwap(nil, &err)
					return
				}
				for _, c := range []*wire.Conn{r.a, r.b} {
					if err := c.Send(object{"command": "unfollow", "data": object{"thread_id": thread}}); err != nil {
						failed.CompareAndSwap(nil, &err)
					}
				}
			}
		})
	}
	wg.Wait()
	if err := failed.Load(); err != nil {
		t.Fatal(*err)
	}
}

// moment waits for a random time below d.
func moment(d time.Duration) { <-time.After(rand.N(d)) }

// sees waits until the resuming socket has the end of the thread's turn, and returns
// the thread's messages since the last try.
func (r *pair) sees(thread string) ([]wire.Message, error) {
	from := r.seenB
	to, _, err := r.b.Await(from, wire.Patience, func(m wire.Message) bool { return m.Thread == thread && m.Type == "turn_finished" })
	all := r.b.Messages()
	var frames []wire.Message
	for _, m := range all[from:max(to, from)] {
		if m.Thread == thread && m.Type != "" {
			frames = append(frames, m)
		}
	}
	if err != nil {
		return frames, fmt.Errorf("%w: the end of %s; seen: %v", err, thread, frames)
	}
	r.seenB = to
	if bad := wire.Check(frames); len(bad) > 0 {
		return frames, fmt.Errorf("%s: %v", strings.Join(bad, "; "), frames)
	}
	return frames, nil
}

func numbersOf(frames []wire.Message) (out []int64) {
	for _, m := range frames {
		if m.Seq > 0 {
			out = append(out, m.Seq)
		}
	}
	return out
}

func racePlaces(t *testing.T, test func(t *testing.T, p *place, tries int64)) {
	t.Run(embedded, func(t *testing.T) { test(t, at(t, embedded), raceTries/10) })
	t.Run(twoNodes, func(t *testing.T) { test(t, at(t, twoNodes), raceTries) })
}

// B9 and F1: the producer and the resumer start at the same moment.
func TestB9_ResumeInTheMomentTheTurnIsCreated(t *testing.T) {
	racePlaces(t, func(t *testing.T, p *place, tries int64) {
		var late, early, window atomic.Int64 // the window follows the machine, so that both may be first
		window.Store(int64(4 * time.Millisecond))
		race(t, p, tries, func(r *pair, thread string) error {
			sent := make(chan error, 1)
			go func() {
				moment(2 * time.Millisecond)
				sent <- r.a.Send(object{"command": "chat_message", "data": message(thread, object{"frames": 3, "interval_ms": 2})})
			}()
			moment(time.Duration(window.Load()))
			if err := r.b.Send(object{"command": "resume_chat", "data": object{"thread_id": thread}}); err != nil {
				return err
			}
			if err := <-sent; err != nil {
				return err
			}
			frames, err := r.sees(thread)
			if err != nil {
				return err
			}
			if frames[0].Type != "chat_resumed" {
				return fmt.Errorf("first is %s, want the header", frames[0])
			}
			want := upTo(1, whole(3))
			switch h := frames[0]; {
			case h.Str("status") == "unknown":
				early.Add(1)
				window.Store(min(window.Load()*103/100, int64(100*time.Millisecond)))
			case h.Int("last_seq") >= whole(3)-2: // the message is there: a fresh client starts behind it
				late.Add(1)
				want = upTo(whole(3)-1, whole(3))
				window.Store(max(window.Load()*90/100, int64(time.Millisecond)))
			default:
				window.Store(max(window.Load()*97/100, int64(time.Millisecond)))
			}
			if got := numbersOf(frames); !slices.Equal(got, want) {
				return fmt.Errorf("numbers %v under %s", got, frames[0])
			}
			return nil
		})
		t.Logf("%d tries before the turn was there, %d after its end", early.Load(), late.Load())
		if late.Load() > tries/2 || early.Load() < tries/10 || early.Load() > tries*9/10 {
			t.Errorf("of %d tries %d came before and %d after the turn: no race", tries, early.Load(), late.Load())
		}
	})
}

// F8: the turn ends between a resumer's snapshot and its attachment.
func TestF8_TheTurnEndsWhileSomebodyResumes(t *testing.T) {
	racePlaces(t, func(t *testing.T, p *place, tries int64) {
		var running, finished atomic.Int64
		race(t, p, tries, func(r *pair, thread string) error {
			if err := r.a.Send(object{"command": "chat_message", "data": message(thread, object{"frames": 1, "interval_ms": 1})}); err != nil {
				return err
			}
			to, ack, err := r.a.Await(r.seenA, wire.Patience, func(m wire.Message) bool { return m.Type == "" && m.Thread == thread })
			if err != nil {
				return fmt.Errorf("ack: %w", err)
			}
			r.seenA = to
			moment(4 * time.Millisecond)
			resume := object{"thread_id": thread, "last_seq": 1, "epoch": ack.Str("epoch")}
			if err := r.b.Send(object{"command": "resume_chat", "data": resume}); err != nil {
				return err
			}
			frames, err := r.sees(thread)
			if err != nil {
				return err
			}
			h := frames[0]
			if h.Str("status") == "running" {
				running.Add(1)
			} else {
				finished.Add(1)
			}
			if h.Type != "chat_resumed" || h.Bool("replay_incomplete") {
				return fmt.Errorf("header %s, want complete", h)
			}
			if got := numbersOf(frames); !slices.Equal(got, upTo(2, 5)) {
				return fmt.Errorf("numbers %v under %s", got, h)
			}
			return nil
		})
		t.Logf("%d resumes found it running, %d finished", running.Load(), finished.Load())
		if running.Load() == 0 || finished.Load() == 0 {
			t.Errorf("%d running and %d finished: no race", running.Load(), finished.Load())
		}
	})
}
