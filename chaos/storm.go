package chaos

import (
	"bytes"
	"context"
	"math/rand/v2"
	"sync"
	"syscall"
	"time"

	"github.com/redis/go-redis/v9"

	"turnlog/chaos/verify"
	"turnlog/internal/netproxy"
)

// storm carries out the faults of a schedule.
type storm struct {
	cluster  *cluster
	schedule *Schedule
	start    time.Time

	mu      sync.Mutex
	lethal  []verify.Window
	drained bool
}

// sleep waits on the schedule's clock; false when ctx ended first.
func sleep(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// run returns when the storm is over; ctx ends it early.
func (s *storm) run(ctx context.Context) {
	var wg sync.WaitGroup
	for _, f := range s.schedule.Faults {
		wg.Go(func() {
			if sleep(ctx, time.Until(s.start.Add(f.At))) {
				s.hit(ctx, f)
			}
		})
	}
	sleep(ctx, time.Until(s.start.Add(s.schedule.Length)))
	wg.Wait()
}

// doubt notes that nodes may have lost their standing.
func (s *storm) doubt(f Fault) {
	lease := s.schedule.Lease
	w := verify.Window{Node: f.Node, From: time.Now(), To: time.Now().Add(f.For + 2*lease + 5*time.Second)}
	s.mu.Lock()
	defer s.mu.Unlock()
	switch f.Kind {
	case Outage, Refusal:
		if f.For >= lease/2 {
			for w.Node = range Nodes {
				s.lethal = append(s.lethal, w)
			}
		}
	case Pause, Isolate:
		if f.For >= lease/2 {
			s.lethal = append(s.lethal, w)
		}
	case Term:
		s.drained = true
		s.lethal = append(s.lethal, w)
	case Kill:
		s.lethal = append(s.lethal, w)
	}
}

func (s *storm) hit(ctx context.Context, f Fault) {
	if f.Kind == Kill || f.Kind == Term || f.Kind == Pause {
		s.cluster.slots[f.Node].taking.Lock()
		defer s.cluster.slots[f.Node].taking.Unlock()
	}
	s.doubt(f)
	c, back := s.cluster, s.cluster.slots[f.Node].back
	switch f.Kind {
	case Kill:
		c.stop(f.Node)
		sleep(ctx, f.For)
		_ = c.start(f.Node) // heal tries again
	case Term:
		if p := c.process(f.Node); p != nil {
			p.Signal(syscall.SIGTERM)
			p.Ended(20 * time.Second)
			c.stop(f.Node)
		}
		sleep(ctx, f.For)
		_ = c.start(f.Node)
	case Pause:
		if p := c.process(f.Node); p != nil {
			p.Signal(syscall.SIGSTOP)
			sleep(ctx, f.For)
			p.Signal(syscall.SIGCONT)
		}
	case Isolate:
		back.BlackHole()
		sleep(ctx, f.For)
		back.Resume()
	case CutRedis:
		back.Cut()
	case DropReplies:
		back.SetFilter(losing(s.schedule.Seed, f.Rate, netproxy.Cut, func(p netproxy.Piece) bool { return p.Dir == netproxy.ToClient }))
		sleep(ctx, f.For)
		back.SetFilter(nil)
	case DropPublished:
		back.SetFilter(losing(s.schedule.Seed, f.Rate, netproxy.Swallow, published))
		sleep(ctx, f.For)
		back.SetFilter(nil)
	case Slow:
		back.Delay(40 * time.Millisecond)
		sleep(ctx, f.For)
		back.Delay(0)
	case Outage, Refusal:
		for _, slot := range c.slots {
			if f.Kind == Outage {
				slot.back.BlackHole()
			} else {
				slot.back.Refuse()
				slot.back.Cut()
			}
		}
		sleep(ctx, f.For)
		for _, slot := range c.slots {
			slot.back.Resume()
		}
	case ScriptFlush:
		rdb := redis.NewClient(&redis.Options{Addr: c.addr})
		_ = rdb.ScriptFlush(ctx).Err()
		_ = rdb.Close()
	case CutSockets, HalfOpen, HoldSockets:
		s.sockets(ctx, f)
	}
}

func (s *storm) sockets(ctx context.Context, f Fault) {
	front := s.cluster.front(f.Node)
	if front == nil {
		return
	}
	switch f.Kind {
	case CutSockets:
		front.Cut()
	case HalfOpen:
		front.HalfOpen()
	default:
		front.BlackHole()
		sleep(ctx, f.For)
		front.Resume()
	}
}

// published says whether a piece is a published message.
func published(p netproxy.Piece) bool {
	return p.Dir == netproxy.ToClient && bytes.Contains(p.Data[:min(len(p.Data), 32)], []byte("message\r\n"))
}

// losing is a filter that gives some of the pieces that match a verdict.
func losing(seed uint64, rate float64, verdict netproxy.Verdict, match func(netproxy.Piece) bool) func(netproxy.Piece) netproxy.Verdict {
	var mu sync.Mutex
	rng := rand.New(rand.NewPCG(seed, 2))
	return func(p netproxy.Piece) netproxy.Verdict {
		if !match(p) {
			return netproxy.Pass
		}
		mu.Lock()
		defer mu.Unlock()
		if rng.Float64() < rate {
			return verdict
		}
		return netproxy.Pass
	}
}
