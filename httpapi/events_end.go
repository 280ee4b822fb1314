package httpapi

import (
	"context"
	"net/http"
	"strings"
	"time"

	"turnlog/session"
)

var errDraining = &session.Refusal{Code: session.CodeDraining, Message: "this node is shutting down, connect again", Retryable: true}

// ending is why a stream ends.
type ending struct {
	name string

	// byServer gives turns with policy cancel the reconnect window, because
	// the viewer did not leave by its own will.
	byServer bool

	event bool          // the client is told by an event of this name
	retry time.Duration // and is to connect again so soon; 0 = as it was told
}

// Why streams end.
var (
	endTurn    = ending{name: "end", byServer: true}
	endLeft    = ending{name: "left"}
	endRestart = ending{name: "restart", byServer: true, event: true, retry: 300 * time.Millisecond}
	endExpired = ending{name: "expired", byServer: true, event: true}
	endSlow    = ending{name: "slow", byServer: true}
	endFailed  = ending{name: "failed", byServer: true}
)

// end ends the stream; only the first reason counts. It never blocks.
func (s *stream) end(why ending) {
	if s.ended.CompareAndSwap(nil, &why) {
		s.announce()
	}
}

// why is the reason of the end; a stream that ends without one has failed.
func (s *stream) why() ending {
	if why := s.ended.Load(); why != nil {
		return *why
	}
	return endFailed
}

// farewell tells the client why the stream ends, where that helps.
func (s *stream) farewell(p *page) {
	why := s.why()
	if !why.event {
		return
	}
	if why.retry > 0 {
		p.retry(jitter(why.retry, 0.5))
	}
	p.event(why.name, s.goodbye(why.name))
	s.send(p)
}

// turnAway answers a client while the node goes down. Browsers give up on a 503,
// so those that say that they read events are told to connect again in events.
func (e *events) turnAway(w http.ResponseWriter, r *http.Request) error {
	if !strings.Contains(r.Header.Get("Accept"), eventStream) {
		return errDraining
	}
	eventHeaders(w.Header())
	var p page
	p.retry(jitter(2*endRestart.retry, 0.5))
	p.event(endRestart.name, []byte(`{"type":"restart"}`))
	_, _ = w.Write(p.text) // the client went away; nobody is left to tell
	return nil
}

// shutdown refuses new streams and ends all open ones, those first that show no
// running turn, spread over the given time. It returns when all are gone, or with the
// cause of ctx: then those that are left were told and end as soon as their clients let them.
// Safe to call twice.
func (e *events) shutdown(ctx context.Context, spread time.Duration) error {
	streams := e.drainOrder()
	gone := make(chan struct{})
	go func() {
		e.served.Wait()
		close(gone)
	}()
	start := time.Now()
	timer := time.NewTimer(0)
	defer timer.Stop()
	<-timer.C
	for i, s := range streams {
		due := start.Add(spread * time.Duration(i) / time.Duration(len(streams)))
		if wait := time.Until(due); wait > 0 {
			timer.Reset(wait)
			select {
			case <-ctx.Done():
				return e.cut(ctx, gone)
			case <-timer.C:
			}
		}
		s.end(endRestart)
	}
	select {
	case <-ctx.Done():
		return e.cut(ctx, gone)
	case <-gone:
		return nil
	}
}

// drainOrder closes the door and lists what is inside, idle streams first.
func (e *events) drainOrder() []*stream {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.closing = true
	idle, busy := make([]*stream, 0, len(e.streams)), []*stream(nil)
	for _, s := range e.streams {
		if s.busy.Load() {
			busy = append(busy, s)
		} else {
			idle = append(idle, s)
		}
	}
	return append(idle, busy...)
}

// cut ends what shutdown had no time for: a client that takes nothing gets no
// more time.
func (e *events) cut(ctx context.Context, gone <-chan struct{}) error {
	e.mu.Lock()
	for _, s := range e.streams {
		s.end(endRestart)
		s.out.cut()
		s.cancel()
	}
	e.mu.Unlock()
	<-gone
	return context.Cause(ctx)
}
