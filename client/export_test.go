package client

import (
	"context"
	"encoding/json"
	"time"
)

// Socket is the connection seam for tests without a network.
type Socket = socket

// WithDial makes connections with dial.
func WithDial(o Options, dial func(context.Context) (Socket, error)) Options {
	o.dial = func(ctx context.Context, _ string, _ Options, _ string) (socket, error) { return dial(ctx) }
	return o
}

// WaitAfterClose is the wait of a healthy client after a close code.
func WaitAfterClose(code int) (time.Duration, error) {
	why := classify(closeError{code: code})
	if why.fatal {
		return 0, why.final()
	}
	return newBackoff(10 * time.Second).next(why), nil
}

// Decode is the frame decoder.
func Decode(b []byte) ([]Frame, error) {
	all, err := decode(b)
	frames := make([]Frame, 0, len(all))
	for _, in := range all {
		frames = append(frames, in.Frame)
	}
	return frames, err
}

// Feed runs a thread's state machine over frames and reports the delivered numbers.
func Feed(frames []Frame) (delivered []int64) {
	t := thread{id: "t"}
	for _, f := range frames {
		var e effects
		if t, e = t.step(arrived{f}); e.deliver && f.Seq > 0 {
			delivered = append(delivered, f.Seq)
		}
		t, _ = t.step(disconnected{})
	}
	return delivered
}

// Dry is a Client without sockets: connections are imagined.
type Dry struct{ *Client }

// NewDry makes a Dry with a handler.
func NewDry(h Handler) (Dry, error) {
	c, err := New("ws://nowhere", Options{Handler: h})
	return Dry{c}, err
}

// Connect imagines a connection.
func (d Dry) Connect() { d.attach(nowhere{}, nil) }

// Lose imagines its loss.
func (d Dry) Lose() { d.detach() }

// Receive takes one message of the server.
func (d Dry) Receive(message string) error {
	all, err := decode([]byte(message))
	for _, in := range all {
		if err == nil {
			err = d.handle(in)
		}
	}
	return err
}

// Sent takes what would go out.
func (d Dry) Sent() (all []map[string]any) {
	for {
		d.mu.Lock()
		m, ok := d.out.take()
		d.mu.Unlock()
		if !ok {
			return all
		}
		d.written(m.pending)
		var o map[string]any
		if err := json.Unmarshal(m.wire, &o); err != nil {
			panic(err)
		}
		all = append(all, o)
	}
}

// nowhere is a socket that is never used.
type nowhere struct{ socket }

// Expiry is when a token says that it expires.
func Expiry(token string) time.Time { return expiry(token) }

// ClosedBy is the error of a connection that the server closed.
func ClosedBy(code int) error { return closeError{code: code} }

// Machine is the state machine of a thread.
type Machine struct{ t thread }

// NewMachine is a Machine that knows nothing.
func NewMachine() *Machine { return &Machine{thread{id: "t"}} }

func (m *Machine) take(in input) (resume, deliver, reconcile bool) {
	var e effects
	m.t, e = m.t.step(in)
	return e.resume, e.deliver, e.reconcile
}

// Inputs: each says whether to resume, to deliver, and to reconcile.
func (m *Machine) Connected() (bool, bool, bool)      { return m.take(connected{}) }
func (m *Machine) Disconnected() (bool, bool, bool)   { return m.take(disconnected{}) }
func (m *Machine) Opened(on bool) (bool, bool, bool)  { return m.take(opened{online: on}) }
func (m *Machine) Header(h Header) (bool, bool, bool) { return m.take(header{h}) }
func (m *Machine) Frame(f Frame) (bool, bool, bool)   { return m.take(arrived{f}) }
func (m *Machine) Sent() (bool, bool, bool)           { return m.take(sent{}) }
func (m *Machine) Retried() (bool, bool, bool)        { return m.take(retried{}) }
func (m *Machine) Accepted(a Ack) (bool, bool, bool)  { return m.take(accepted{a}) }

// Cursor is where it is; InStep that it knows so and waits for no header.
func (m *Machine) Cursor() (epoch string, seq int64) { return m.t.epoch, m.t.cursor }
func (m *Machine) InStep() bool                      { return m.t.positioned && !m.t.syncing }
func (m *Machine) Busy() bool                        { return m.t.busy() }

// Spoil makes a machine that forgets to do something, for tests of tests.
func (m *Machine) Spoil(how string) {
	switch how {
	case "no dedupe":
		m.t.cursor, m.t.positioned = 0, false
	case "no gap check":
		m.t.positioned = false
	case "no epoch":
		m.t.epoch = ""
	}
}

// Addresses are where a Client connects and where it reads history.
func Addresses(url string, o Options) (socket, api string, err error) { return addresses(url, o) }
