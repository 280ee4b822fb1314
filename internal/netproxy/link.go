package netproxy

import (
	"bufio"
	"net"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// link is one proxied connection.
type link struct {
	proxy    *Proxy
	number   int
	client   net.Conn
	server   net.Conn
	cutAfter int64 // bytes to the client; negative = never
	half     atomic.Bool
	once     sync.Once
	done     chan struct{}
}

func (l *link) run() {
	var wg sync.WaitGroup
	wg.Add(2)
	go func() { defer wg.Done(); l.pump(ToServer, l.client, l.server) }()
	go func() { defer wg.Done(); l.pump(ToClient, l.server, l.client) }()
	wg.Wait()
	l.reset()
}

// reset cuts both sides at once.
func (l *link) reset() {
	l.once.Do(func() {
		close(l.done)
		for _, c := range []net.Conn{l.client, l.server} {
			if tcp, ok := c.(*net.TCPConn); ok {
				_ = tcp.SetLinger(0)
			}
			_ = c.Close()
		}
	})
}

// halfOpen ends the server's side only.
func (l *link) halfOpen() {
	l.half.Store(true)
	_ = l.server.Close()
}

// held is a piece on its way and when it arrived.
type held struct {
	data []byte
	at   time.Time
}

// inFlight bounds how many pieces of one direction a delay may hold.
const inFlight = 1024

// pump moves pieces in one direction until an end closes. Reading goes on while
// pieces are held back: a delay costs time, not bandwidth.
func (l *link) pump(dir Direction, from, to net.Conn) {
	pieces := make(chan held, inFlight)
	go l.read(from, pieces)
	for p := range pieces {
		l.proxy.pass(p.at, l.done)
		if l.half.Load() {
			continue // into the void
		}
		if !l.forward(dir, to, p.data) {
			for range pieces { // until the reader is gone
			}
			return
		}
	}
	l.ended(dir, to)
}

func (l *link) read(from net.Conn, pieces chan<- held) {
	defer close(pieces)
	split := newSplitter(l.proxy.o.Framing, bufio.NewReaderSize(from, 64<<10))
	for {
		data, err := split.next()
		if err != nil {
			return
		}
		pieces <- held{slices.Clone(data), time.Now()}
	}
}

// forward lets the filter decide about a piece; false when the link is over.
func (l *link) forward(dir Direction, to net.Conn, data []byte) bool {
	verdict := (*l.proxy.filter.Load())(Piece{l.number, dir, data})
	switch verdict {
	case Swallow:
		return true
	case Cut:
		l.reset()
		return false
	case Pass, PassThenCut:
	}
	if dir == ToClient && l.cutAfter >= 0 {
		if int64(len(data)) >= l.cutAfter {
			data, verdict = data[:l.cutAfter], PassThenCut
		}
		l.cutAfter -= int64(len(data))
	}
	if _, err := to.Write(data); err != nil && !l.half.Load() {
		l.reset()
		return false
	}
	if verdict == PassThenCut {
		l.finish()
		return false
	}
	return true
}

// finish closes both sides in order, so that what was written can arrive.
func (l *link) finish() {
	l.once.Do(func() {
		close(l.done)
		_ = l.client.Close()
		_ = l.server.Close()
	})
}

// ended passes on an orderly end of one side.
func (l *link) ended(dir Direction, to net.Conn) {
	if l.half.Load() {
		if dir == ToServer {
			l.reset() // the client gave up
		}
		<-l.done // until then it hears nothing
		return
	}
	if tcp, ok := to.(*net.TCPConn); ok {
		_ = tcp.CloseWrite()
		return
	}
	l.reset()
}
