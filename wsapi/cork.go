package wsapi

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"sync"
	"sync/atomic"
	"time"
)

// The WebSocket library makes one system call per message. Below it lies a
// corkedConn: while the connection's writer is at work, messages gather in one
// buffer that goes out when the writer has nothing more to pull.
//
// The library also keeps net/http's 4 KiB buffers for the life of a connection;
// ten thousand idle connections are cheaper with small ones.
const (
	readBuffer  = 1024
	writeBuffer = 64
	corkLimit   = 64 << 10 // flushed inside a run when reached
	corkKeep    = 128 << 10
)

// corkedWriter hands the library a corkedConn when it hijacks.
type corkedWriter struct {
	http.ResponseWriter
	stall time.Duration
	conn  *corkedConn
}

// Hijack implements http.Hijacker.
func (w *corkedWriter) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	conn, rw, err := http.NewResponseController(w.ResponseWriter).Hijack()
	if err != nil {
		return nil, nil, err
	}
	early, _ := rw.Reader.Peek(rw.Reader.Buffered())
	w.conn = &corkedConn{Conn: conn, early: bytes.Clone(early), stall: w.stall}
	w.conn.heard.Store(int64(time.Since(origin)))
	return w.conn, bufio.NewReadWriter(bufio.NewReaderSize(w.conn, readBuffer), bufio.NewWriterSize(w.conn, writeBuffer)), nil
}

var corkPool = sync.Pool{New: func() any { b := make([]byte, 0, corkLimit+4096); return &b }}

// corkedConn is a net.Conn whose writes can be gathered. Write may be called by
// several goroutines; cork and uncork only by the connection's writer.
type corkedConn struct {
	net.Conn
	early []byte // read by net/http before the upgrade
	stall time.Duration
	heard atomic.Int64 // when the newest bytes came from the peer, in nanoseconds since origin

	// onStall is called once when the peer took no bytes for stall; then the
	// write is given that long again, at most stallGrace. Set before the first write.
	onStall func()

	mu     sync.Mutex
	limit  time.Time // write deadline in force
	corked bool
	buf    *[]byte
	failed error
	writes int64 // system calls made, for tests
}

const stallGrace = 5 * time.Second

// Read implements net.Conn.
func (c *corkedConn) Read(p []byte) (int, error) {
	if len(c.early) > 0 {
		n := copy(p, c.early)
		c.early = c.early[n:]
		return n, nil
	}
	n, err := c.Conn.Read(p)
	if n > 0 {
		c.heard.Store(int64(time.Since(origin)))
	}
	return n, err
}

// Write implements net.Conn. While corked it only fails for what failed before.
func (c *corkedConn) Write(p []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.failed != nil {
		return 0, c.failed
	}
	if !c.corked {
		return len(p), c.sendLocked(p)
	}
	if c.buf == nil {
		c.buf = corkPool.Get().(*[]byte)
	}
	*c.buf = append(*c.buf, p...)
	if len(*c.buf) < corkLimit {
		return len(p), nil
	}
	return len(p), c.flushLocked()
}

// cork makes writes gather until uncork.
func (c *corkedConn) cork() {
	c.mu.Lock()
	c.corked = true
	c.mu.Unlock()
}

// uncork sends what gathered.
func (c *corkedConn) uncork() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.corked = false
	err := c.flushLocked()
	if c.buf != nil {
		if cap(*c.buf) <= corkKeep {
			corkPool.Put(c.buf)
		}
		c.buf = nil
	}
	return err
}

func (c *corkedConn) flushLocked() error {
	if c.failed != nil || c.buf == nil || len(*c.buf) == 0 {
		return c.failed
	}
	err := c.sendLocked(*c.buf)
	*c.buf = (*c.buf)[:0]
	return err
}

// sendLocked writes p, however slowly, as long as the peer takes some of it.
func (c *corkedConn) sendLocked(p []byte) error {
	wait, warned := c.stall, false
	for {
		c.writes++
		// Moving the deadline costs as much as a short write, so it may be nearer than
		// it should by an eighth. An error here shows up in the write.
		if limit := time.Now().Add(wait); warned || limit.Sub(c.limit) > wait/8 {
			_ = c.Conn.SetWriteDeadline(limit)
			c.limit = limit
		}
		n, err := c.Conn.Write(p)
		if p = p[n:]; len(p) == 0 && err == nil {
			return nil
		}
		switch {
		case !errors.Is(err, os.ErrDeadlineExceeded):
			if c.failed = err; err == nil {
				c.failed = io.ErrShortWrite
			}
			return c.failed
		case n > 0:
			c.limit = time.Time{}
		case warned:
			c.failed = err
			return err
		default:
			warned, wait = true, min(wait, stallGrace)
			if c.onStall != nil {
				c.onStall()
			}
		}
	}
}

// Close implements net.Conn. What gathered (the library's close frame may be
// in it) goes out first if it can at once.
func (c *corkedConn) Close() error {
	if c.mu.TryLock() {
		if c.failed == nil && c.buf != nil && len(*c.buf) > 0 {
			_ = c.Conn.SetWriteDeadline(time.Now().Add(time.Second))
			_, _ = c.Conn.Write(*c.buf)
			*c.buf = (*c.buf)[:0]
		}
		c.failed = net.ErrClosed
		c.mu.Unlock()
	}
	return c.Conn.Close()
}
