package client

import (
	"strconv"
	"time"
)

// tracked is a thread and what its handler was told of it.
type tracked struct {
	thread
	reported bool // busy
}

// threadLocked returns the thread, made if need be.
func (c *Client) threadLocked(id string) *tracked {
	t := c.threads[id]
	if t == nil {
		t = &tracked{thread: thread{id: id}}
		c.threads[id] = t
	}
	return t
}

// stepLocked takes an input of a thread and resumes the thread if need be.
func (c *Client) stepLocked(t *tracked, in input) (e effects) {
	t.thread, e = t.step(in)
	if e.resume {
		c.resumeLocked(t)
	}
	return e
}

// resume is a resume_chat without acknowledgement.
type resume struct {
	thread *tracked
	since  time.Time
	header *Header
}

func (c *Client) resumeLocked(t *tracked) {
	id := c.requestIDLocked()
	c.resumes[id] = &resume{thread: t, since: time.Now()}
	wire, err := marshalCommand("resume_chat", t.resumeData(), id)
	if err != nil {
		panic(err) // strings and numbers only
	}
	c.out.push(wire, nil)
}

func (c *Client) requestIDLocked() string {
	c.nextID++
	return "q" + strconv.FormatUint(c.nextID, 10)
}

// busyLocked notices a change of the thread's state; the result tells the handler.
func (c *Client) busyLocked(t *tracked) func() {
	busy := t.busy()
	if busy == t.reported {
		return func() {}
	}
	t.reported = busy
	return func() {
		if f := c.o.Handler.OnBusy; f != nil {
			f(t.id, busy)
		}
	}
}
