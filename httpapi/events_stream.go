package httpapi

import (
	"context"
	"errors"
	"net/http"
	"sync/atomic"
	"time"

	"turnlog/eventlog"
	"turnlog/line"
)

// One round writes at most this much of the log.
const (
	roundFrames = 64
	roundBytes  = 64 << 10
)

// reconnect is after how long a browser connects again when its stream broke,
// give or take a half.
const reconnect = 1500 * time.Millisecond

// stream is one event stream: a viewer, and the request's goroutine that
// pulls from it and writes.
type stream struct {
	srv     *events
	id      string
	query   eventsQuery
	expires time.Time
	out     eventWriter
	wake    chan struct{} // one slot: there may be something to do
	ended   atomic.Pointer[ending]
	cancel  context.CancelFunc // ends what the log is asked

	viewer Viewer
	desk   line.Desk

	// What the client has been shown; busy is read by the drain.
	status  eventlog.Status // of the newest header
	until   int64           // the number that a header promised last
	shown   int64           // frames since the newest header
	over    bool            // the turn has ended and the stream ends with it
	busy    atomic.Bool     // a turn is being shown
	muffled bool            // the log did not answer the last time either; it was told
}

var _ line.Conn = (*stream)(nil)

// ID implements line.Conn.
func (s *stream) ID() string { return s.id }

// Runs implements line.Conn.
func (s *stream) Runs(tool string) bool { return s.query.tools.has(tool) }

// announce says that there may be something to do. It never blocks.
func (s *stream) announce() {
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// pull asks the cursor for what comes next and adds the lines to the page. more
// is false when that was all.
func (s *stream) pull(ctx context.Context, p *page) (more bool, err error) {
	d, err := s.viewer.Next(ctx, roundFrames, roundBytes)
	if err != nil {
		return false, err
	}
	s.muffled = false
	if h := d.Header; h != nil {
		p.lines = s.desk.Header(ctx, s, p.lines, h)
		s.header(h)
	}
	for _, fr := range d.Frames {
		if s.over {
			break
		}
		p.lines = append(p.lines, s.desk.Show(ctx, s, fr))
		s.frame(fr)
	}
	p.lines = s.desk.Reclaim(ctx, s, p.lines, d.Retarget)
	return !d.Done && !d.Empty(), nil
}

// header notes what a header says about where the stream ends.
func (s *stream) header(h *eventlog.Header) {
	s.srv.opts.Metrics.Replayed(replayKind(h))
	s.status, s.until, s.shown = h.Status, h.LastSeq, 0
	s.busy.Store(h.Status == eventlog.StatusRunning)
	s.over = !s.query.follow && (h.Status == eventlog.StatusUnknown || h.Status == eventlog.StatusFinished && h.ReplayCount == 0)
}

// frame notes what a frame says about it.
func (s *stream) frame(fr *eventlog.Delivered) {
	s.shown++
	switch fr.Type {
	case "turn_started":
		s.busy.Store(true)
	case "turn_finished":
		s.busy.Store(false)
	}
	// Ends of earlier turns are part of a replay.
	last := fr.Type == "turn_finished" || s.status == eventlog.StatusFinished
	s.over = !s.query.follow && last && fr.Seq >= s.until
}

// run writes what the first pull found and everything after it.
func (s *stream) run(ctx context.Context, p *page, more bool) {
	eventHeaders(s.out.w.Header())
	s.out.w.WriteHeader(http.StatusOK)
	first := page{}
	first.retry(jitter(reconnect, 0.5))
	first.event("welcome", s.welcome())
	if !s.send(&first) {
		return
	}
	clock := newEventClock(s.srv.opts.PingEvery, s.expires)
	defer clock.stop()
	for {
		p.frames()
		if s.over {
			p.event("end", s.goodbye("end"))
			s.end(endTurn)
		}
		if !s.send(p) {
			return
		}
		if more {
			s.tick(p, clock, time.Now())
		} else if !s.over {
			s.await(ctx, p, clock)
		}
		if s.ended.Load() != nil {
			break
		}
		more = s.next(ctx, p, clock)
	}
	s.farewell(p)
}

// next pulls; what the log does not answer is asked again later.
func (s *stream) next(ctx context.Context, p *page, clock *eventClock) (more bool) {
	more, err := s.pull(ctx, p)
	switch {
	case err == nil:
		if owed := s.desk.Owed(); owed != nil && !more {
			s.srv.log.Warn("a tool call could not be claimed, trying again", "conn", s.id, "error", owed)
			clock.again()
		}
	case ctx.Err() != nil:
		s.end(endLeft)
	case errors.Is(err, eventlog.ErrClosed):
		s.end(endRestart)
	default:
		if !s.muffled {
			s.srv.log.Warn("frames could not be read, trying again", "conn", s.id, "error", err)
		}
		s.muffled = true
		clock.again()
	}
	return more
}

// send writes the page and empties it; false when the stream is over because of that.
func (s *stream) send(p *page) bool {
	if len(p.text) == 0 {
		return true
	}
	s.srv.opts.Metrics.StreamSent(p.events, len(p.text))
	err := s.out.write(p.text)
	p.text, p.events = p.text[:0], 0
	switch {
	case err == nil:
		return true
	case errors.Is(err, errSlow):
		s.end(endSlow)
	default:
		s.end(endLeft)
	}
	return false
}
