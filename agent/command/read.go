package command

import (
	"context"
	"errors"
	"io"
	"os"
	"time"

	"turnlog/agent"
	"turnlog/agent/relay"
)

const (
	// idleFlush is how long text without a newline may wait for one.
	idleFlush = 40 * time.Millisecond
	// lingering bounds, in total, the waiting for output after the program's end:
	// by then only processes that it left behind can still write.
	lingering      = 2 * time.Second
	hurriedLinger  = 50 * time.Millisecond
	lingeringBytes = 4 << 20
)

// pipeReader reads one of the program's outputs until its end, or until the
// patience with what the program left behind is over.
type pipeReader struct {
	p      *process
	file   *os.File
	waited time.Duration
	bytes  int
}

// read is like file.Read; idle (0 = none) bounds the wait and then gives
// os.ErrDeadlineExceeded.
func (r *pipeReader) read(buf []byte, idle time.Duration) (int, error) {
	for {
		ended := r.p.ended.Load()
		limit := idle
		if ended {
			left := lingering - r.waited
			if r.p.hurry.Load() {
				left = hurriedLinger - r.waited
			}
			if left <= 0 || r.bytes > lingeringBytes {
				return 0, io.EOF
			}
			if limit == 0 || left < limit {
				limit = left
			}
		}
		var deadline time.Time
		began := time.Now()
		if limit > 0 {
			deadline = began.Add(limit)
		}
		_ = r.file.SetReadDeadline(deadline)
		if !ended && r.p.ended.Load() {
			continue // ended in between, and its wake-up may just have been overwritten
		}
		n, err := r.file.Read(buf)
		if ended {
			r.waited += time.Since(began)
			r.bytes += n
		}
		switch {
		case n > 0:
			return n, nil
		case errors.Is(err, os.ErrDeadlineExceeded):
			if idle > 0 && time.Since(began) >= idle {
				return 0, err
			}
		case err != nil:
			return 0, io.EOF
		}
	}
}

// wake lets a read that began before the program's end look again.
func (r *pipeReader) wake() { _ = r.file.SetReadDeadline(time.Now()) }

// readOutput passes everything the program prints to out, until the output ends.
// After an error it goes on reading, so that the program is not blocked while
// it winds down.
func readOutput(ctx context.Context, turn agent.Turn, out *relay.Relay, r *pipeReader, fail func(error)) {
	failed := false
	check := func(err error) {
		if err != nil && !failed {
			failed = true
			fail(err)
		}
	}
	s := &splitter{
		maxObject: turn.Info().FrameLimit + 64<<10,
		maxText:   out.MaxText(),
		object:    func(line []byte) (bool, error) { return out.Object(ctx, line) },
		text:      func(piece []byte) error { return out.Say(ctx, piece) },
	}
	buf := make([]byte, 32<<10)
	for {
		var idle time.Duration
		if !failed && s.pending() {
			idle = idleFlush
		}
		n, err := r.read(buf, idle)
		switch {
		case failed:
		case n > 0:
			check(s.write(buf[:n]))
		case errors.Is(err, os.ErrDeadlineExceeded):
			check(s.flush(false))
		}
		if errors.Is(err, io.EOF) {
			if !failed {
				check(s.flush(true))
			}
			return
		}
	}
}
