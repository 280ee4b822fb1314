package command

import (
	"bytes"
	"log/slog"
	"strings"
	"time"
)

const (
	maxStderrLine  = 2 << 10
	maxStderrTail  = 4 << 10
	stderrBurst    = 100 // lines at once
	stderrInterval = 50 * time.Millisecond
)

// stderrLog logs what a program complains about, line by line and not too fast,
// and keeps the end of it. What it says may be about what users said, so the
// lines are for the level debug; above it there is only how much there was. It is
// an io.Writer for one goroutine.
type stderrLog struct {
	logger  *slog.Logger
	line    []byte
	tail    []byte
	credit  int
	last    time.Time
	lines   int
	skipped int // of the lines, because they came too fast
	bytes   int
}

func newStderrLog(logger *slog.Logger) *stderrLog {
	return &stderrLog{logger: logger, credit: stderrBurst, last: time.Now()}
}

// Write implements io.Writer; it never fails.
func (l *stderrLog) Write(p []byte) (int, error) {
	n := len(p)
	l.bytes += n
	l.tail = append(l.tail, p[max(0, len(p)-maxStderrTail):]...)
	if extra := len(l.tail) - maxStderrTail; extra > 0 {
		l.tail = append(l.tail[:0], l.tail[extra:]...)
	}
	for len(p) > 0 {
		line, rest, found := bytes.Cut(p, []byte("\n"))
		l.line = append(l.line, line[:min(len(line), maxStderrLine-len(l.line))]...)
		if found {
			l.flush()
		}
		p = rest
	}
	return n, nil
}

// flush logs the line so far.
func (l *stderrLog) flush() {
	line := strings.TrimRight(strings.ToValidUTF8(string(l.line), "\ufffd"), "\r")
	l.line = l.line[:0]
	if line == "" {
		return
	}
	l.lines++
	if earned := int(time.Since(l.last) / stderrInterval); earned > 0 {
		l.credit = min(stderrBurst, l.credit+earned)
		l.last = l.last.Add(time.Duration(earned) * stderrInterval)
	}
	if l.credit == 0 {
		l.skipped++
		return
	}
	l.credit--
	l.logger.Debug("agent stderr", "line", line)
}

// end logs what is left, and how much there was, and returns the end of everything that was written.
func (l *stderrLog) end() string {
	l.flush()
	if l.lines > 0 {
		l.logger.Info("agent wrote to stderr", "lines", l.lines, "bytes", l.bytes, "skipped", l.skipped)
	}
	tail := l.tail
	if len(tail) == maxStderrTail { // may begin inside a character
		for len(tail) > 0 && tail[0]&0xc0 == 0x80 {
			tail = tail[1:]
		}
	}
	return strings.TrimSpace(strings.ToValidUTF8(string(tail), "\ufffd"))
}
