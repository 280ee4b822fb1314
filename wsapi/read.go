package wsapi

import (
	"bytes"
	"errors"
	"time"

	"github.com/coder/websocket"

	"turnlog/limit"
	"turnlog/wsapi/pack"
)

// keepIntake is the largest read buffer that a connection keeps.
const keepIntake = 4 << 10

// replyPatience is how long a client may leave its replies unread.
const replyPatience = 10 * time.Second

// read handles the client's messages one after the other until the connection ends.
func (c *conn) read() {
	defer c.intake.forget()
	for c.out.why() == nil {
		c.intake.forget() // before it waits for the next one, however long
		typ, message, err := c.receive()
		if err != nil {
			switch {
			case errors.Is(err, websocket.ErrMessageTooBig):
				c.shut(closeTooBig)
			case errors.Is(err, limit.ErrRoom):
				c.shut(closeNoRoom)
			case errors.Is(err, limit.ErrUserRoom):
				c.shut(closeTooMuch)
			}
			return
		}
		c.srv.opts.Metrics.Received(len(message))
		if !c.intake.limiter.Allow() {
			c.shut(closeFlood)
			return
		}
		c.pulse.busy.Store(true)
		c.handle(typ == websocket.MessageBinary, message)
		c.cork.heard.Store(int64(time.Since(origin)))
		c.pulse.busy.Store(false)
	}
}

// receive reads one message; it is valid until the next call.
func (c *conn) receive() (websocket.MessageType, []byte, error) {
	typ, r, err := c.ws.Reader(c.base)
	if err != nil {
		return 0, nil, err
	}
	c.intake.begin()
	_, err = c.intake.buf.ReadFrom(metered{r, c.intake})
	c.intake.end()
	return typ, c.intake.buf.Bytes(), err
}

// handle decodes one message and carries it out. Whatever is wrong with it is answered.
func (c *conn) handle(binary bool, message []byte) {
	text, err := c.decode(binary, message)
	if err != nil {
		c.send(object(nil).text("error", "invalid_frame").text("message", err.Error()).end())
		return
	}
	c.dispatch(text)
}

// decode waits for its turn when the message is large.
func (c *conn) decode(binary bool, message []byte) ([]byte, error) {
	defer c.intake.place.Work()()
	return decode(binary, message)
}

// decode turns a message into JSON text of its own memory.
func decode(binary bool, message []byte) ([]byte, error) {
	if binary {
		return pack.ToJSON(nil, message, pack.Limits{})
	}
	if err := pack.CheckJSON(message, pack.Limits{}); err != nil {
		return nil, err
	}
	return bytes.Clone(message), nil
}

// send queues a reply. When the client does not read its replies, the reader
// waits here and so stops reading; after a while the client is cut off.
func (c *conn) send(json []byte) { c.post(reply{json: json}) }

func (c *conn) post(r reply) {
	if c.out.put(r) {
		return
	}
	patience := time.NewTimer(replyPatience)
	defer patience.Stop()
	for {
		select {
		case <-c.out.room:
		case <-c.ctx.Done():
			return
		case <-patience.C:
			c.shut(closeSlow)
			return
		}
		if c.out.put(r) {
			return
		}
	}
}
