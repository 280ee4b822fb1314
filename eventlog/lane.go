package eventlog

import (
	"math/rand/v2"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
)

const (
	// A pipeline is cut here, so that one lane's reply is never far away.
	lanePipelineBytes = 2 << 20
	lanePipelineCalls = 1024

	// After failures all turns of the lane are compared with Redis, at most this often.
	laneCheckEvery = 3 * time.Second

	laneBackoffMin = 20 * time.Millisecond
	laneBackoffMax = time.Second
)

// lane sends the appends of the turns that hash to it, one pipeline at a time.
// A writer is in at most one place: ready, delayed, or in the pipeline.
type lane struct {
	c    *committer
	wake chan struct{}

	mu      sync.Mutex
	ready   []*Writer
	writers map[*Writer]struct{}

	// Used by the lane's goroutine only.
	delayed  []*Writer
	batch    []*Writer
	taken    []*Writer
	cmds     []*redis.Cmd
	troubled bool // a pipeline failed; writers without traffic are to be checked
	checked  time.Time
	answered time.Time // when the newest replies came
}

func newLane(c *committer) *lane {
	return &lane{c: c, wake: make(chan struct{}, 1), writers: make(map[*Writer]struct{})}
}

func (l *lane) register(w *Writer) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.writers[w] = struct{}{}
}

func (l *lane) unregister(w *Writer) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.writers, w)
}

func (l *lane) registered() []*Writer {
	l.mu.Lock()
	defer l.mu.Unlock()
	all := make([]*Writer, 0, len(l.writers))
	for w := range l.writers {
		all = append(all, w)
	}
	return all
}

// schedule puts a writer into the next pipeline. The caller has set w.scheduled.
func (l *lane) schedule(w *Writer) {
	l.mu.Lock()
	first := len(l.ready) == 0
	l.ready = append(l.ready, w)
	l.mu.Unlock()
	if first {
		select {
		case l.wake <- struct{}{}:
		default:
		}
	}
}

// run sends pipelines until the committer is closed.
func (l *lane) run() {
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	for {
		select {
		case <-l.c.closed:
			return
		default:
		}
		if l.collect(time.Now()) {
			l.send()
			continue
		}
		if len(l.delayed) > 0 {
			timer.Reset(time.Until(l.earliest()))
		}
		select {
		case <-l.wake:
		case <-timer.C:
		case <-l.c.closed:
			return
		}
	}
}

func (l *lane) earliest() time.Time {
	at := l.delayed[0].flight.retryAt
	for _, w := range l.delayed[1:] {
		if w.flight.retryAt.Before(at) {
			at = w.flight.retryAt
		}
	}
	return at
}

// collect fills l.batch with the turns of the next pipeline: calls whose time to
// be repeated has come, then whatever is ready, up to the pipeline's bounds.
func (l *lane) collect(now time.Time) bool {
	l.batch = l.batch[:0]
	bytes := 0
	if len(l.delayed) > 0 {
		rest := l.delayed[:0]
		for _, w := range l.delayed {
			if bytes > lanePipelineBytes || len(l.batch) >= lanePipelineCalls || w.flight.retryAt.After(now) {
				rest = append(rest, w)
				continue
			}
			l.batch = append(l.batch, w)
			bytes += w.flight.bytes
		}
		clear(l.delayed[len(rest):])
		l.delayed = rest
	}
	l.mu.Lock()
	l.taken, l.ready = l.ready, l.taken[:0]
	l.mu.Unlock()
	used := 0
	for _, w := range l.taken {
		if bytes > lanePipelineBytes || len(l.batch) >= lanePipelineCalls {
			break
		}
		used++
		if w.take() {
			l.batch = append(l.batch, w)
			bytes += w.flight.bytes
		}
	}
	if used < len(l.taken) { // the rest goes first next time
		l.mu.Lock()
		l.ready = append(append(make([]*Writer, 0, len(l.taken)-used+len(l.ready)), l.taken[used:]...), l.ready...)
		l.mu.Unlock()
	}
	clear(l.taken)
	return len(l.batch) > 0
}

// send makes one round trip for l.batch and lets every writer digest its reply.
// A call without a reply stays uncertain: the very same call is sent again, which
// the script recognises by the attempt's count of appended frames.
func (l *lane) send() {
	ctx, cancel := l.c.timeout()
	defer cancel()
	pipe := l.c.rdb.Pipeline()
	l.cmds = l.cmds[:0]
	now := time.Now()
	for _, w := range l.batch {
		if w.flight.sentAt.IsZero() {
			w.flight.sentAt = now
		}
		cmd := redis.NewCmd(ctx, w.flight.call()...)
		l.cmds = append(l.cmds, cmd)
		_ = pipe.Process(ctx, cmd) // only queues
	}
	_, err := pipe.Exec(ctx)
	failed := false
	l.answered = time.Now()
	for i, w := range l.batch {
		got, cmdErr := l.cmds[i].Result()
		if cmdErr == nil && got == nil {
			cmdErr = err // never read
		}
		l.digest(w, got, cmdErr)
		failed = failed || cmdErr != nil && isUncertain(cmdErr)
	}
	clear(l.cmds)
	if failed {
		l.troubled = true
	} else if l.troubled && time.Since(l.checked) > laneCheckEvery {
		l.troubled, l.checked = false, time.Now()
		for _, w := range l.registered() {
			w.check()
		}
	}
}

// digest acts on the reply to one writer's call.
func (l *lane) digest(w *Writer, got any, err error) {
	if err != nil {
		l.failed(w, err)
		return
	}
	if seq, ok := got.(int64); ok {
		l.finish(w, seq)
		return
	}
	list, _ := got.([]any)
	ctx, cancel := l.c.timeout()
	defer cancel()
	if err := l.settle(ctx, w, list); err != nil {
		l.failed(w, err)
	}
}

// finish completes a call that is in the log.
func (l *lane) finish(w *Writer, lastSeq int64) {
	if w.committed(lastSeq) {
		l.schedule(w)
	}
}

// failed decides whether a call is tried again.
func (l *lane) failed(w *Writer, err error) {
	f := &w.flight
	now := time.Now()
	switch {
	case isNoScript(err):
		f.source, f.retryAt = true, now
		l.delayed = append(l.delayed, w)
		return
	case !isTransient(err):
		w.lose(err)
		return
	}
	if f.failedAt.IsZero() {
		f.failedAt = now
		w.note("append delayed", err)
	}
	if now.Sub(f.failedAt) > l.c.opt.OutageBudget {
		w.lose(givenUp(err))
		return
	}
	delay := min(laneBackoffMin<<min(f.tries, 10), laneBackoffMax)
	f.tries++
	f.retryAt = now.Add(delay/2 + rand.N(delay/2+1))
	l.delayed = append(l.delayed, w)
}
