package wire

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/coder/websocket"
	"github.com/vmihailenco/msgpack/v5"
)

// Patience is how long Await waits.
const Patience = 60 * time.Second

// Options configure a Conn.
type Options struct {
	MessagePack bool // send MessagePack (receiving follows the server's mode)
	Header      http.Header
	Protocols   []string

	// ReadBuffer limits what the kernel takes in for a Conn that does not read.
	ReadBuffer int

	// Paused starts without reading; Resume begins.
	Paused bool
}

// Conn is one socket.
type Conn struct {
	ws     *websocket.Conn
	o      Options
	cancel context.CancelFunc
	done   chan struct{}
	resume chan struct{}
	once   sync.Once
	nextID atomic.Int64

	mu      sync.Mutex
	log     []Message
	changed chan struct{} // closed and replaced at each change
	err     error
}

// Dial opens a socket at url.
func Dial(ctx context.Context, url string, o Options) (*Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, Patience)
	defer cancel()
	opts := &websocket.DialOptions{HTTPHeader: o.Header, Subprotocols: o.Protocols}
	transport := &http.Transport{DisableKeepAlives: true}
	if o.ReadBuffer > 0 {
		transport.DialContext = func(ctx context.Context, network, addr string) (net.Conn, error) {
			c, err := new(net.Dialer).DialContext(ctx, network, addr)
			if tcp, ok := c.(*net.TCPConn); ok {
				_ = tcp.SetReadBuffer(o.ReadBuffer)
			}
			return c, err
		}
	}
	opts.HTTPClient = &http.Client{Transport: transport}
	ws, _, err := websocket.Dial(ctx, url, opts)
	if err != nil {
		return nil, err
	}
	ws.SetReadLimit(-1)
	readCtx, stop := context.WithCancel(context.WithoutCancel(ctx))
	c := &Conn{
		ws: ws, o: o, cancel: stop, done: make(chan struct{}), resume: make(chan struct{}),
		changed: make(chan struct{}),
	}
	if !o.Paused {
		c.Resume()
	}
	go c.read(readCtx)
	return c, nil
}

// Resume lets a paused Conn read.
func (c *Conn) Resume() { c.once.Do(func() { close(c.resume) }) }

// Cut ends the socket without a goodbye and waits for the reader.
func (c *Conn) Cut() {
	c.cancel()
	_ = c.ws.CloseNow()
	<-c.done
}

// Close says goodbye.
func (c *Conn) Close() {
	go func() { _ = c.ws.Close(websocket.StatusNormalClosure, "") }()
	select {
	case <-c.done:
	case <-time.After(time.Second):
	}
	c.Cut()
}

func (c *Conn) read(ctx context.Context) {
	defer close(c.done)
	select {
	case <-c.resume:
	case <-ctx.Done():
		return
	}
	for {
		kind, b, err := c.ws.Read(ctx)
		var got []Message
		if err == nil {
			got, err = decode(kind == websocket.MessageBinary, b)
		}
		c.mu.Lock()
		c.log = append(c.log, got...)
		c.err = err
		close(c.changed)
		c.changed = make(chan struct{})
		c.mu.Unlock()
		if err != nil {
			_ = c.ws.CloseNow()
			return
		}
	}
}

// Send sends one object in the Conn's encoding.
func (c *Conn) Send(o Object) error {
	var b []byte
	var err error
	kind := websocket.MessageText
	if c.o.MessagePack {
		kind = websocket.MessageBinary
		b, err = msgpack.Marshal(o)
	} else {
		b, err = json.Marshal(o)
	}
	if err != nil {
		return err
	}
	return c.SendRaw(kind, b)
}

// SendRaw sends bytes as they are.
func (c *Conn) SendRaw(kind websocket.MessageType, b []byte) error {
	ctx, cancel := context.WithTimeout(context.Background(), Patience)
	defer cancel()
	return c.ws.Write(ctx, kind, b)
}

// Command sends a command under a new request id and returns that.
func (c *Conn) Command(name string, data Object) (requestID string, err error) {
	requestID = "r" + strconv.FormatInt(c.nextID.Add(1), 10)
	o := Object{"command": name, "request_id": requestID}
	if data != nil {
		o["data"] = data
	}
	return requestID, c.Send(o)
}

// Do sends a command and waits for its acknowledgement.
func (c *Conn) Do(name string, data Object) (Message, error) {
	id, err := c.Command(name, data)
	if err != nil {
		return Message{}, fmt.Errorf("%s: %w", name, err)
	}
	_, m, err := c.Await(0, Patience, func(m Message) bool { return m.Ack(id) })
	if err != nil {
		return m, fmt.Errorf("ack of %s: %w", name, err)
	}
	return m, nil
}

// ErrTimeout means that what was awaited did not come.
var ErrTimeout = errors.New("not seen in time")

// Await waits for the first message from position from on that matches, and
// returns the position behind it. It ends early when the socket does.
func (c *Conn) Await(from int, patience time.Duration, match func(Message) bool) (int, Message, error) {
	timer := time.NewTimer(patience)
	defer timer.Stop()
	for {
		c.mu.Lock()
		log, changed, err := c.log, c.changed, c.err
		c.mu.Unlock()
		for ; from < len(log); from++ {
			if match(log[from]) {
				return from + 1, log[from], nil
			}
		}
		if err != nil {
			return from, Message{}, fmt.Errorf("socket ended: %w", err)
		}
		select {
		case <-changed:
		case <-c.done:
			c.mu.Lock()
			more := len(c.log) > from
			c.mu.Unlock()
			if !more {
				return from, Message{}, errors.New("socket was cut")
			}
		case <-timer.C:
			return from, Message{}, ErrTimeout
		}
	}
}

// Messages are all messages so far.
func (c *Conn) Messages() []Message {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.log[:len(c.log):len(c.log)]
}

// Mark is the position behind the last message so far.
func (c *Conn) Mark() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.log)
}

// Frames are the messages of one thread that have a type: headers and frames.
func (c *Conn) Frames(thread string) []Message {
	var out []Message
	for _, m := range c.Messages() {
		if m.Type != "" && m.Thread == thread {
			out = append(out, m)
		}
	}
	return out
}

// Done is closed when the socket has ended; Err says why.
func (c *Conn) Done() <-chan struct{} { return c.done }

// CloseCode is the close code the server gave, -1 without one.
func (c *Conn) CloseCode() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return int(websocket.CloseStatus(c.err))
}
