package chaos

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/redis/go-redis/v9"

	"turnlog/chaos/verify"
	"turnlog/e2e/wire"
)

// settle waits until everything was said, every turn is over and every viewer has
// heard of it, and then completes the record with the logs themselves.
func (r *run) settle(ctx context.Context, viewers []viewer, left *verify.Residue) error {
	rdb := redis.NewClient(&redis.Options{Addr: r.cluster.addr})
	defer func() { _ = rdb.Close() }()

	speaking, cancel := context.WithTimeout(ctx, speechPatience)
	said := poll(speaking, func() bool {
		for _, v := range viewers {
			if !v.quiet() {
				return false
			}
		}
		return true
	})
	cancel()
	if !said {
		left.Unsettled = "some commands were never answered: " + r.unanswered(viewers)
	}
	var running []string
	settling, cancel := context.WithTimeout(ctx, settlePatience+r.schedule.Length/2)
	over := poll(settling, func() bool {
		running = members(settling, rdb, "turns", "ready")
		return len(running) == 0
	})
	cancel()
	if !over {
		left.Unsettled = strings.Join(append([]string{left.Unsettled}, running...), " ")
	}
	for _, t := range r.book.order {
		if err := r.read(ctx, rdb, t); err != nil {
			return err
		}
	}
	arriving, cancel := context.WithTimeout(ctx, arrivePatience)
	poll(arriving, r.arrived) // who has not arrived is found by verify
	cancel()
	return r.audit(ctx, left)
}

func (r *run) unanswered(viewers []viewer) string {
	var who []string
	for i, v := range viewers {
		if !v.quiet() {
			who = append(who, r.pens[i].plan.Name+" on "+r.pens[i].plan.User+"/"+r.pens[i].plan.Thread)
		}
	}
	return strings.Join(who, ", ")
}

func (r *run) arrived() bool {
	for _, p := range r.pens {
		var last int64
		r.book.edit(p.plan.User, p.plan.Thread, func(t *verify.Thread) {
			if n := len(t.Log); n > 0 {
				last = t.Log[n-1].Seq
			}
		})
		if p.position() < last {
			return false
		}
	}
	return true
}

// members are the members of a partition-wide sorted set, over all partitions.
func members(ctx context.Context, rdb *redis.Client, names ...string) (out []string) {
	for _, name := range names {
		keys, err := rdb.Keys(ctx, "turnlog:{*}:"+name).Result()
		if err != nil {
			return []string{err.Error()}
		}
		for _, key := range keys {
			if strings.Count(key, ":") != 2 {
				continue // of a thread or node
			}
			list, err := rdb.ZRange(ctx, key, 0, -1).Result()
			if err != nil {
				return []string{err.Error()}
			}
			for _, m := range list {
				out = append(out, name+" "+m)
			}
		}
	}
	return out
}

// read takes a thread's log as Redis holds it.
func (r *run) read(ctx context.Context, rdb *redis.Client, t *verify.Thread) error {
	keys, err := rdb.Keys(ctx, "turnlog:{*}:"+t.User+"/"+t.ID+":state").Result()
	if err != nil || len(keys) != 1 {
		return err // nothing was ever said
	}
	base := strings.TrimSuffix(keys[0], ":state")
	state, err := rdb.HGetAll(ctx, base+":state").Result()
	if err != nil {
		return err
	}
	turns, err := rdb.HGetAll(ctx, base+":turns").Result()
	if err != nil {
		return err
	}
	entries, err := rdb.XRange(ctx, base+":log", "-", "+").Result()
	if err != nil {
		return err
	}
	p := &pen{book: r.book, plan: ViewerPlan{User: t.User, Thread: t.ID}}
	var log []*verify.Frame
	for _, e := range entries {
		frame, _ := e.Values["frame"].(string)
		ordinal, _ := e.Values["turn"].(string)
		seq, _, _ := strings.Cut(e.ID, "-")
		rest, object := strings.CutPrefix(frame, "{")
		if _, err := strconv.ParseInt(seq, 10, 64); err != nil || !object {
			return fmt.Errorf("log of %s/%s: entry %s: %.80s", t.User, t.ID, e.ID, frame)
		}
		event, ok := p.event([]byte(fmt.Sprintf(`{"thread_id":%q,"turn_id":%q,"chat_seq":%s,%s`, t.ID, turns[ordinal], seq, rest)), time.Now())
		if !ok {
			return fmt.Errorf("log of %s/%s: entry %s is no frame: %.80s", t.User, t.ID, e.ID, frame)
		}
		log = append(log, event.Frame)
	}
	r.book.edit(t.User, t.ID, func(t *verify.Thread) {
		t.Log, t.Epoch, t.Running = log, state["epoch"], state["status"] == "running"
	})
	return nil
}

// audit reads every log once more through a node, and asks who still runs.
func (r *run) audit(ctx context.Context, left *verify.Residue) error {
	users := map[string]*wire.Conn{}
	defer func() {
		for _, c := range users {
			c.Close()
		}
	}()
	for i, t := range r.book.order {
		conn := users[t.User]
		node, addr := r.cluster.reach(i % Nodes)
		if conn == nil {
			var err error
			if conn, err = wire.Dial(ctx, "ws://"+addr+"/ws?user="+t.User, wire.Options{}); err != nil {
				return err
			}
			users[t.User] = conn
			if _, err := conn.Do("list_chat_turns", nil); err != nil {
				return err
			}
			for _, m := range conn.Messages() {
				if m.Type == "chat_turn_active" {
					left.Listed++
				}
			}
		}
		p := r.book.pen(ViewerPlan{Name: "auditor", User: t.User, Thread: t.ID})
		p.open(node)
		if _, err := conn.Do("resume_chat", wire.Object{"thread_id": t.ID, "full": true}); err != nil {
			return err
		}
		for _, m := range conn.Messages() {
			p.received([]byte(m.String()), m.At)
		}
		p.closed()
	}
	return nil
}

// rest waits until nothing is left that should not be, and notes what is.
func (r *run) rest(ctx context.Context, left *verify.Residue) error {
	rdb := redis.NewClient(&redis.Options{Addr: r.cluster.addr})
	defer func() { _ = rdb.Close() }()
	resting, cancel := context.WithTimeout(ctx, restPatience)
	defer cancel()
	var err error
	poll(resting, func() bool {
		left.Keys, left.Channels, err = r.leftovers(ctx, rdb)
		return err == nil && len(left.Keys)+len(left.Channels) == 0
	})
	if err != nil {
		return err
	}
	r.nodes(left)
	return nil
}

// nodes ends each node with SIGQUIT, which makes Go print every goroutine.
func (r *run) nodes(left *verify.Residue) {
	memory := int64(256 << 20)
	if r.options.Raced {
		memory = 1 << 30
	}
	for i := range Nodes {
		p := r.cluster.process(i)
		if p == nil {
			continue
		}
		n := verify.Node{Name: "node " + strconv.Itoa(i), RSS: p.RSS(), MaxRSS: memory, MaxRoutine: 250}
		before := p.Stderr.Mark()
		p.Signal(syscall.SIGQUIT)
		p.Ended(20 * time.Second)
		stacks := p.Stderr.Since(before)
		n.Goroutines, n.Stacks = strings.Count(stacks, "\ngoroutine "), stacks
		left.Nodes = append(left.Nodes, n)
		r.options.Log("%s: %d goroutines, %d MiB", n.Name, n.Goroutines, n.RSS>>20)
	}
	for name, lines := range r.cluster.complaints() {
		left.Nodes = append(left.Nodes, verify.Node{Name: name, Complaints: lines[:min(len(lines), 20)]})
	}
}
