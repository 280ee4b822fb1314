package eventlog

import (
	"context"
	"fmt"
	"time"
)

var deleteScript = loadScript("delete")

// MarkRetention is how long a deleted thread leaves a mark, and how long ids of
// messages and inputs are remembered. Neither has contents.
const MarkRetention = 24 * time.Hour

// Deleted counts what a deletion removed.
type Deleted struct {
	Threads    int
	TurnsEnded int // running turns that it ended
	Keys       int
	Streams    int // of these keys
	Frames     int
	Messages   int
	Queued     int // submissions that waited
}

// Delete removes every key of a thread and stops its turn: the owner is woken
// and everything it still writes is refused. A mark stays for MarkRetention, so that
// nobody late resurrects the thread. False: there was nothing to delete.
func (l *Log) Delete(ctx context.Context, t Thread) (bool, error) {
	d, err := l.DeleteThread(ctx, t)
	return d.Threads > 0, err
}

// DeleteThread is Delete with a report. Nothing there: the zero report. When the
// reply is lost (ErrUnavailable) the thread may be gone all the same.
func (l *Log) DeleteThread(ctx context.Context, t Thread) (Deleted, error) {
	d, _, err := l.deleteThread(ctx, t, time.Time{})
	return d, err
}

// deleteThread leaves a thread alone, and says so, that began after notAfter; zero = whatever it is.
func (l *Log) deleteThread(ctx context.Context, t Thread, notAfter time.Time) (d Deleted, later bool, err error) {
	k, err := l.keys(t)
	if err != nil {
		return Deleted{}, false, err
	}
	var before any = ""
	if !notAfter.IsZero() {
		before = notAfter.UnixMilli()
	}
	r, err := l.run(ctx, deleteScript, k.state(), before)
	if err != nil {
		return Deleted{}, false, fmt.Errorf("delete thread: %w", err)
	}
	if r.int(0) == 1 {
		d.Threads = 1
	}
	n := func(i int) int { return int(r.int(i)) }
	d.TurnsEnded, d.Keys, d.Streams, d.Frames, d.Messages, d.Queued = n(1), n(2), n(3), n(4), n(5), n(6)
	return d, r.int(0) == 2, nil
}

func (d *Deleted) add(o Deleted) {
	d.Threads += o.Threads
	d.TurnsEnded += o.TurnsEnded
	d.Keys += o.Keys
	d.Streams += o.Streams
	d.Frames += o.Frames
	d.Messages += o.Messages
	d.Queued += o.Queued
}
