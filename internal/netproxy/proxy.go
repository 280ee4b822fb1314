package netproxy

import (
	"fmt"
	"net"
	"sync"
	"sync/atomic"
	"time"
)

// Direction of a piece.
type Direction int

// The directions.
const (
	ToServer Direction = iota
	ToClient
)

// Verdict is what a filter does with a piece.
type Verdict int

// The verdicts.
const (
	Pass Verdict = iota
	Swallow
	Cut         // reset the connection instead
	PassThenCut // deliver it, then reset the connection
)

// Piece is some bytes on their way. Data must not be kept.
type Piece struct {
	Conn int // 1-based, in order of acceptance
	Dir  Direction
	Data []byte
}

// Framing says how a stream is split into pieces.
type Framing int

// The framings.
const (
	Raw  Framing = iota // as the bytes come
	RESP                // whole Redis values
)

// Options configure a Proxy.
type Options struct {
	Framing Framing
	Filter  func(Piece) Verdict
}

// Proxy listens on a port of its own and forwards to one server.
type Proxy struct {
	target   string
	o        Options
	listener net.Listener
	wg       sync.WaitGroup
	accepted atomic.Int64
	delay    atomic.Int64
	filter   atomic.Pointer[func(Piece) Verdict]

	mu       sync.Mutex
	links    map[*link]struct{}
	refuse   bool
	closed   bool
	gate     chan struct{} // closed = open; replaced while black-holed
	cutAfter func(conn int) int64
}

// Start makes a proxy to target (host:port) on a free port of 127.0.0.1.
func Start(target string, o Options) (*Proxy, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("proxy to %s: %w", target, err)
	}
	p := &Proxy{target: target, o: o, listener: listener, links: map[*link]struct{}{}, gate: make(chan struct{})}
	close(p.gate)
	p.SetFilter(o.Filter)
	p.wg.Add(1)
	go p.accept()
	return p, nil
}

// Addr is the proxy's own host:port.
func (p *Proxy) Addr() string { return p.listener.Addr().String() }

// Close ends everything and waits. Safe twice.
func (p *Proxy) Close() {
	p.mu.Lock()
	first := !p.closed
	p.closed = true
	if first {
		p.openLocked()
	}
	p.mu.Unlock()
	_ = p.listener.Close()
	p.Cut()
	p.wg.Wait()
}

// Cut resets every open connection on both sides and returns how many.
func (p *Proxy) Cut() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	for l := range p.links {
		l.reset()
	}
	return len(p.links)
}

// CutAfter asks f, for each new connection, after how many bytes to the client it
// is reset; negative = never. nil ends that.
func (p *Proxy) CutAfter(f func(conn int) int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.cutAfter = f
}

// SetFilter replaces the filter; nil passes everything.
func (p *Proxy) SetFilter(f func(Piece) Verdict) {
	if f == nil {
		f = func(Piece) Verdict { return Pass }
	}
	p.filter.Store(&f)
}

// Delay holds every piece back for d; 0 ends that.
func (p *Proxy) Delay(d time.Duration) { p.delay.Store(int64(d)) }

// BlackHole stops all traffic; connections stay open and new ones are accepted.
func (p *Proxy) BlackHole() {
	p.mu.Lock()
	defer p.mu.Unlock()
	select {
	case <-p.gate:
		if !p.closed {
			p.gate = make(chan struct{})
		}
	default:
	}
}

// Resume ends BlackHole and Refuse: what was held back passes.
func (p *Proxy) Resume() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.refuse = false
	p.openLocked()
}

func (p *Proxy) openLocked() {
	select {
	case <-p.gate:
	default:
		close(p.gate)
	}
}

// Refuse closes new connections at once.
func (p *Proxy) Refuse() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.refuse = true
}

// HalfOpen ends the server's side of every open connection; the client's side
// stays open and hears nothing more.
func (p *Proxy) HalfOpen() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for l := range p.links {
		l.halfOpen()
	}
}

// Open is the number of open connections.
func (p *Proxy) Open() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.links)
}

// Accepted is the number of connections accepted so far.
func (p *Proxy) Accepted() int { return int(p.accepted.Load()) }

func (p *Proxy) accept() {
	defer p.wg.Done()
	for {
		client, err := p.listener.Accept()
		if err != nil {
			return
		}
		p.wg.Add(1)
		go func() {
			defer p.wg.Done()
			p.serve(client)
		}()
	}
}

func (p *Proxy) serve(client net.Conn) {
	defer client.Close()
	n := int(p.accepted.Add(1))
	p.mu.Lock()
	refuse, cut := p.refuse || p.closed, int64(-1)
	if p.cutAfter != nil {
		cut = p.cutAfter(n)
	}
	p.mu.Unlock()
	if refuse {
		return
	}
	server, err := net.DialTimeout("tcp", p.target, 5*time.Second)
	if err != nil {
		return
	}
	l := &link{proxy: p, number: n, client: client, server: server, cutAfter: cut, done: make(chan struct{})}
	p.mu.Lock()
	if p.closed {
		l.reset()
	}
	p.links[l] = struct{}{}
	p.mu.Unlock()
	l.run()
	p.mu.Lock()
	delete(p.links, l)
	p.mu.Unlock()
}

// pass waits while traffic is stopped, and until a piece that arrived at has been
// held back long enough.
func (p *Proxy) pass(at time.Time, done <-chan struct{}) {
	p.mu.Lock()
	gate := p.gate
	p.mu.Unlock()
	select {
	case <-gate:
	case <-done:
	}
	d := time.Duration(p.delay.Load())
	if d > 0 {
		d -= time.Since(at)
	}
	if d > 0 {
		timer := time.NewTimer(d)
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-done:
		}
	}
}
