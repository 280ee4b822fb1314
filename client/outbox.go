package client

import (
	"context"
	"encoding/json"
	"slices"
)

// Pending is a command on its way. It survives reconnects until the server has
// acknowledged it.
type Pending struct {
	ID string // the message's idempotency id, for Send and Steer

	command  string
	answers  string // request id that a control frame answers
	threadID string
	wire     []byte // the whole message
	again    []byte // what to send instead once wire was written (stop: with its turn)
	ackID    string // request_id; "" = not acknowledged (control frames)
	tried    bool   // was written on some connection

	done chan struct{}
	ack  Ack
	err  error
}

// Wait returns the server's acknowledgement: accepted, not finished. It fails
// with *Refused, ErrClosed or the context's error. Do not call it in a callback.
func (p *Pending) Wait(ctx context.Context) (Ack, error) {
	select {
	case <-p.done:
		return p.ack, p.err
	case <-ctx.Done():
		return Ack{}, context.Cause(ctx)
	}
}

// Done is closed when the server has answered.
func (p *Pending) Done() <-chan struct{} { return p.done }

func (p *Pending) resolve(ack Ack, err error) {
	p.ack, p.err = ack, err
	close(p.done)
}

// outbox holds what must reach the server, in order, across connections. The
// Client's lock guards it.
type outbox struct {
	limit   int
	waiting []*Pending // not yet acknowledged (commands) or written (answers)
	queue   []outgoing // to be written on the present connection
	wake    chan struct{}
}

// outgoing is one message for the present connection.
type outgoing struct {
	wire    []byte
	pending *Pending // nil for messages of this connection only
}

func newOutbox(limit int) *outbox {
	return &outbox{limit: limit, wake: make(chan struct{}, 1)}
}

// add accepts a command; online puts it on the present connection too.
func (o *outbox) add(p *Pending, online bool) error {
	if len(o.waiting) >= o.limit {
		return ErrQueueFull
	}
	o.waiting = append(o.waiting, p)
	if online {
		o.push(p.wire, p)
	}
	return nil
}

// push puts a message on the present connection.
func (o *outbox) push(wire []byte, p *Pending) {
	o.queue = append(o.queue, outgoing{wire, p})
	select {
	case o.wake <- struct{}{}:
	default:
	}
}

// take removes and returns the next message for the connection.
func (o *outbox) take() (outgoing, bool) {
	if len(o.queue) == 0 {
		return outgoing{}, false
	}
	m := o.queue[0]
	o.queue = o.queue[1:]
	return m, true
}

// again puts everything that waits on a new connection.
func (o *outbox) again() {
	for _, p := range o.waiting {
		o.push(p.wire, p)
	}
}

// remove takes a command out; false when it is not there any more.
func (o *outbox) remove(p *Pending) bool {
	i := slices.Index(o.waiting, p)
	if i < 0 {
		return false
	}
	o.waiting = slices.Delete(o.waiting, i, i+1)
	return true
}

// find returns the command with this request id.
func (o *outbox) find(ackID string) *Pending {
	for _, p := range o.waiting {
		if p.ackID != "" && p.ackID == ackID {
			return p
		}
	}
	return nil
}

// command is the wire form of a command.
type command struct {
	Command   string `json:"command"`
	Data      any    `json:"data,omitempty"`
	RequestID string `json:"request_id,omitempty"`
}

func marshalCommand(name string, data any, ackID string) ([]byte, error) {
	return json.Marshal(command{Command: name, Data: data, RequestID: ackID})
}
