package bench

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"net"
	"strings"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"
)

// runResume lets a node log one long turn and then, for each distance, a node
// that knows nothing of it replay the end of that turn.
func runResume(ctx context.Context, o Options, result *Result) error {
	s, err := openStore(ctx, o.Redis)
	if err != nil {
		return err
	}
	defer s.close()
	farthest := 0
	for _, n := range o.Missed {
		farthest = max(farthest, n)
	}
	flags := []string{"--replay.max_frames", fmt.Sprint(farthest + 1000), "--replay.max_bytes", "4GiB", "--replay.retention", "30m", "--history.retention", "1h"}
	result.Versions["redis"] = s.info(ctx, "server")["redis_version"]
	result.Parameters["bytes"], result.Parameters["missed"], result.Parameters["batch"] = o.Bytes, fmt.Sprint(o.Missed), !o.Unbatched
	writing, err := openNodes(ctx, o, s.url, 1, flags...)
	if err != nil {
		return err
	}
	defer endNodes(writing)
	user := fmt.Sprintf("bench-%d", time.Now().UnixNano())
	o.Progress(fmt.Sprintf("logging %d frames", farthest+100))
	last, epoch, err := logTurn(ctx, o, writing[0], user, farthest+100)
	if err != nil {
		return err
	}
	for _, missed := range o.Missed {
		o.Progress(fmt.Sprintf("resuming %d frames behind", missed))
		step, err := resumeOnce(ctx, o, s, user, last, epoch, missed, flags)
		if err != nil {
			return err
		}
		result.Steps = append(result.Steps, step)
	}
	return nil
}

// logTurn runs a turn to its end and returns its last number and epoch.
func logTurn(ctx context.Context, o Options, n *node, user string, frames int) (int64, string, error) {
	v, err := dial(ctx, n.url, user, true, nil)
	if err != nil {
		return 0, "", err
	}
	defer v.close()
	ack, err := v.command(ctx, "chat_message", map[string]any{
		"thread_id": "bench", "content": "go", "on_disconnect": "preserve",
		"demo": map[string]any{"frames": frames, "bytes": o.Bytes},
	})
	if err != nil {
		return 0, "", err
	}
	if err := v.follow(ctx); err != nil {
		return 0, "", err
	}
	epoch, _ := ack["epoch"].(string)
	return v.last, epoch, context.Cause(ctx)
}

// resumeOnce starts a node (unless the nodes are given) and resumes on it.
func resumeOnce(ctx context.Context, o Options, s *store, user string, last int64, epoch string, missed int, flags []string) (map[string]float64, error) {
	nodes := o
	if len(o.Nodes) > 1 {
		nodes.Nodes = o.Nodes[1:]
	}
	cold, err := openNodes(ctx, nodes, s.url, 1, flags...)
	if err != nil {
		return nil, err
	}
	defer endNodes(cold)
	v, err := dial(ctx, cold[0].url, user, !o.Unbatched, nil)
	if err != nil {
		return nil, err
	}
	defer v.close()
	watch, err := watchCommands(ctx, s, user)
	if err != nil {
		return nil, err
	}
	defer watch.close()
	resetPeak(cold[0].pid)
	memory, cpu, began := memoryKB(cold[0].pid, "VmRSS"), cpuSeconds(cold[0].pid), time.Now()
	if err := v.send(ctx, "resume_chat", map[string]any{"thread_id": "bench", "last_seq": last - int64(missed), "epoch": epoch}); err != nil {
		return nil, err
	}
	var header, complete time.Duration
	for complete == 0 {
		message, err := v.next(ctx)
		if err != nil {
			return nil, err
		}
		if header == 0 && bytes.Contains(message, keyHeader) {
			header = time.Since(began)
			if bytes.Contains(message, []byte(`"replay_incomplete":true`)) {
				return nil, fmt.Errorf("the log does not hold %d frames: raise replay.max_frames", missed)
			}
		}
		v.scan(message)
		if v.last == last {
			complete = time.Since(began)
		}
	}
	return map[string]float64{
		"missed": float64(missed), "header_ms": header.Seconds() * 1000, "complete_ms": complete.Seconds() * 1000,
		"redis_calls": watch.calls(), "memory_mib": (memoryKB(cold[0].pid, "VmHWM") - memory) / 1024,
		"cpu_ms": (cpuSeconds(cold[0].pid) - cpu) * 1000, "received": float64(v.received.Load()), "lost_or_repeated": float64(v.missing + v.repeated),
	}, nil
}

// watcher counts the commands that clients send about one user.
type watcher struct {
	conn  net.Conn
	count atomic.Int64
	done  chan struct{}
}

// watchCommands uses MONITOR, which tells commands of clients from those of
// scripts. For a Redis with TLS or a password it counts nothing.
func watchCommands(ctx context.Context, s *store, user string) (*watcher, error) {
	w := &watcher{done: make(chan struct{})}
	options, err := redis.ParseURL(s.url)
	if err != nil || options.TLSConfig != nil || options.Password != "" {
		close(w.done)
		return w, err
	}
	var d net.Dialer
	if w.conn, err = d.DialContext(ctx, options.Network, options.Addr); err != nil {
		return nil, err
	}
	if _, err := fmt.Fprint(w.conn, "MONITOR\r\n"); err != nil {
		return nil, err
	}
	lines := bufio.NewReaderSize(w.conn, 1<<20)
	if _, err := lines.ReadString('\n'); err != nil { // +OK
		return nil, err
	}
	go func() {
		defer close(w.done)
		for {
			line, err := lines.ReadString('\n')
			if err != nil {
				return
			}
			if strings.Contains(line, user) && !strings.Contains(line[:min(len(line), 64)], " lua]") {
				w.count.Add(1)
			}
		}
	}()
	return w, nil
}

func (w *watcher) calls() float64 { return float64(w.count.Load()) }

func (w *watcher) close() {
	if w.conn != nil {
		_ = w.conn.Close()
	}
	<-w.done
}
