package wsapi

import (
	"context"
	"crypto/rand"
	"log/slog"
	"net/http"
	"runtime/debug"
	"sync"
	"time"

	"github.com/coder/websocket"

	"turnlog/httpapi/edge"
	"turnlog/identity"
	"turnlog/line"
)

// conn is one client connection: one goroutine reads and carries out commands,
// a second one writes.
type conn struct {
	srv  *Server
	ws   *websocket.Conn
	cork *corkedConn
	id   string
	who  identity.Identity
	kind string // ?client=, what kind of client it says it is
	v1   bool   // the client negotiated turnlog.v1
	log  *slog.Logger

	base   context.Context // never ends; the library is cheaper with it
	ctx    context.Context // ends with the connection
	cancel context.CancelFunc
	free   func() // gives the connection back to the limits

	out     *outbox
	pen     pen // the writer's own
	intake  *intake
	threads threads
	tools   manifest
	pulse   pulse
}

// closeGrace is how long a client has to take the close frame, and what is before it.
const closeGrace = 5 * time.Second

// cleanupTimeout bounds the calls that tell Redis that a connection is gone.
const cleanupTimeout = 10 * time.Second

// serve runs a connection in goroutines of its own: when it returns, net/http
// lets go of the request's buffers and stack. Shutdown waits for the connection.
func (s *Server) serve(r *http.Request, ws *websocket.Conn, cork *corkedConn, in *intake, who identity.Identity, free func()) {
	base := context.WithoutCancel(r.Context())
	ctx, cancel := context.WithCancel(base)
	query := r.URL.Query()
	c := &conn{
		srv: s, ws: ws, cork: cork, id: s.sessions.Node() + "." + rand.Text(), who: who, v1: ws.Subprotocol() == subprotocol,
		base: base, ctx: ctx, cancel: cancel, out: newOutbox(),
		pen:    pen{binary: query.Get("encoding") == "msgpack", batch: query.Get("batch") == "1"},
		intake: in, free: free,
	}
	c.kind = clientKind(query)
	c.log = s.log.With("conn", c.id)
	cork.onStall = func() { c.shut(closeSlow) }
	in.onFlood = func() { c.shut(closeFlood) }
	c.pulse.expireAt(who.Expires)
	c.pulse.next = time.Now().Add(s.opts.PingEvery)
	c.send(object(nil).text("type", "welcome").number("protocol", 1).
		text("node", s.sessions.Node()).time("server_time", time.Now()).end())
	if !s.add(c) {
		cancel()
		free()
		_ = ws.Close(closeRestart.code, closeRestart.reason)
		return
	}
	go c.run()
}

// run reads and writes until the connection ends, and returns when nothing of
// it is left.
func (c *conn) run() {
	defer c.srv.remove(c)
	defer c.free()
	c.srv.opts.Metrics.Connected()
	var writer sync.WaitGroup
	writer.Go(func() { c.guard(c.write) })
	c.guard(c.read)
	c.shut(closeLost) // unless there is a better reason already
	c.cancel()        // the writer may be asking the log
	writer.Wait()
	_ = c.ws.CloseNow()
	c.guard(c.leave)
	c.srv.opts.Metrics.Disconnected(int(c.out.why().code))
}

// guard keeps a bug that one connection meets from ending the node.
func (c *conn) guard(part func()) {
	defer func() {
		if p := recover(); p != nil {
			c.log.Error("a connection panicked", "panic", edge.PanicText(p), "stack", string(debug.Stack()))
			c.shut(closeInternal)
			c.cork.Conn.Close()
		}
	}()
	part()
}

// shut ends the connection: what is queued is sent, then the close frame. A
// client that does not take it in time is cut off. It never blocks.
func (c *conn) shut(why closing) {
	if !c.out.end(why) {
		return
	}
	if why.refusal != "" {
		c.srv.opts.Metrics.Refused(why.refusal)
	}
	if why.code == 0 {
		c.cork.Conn.Close()
		return
	}
	time.AfterFunc(closeGrace, func() { c.cork.Conn.Close() })
}

// leave tells the threads that this viewer is gone.
func (c *conn) leave() {
	// Detached and bounded: the request is over, but the log has to know.
	ctx, cancel := context.WithTimeout(c.base, cleanupTimeout)
	defer cancel()
	byServer := c.out.why().byServer
	for _, f := range c.threads.takeAll() {
		c.release(ctx, f, byServer)
	}
}

// release ends one following.
func (c *conn) release(ctx context.Context, f *following, byServer bool) {
	if f.holdsRequests() {
		if err := line.Release(ctx, c.srv.logs, c.srv.hub, f.thread, c.id); err != nil {
			c.log.Warn("tool calls could not be released", "error", err)
		}
	}
	f.viewer.Leave(ctx, byServer)
}

// watching reports whether the client is seeing a running turn.
func (c *conn) watching() bool {
	for _, f := range c.threads.all() {
		if f.running() {
			return true
		}
	}
	return false
}
