package chaos

import (
	"context"
	"sync/atomic"
	"time"

	"turnlog/e2e/wire"
)

// wireViewer is a light client of the run's own: it resumes, answers, and speaks.
type wireViewer struct {
	run     *run
	pen     *pen
	speaker *speaker
	silent  atomic.Bool // has nothing more to say
}

// storm leads the planned lives, then the last one until ctx ends.
func (v *wireViewer) live(ctx context.Context) {
	for _, l := range v.pen.plan.Lives {
		stay, cancel := context.WithTimeout(ctx, l.Stay)
		stop := context.AfterFunc(v.run.calm, cancel)
		v.life(stay, l)
		stop()
		cancel()
		if v.run.calm.Err() != nil {
			break
		}
		sleep(v.run.calm, l.Away)
	}
	for ctx.Err() == nil {
		v.life(ctx, Life{Node: len(v.pen.plan.Lives) % Nodes, Goodbye: true})
		sleep(ctx, 100*time.Millisecond)
	}
}

// life is one socket, until ctx or the socket ends.
func (v *wireViewer) life(ctx context.Context, l Life) {
	node, addr := v.run.cluster.reach(l.Node)
	dialing, cancel := context.WithTimeout(ctx, 5*time.Second)
	conn, err := wire.Dial(dialing, "ws://"+addr+"/ws?user="+v.pen.plan.User, wire.Options{})
	cancel()
	if err != nil {
		sleep(ctx, 100*time.Millisecond)
		return
	}
	v.pen.open(node)
	read := make(chan struct{})
	go func() { defer close(read); v.read(conn) }()
	stop := context.AfterFunc(ctx, func() {
		if l.Goodbye {
			conn.Close()
		} else {
			conn.Cut()
		}
	})
	cursor := v.pen.at(l.Fresh)
	v.pen.asked(cursor)
	data := wire.Object{"thread_id": v.pen.plan.Thread}
	if cursor.LastSeq > 0 {
		data["last_seq"], data["epoch"] = cursor.LastSeq, cursor.Epoch
	}
	if _, err := conn.Do("resume_chat", data); err == nil {
		v.speak(ctx, conn)
	}
	stop()
	conn.Cut()
	<-read
	v.pen.closed()
}

// read records what comes and answers requests, until the socket ends.
func (v *wireViewer) read(conn *wire.Conn) {
	for at := 0; ; {
		next, m, err := conn.Await(at, time.Hour, func(wire.Message) bool { return true })
		if err != nil {
			return
		}
		at = next
		v.pen.received([]byte(m.String()), m.At)
		switch {
		case m.Thread != v.pen.plan.Thread:
		case m.Type == "tool_call":
			_ = conn.Send(wire.Object{"type": "tool_result", "tool_call_id": m.Str("tool_call_id"), "ok": true, "result": toolAnswer})
		case m.Type == "tool_approval_request":
			_ = conn.Send(wire.Object{"type": "tool_approval_response", "approval_id": m.Str("approval_id"), "decision": "allow"})
		}
	}
}

func (v *wireViewer) speak(ctx context.Context, conn *wire.Conn) {
	for {
		wait := v.speaker.wait()
		if wait < 0 {
			v.silent.Store(true)
			wait = time.Hour
		}
		timer := time.NewTimer(wait)
		select {
		case <-timer.C:
		case <-conn.Done():
			timer.Stop()
			return
		case <-ctx.Done():
			timer.Stop()
			return
		}
		if v.speaker.wait() < 0 {
			continue
		}
		m, err := conn.Do(v.speaker.command())
		if err != nil {
			return
		}
		a := answer{failed: m.Has("error"), retryable: m.Bool("retryable"), turn: m.Str("turn_id"), queued: m.Str("message") == "Chat message queued"}
		v.speaker.answered(a)
		if a.failed && a.retryable {
			sleep(ctx, 100*time.Millisecond)
		}
	}
}

// quiet says that everything was said and answered.
func (v *wireViewer) quiet() bool { return v.silent.Load() }
