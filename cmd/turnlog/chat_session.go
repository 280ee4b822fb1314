package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"syscall"
	"time"

	"turnlog/client"
)

// chat is one run of turnlog chat: a conversation on one thread.
type chat struct {
	flags  chatFlags
	extra  map[string]any
	view   *chatView
	client *client.Client
	idle   chan struct{} // gets a token whenever a turn of the thread ended

	mu        sync.Mutex
	typed     bool             // somebody types: no end of trying
	tries     int              // that failed, before the first connection
	hopeless  chan error       // gets why there will be no connection
	watched   bool             // a turn ran when the thread was resumed
	sent      bool             // a message went to the server
	wrong     bool             // a line of a pipe could not be carried out
	connected bool             // once at least
	node      string           // that answered last
	lost      bool             // reconnecting
	lostWhy   string           // what was told last
	open      []client.Request // waiting for an answer, oldest first
	outcome   string           // of the last turn
	told      string           // the error frame that was shown last
}

func newChat(flags chatFlags, extra map[string]any, out, status io.Writer) *chat {
	return &chat{flags: flags, extra: extra, view: newChatView(out, status), idle: make(chan struct{}, 1), hopeless: make(chan error, 1)}
}

func (c *chat) handler() client.Handler {
	return client.Handler{
		OnState:         c.onState,
		OnResumed:       c.onResumed,
		OnText:          c.onText,
		OnRequest:       c.onRequest,
		OnRequestClosed: c.onRequestClosed,
		OnFinish:        c.onFinish,
		OnError:         c.onError,
		OnReconcile:     c.onReconcile,
	}
}

func (c *chat) onState(s client.State) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch s.Phase {
	case client.Online:
		c.node = s.Node
		if !c.connected {
			c.view.note("connected to node %s, thread %q", s.Node, c.flags.thread)
		}
		c.connected = true
	case client.Waiting:
		reason := c.reason(s.Err)
		if c.tries++; !c.connected && !c.typed && c.tries >= maxFirstTries {
			select {
			case c.hopeless <- fmt.Errorf("cannot connect to %s: %s", c.flags.url, reason):
			default:
			}
			return
		}
		if !c.lost || reason != c.lostWhy {
			text := "connection lost"
			if !c.connected {
				text = "no connection yet"
			}
			c.view.note("%s: %s; next attempt in %s", text, reason, s.Delay.Round(10*time.Millisecond))
		}
		c.lost, c.lostWhy = true, reason
	}
}

// maxFirstTries bounds the attempts at a first connection when nobody is there to end them.
const maxFirstTries = 5

// reason says in a few words why there is no connection.
func (c *chat) reason(err error) string {
	var refused *client.HandshakeError
	switch {
	case err == nil:
		return "cut off"
	case errors.As(err, &refused):
		return refusalReason(refused)
	case errors.Is(err, syscall.ECONNREFUSED):
		return "connection refused; is turnlog serve running there?"
	}
	var dns *net.DNSError
	if errors.As(err, &dns) {
		return "the host " + dns.Name + " is not known"
	}
	if errors.Is(err, context.DeadlineExceeded) {
		return "no answer in time"
	}
	return err.Error()
}

// refusalReason says what the server answered, in its own words where they say more.
func refusalReason(e *client.HandshakeError) string {
	switch {
	case e.Status == 401:
		return "not authorized (HTTP 401); is --token right and still valid, and --user a possible name?"
	case e.Status == 404:
		return "there is no WebSocket at this address (HTTP 404); is the path /ws?"
	case e.Said() != "":
		return fmt.Sprintf("%s (HTTP %d)", harmless(strings.Join(strings.Fields(e.Said()), " ")), e.Status)
	case e.Status == 403:
		return "forbidden (HTTP 403)"
	case e.Status == 503:
		return "the server is starting or shutting down (HTTP 503)"
	}
	return fmt.Sprintf("the server answered HTTP %d instead of a WebSocket", e.Status)
}

// faulty remembers that a line of a pipe could not be carried out.
func (c *chat) faulty(piped bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.wrong = c.wrong || piped
}

func (c *chat) onResumed(r client.Resumed) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.lost:
		c.view.note("reconnected to node %s, %s replayed", c.node, frames(r.Replayed))
	case r.Status == client.StatusRunning:
		c.view.note("a turn is running: %s replayed", frames(r.Replayed))
	}
	c.lost = false
	c.watched = r.Status == client.StatusRunning
}

func frames(n int64) string {
	if n == 1 {
		return "1 frame"
	}
	return fmt.Sprintf("%d frames", n)
}

func (c *chat) onReconcile(r client.Reconcile) {
	if r.Status == client.StatusRunning && r.Header.LastSeq > 0 && c.client.Thread(c.flags.thread).LastSeq > 0 {
		c.view.note("the beginning is no longer held; the text goes on where the log does")
	}
}

func (c *chat) onText(_, text string) { c.view.text(text) }

func (c *chat) onRequest(r client.Request) {
	c.mu.Lock()
	c.open = append(c.open, r)
	c.mu.Unlock()
	switch r.Type {
	case "tool_call":
		c.view.note("the agent calls tool %s %s: /result JSON answers", r.Name, r.Args)
	default:
		c.view.note("the agent asks to %s %s: /allow or /deny", action(r.Type), r.Name)
	}
}

func action(kind string) string {
	switch kind {
	case "plan_approval_request":
		return "follow a plan"
	case "secret_request":
		return "have a secret"
	default:
		return "use tool"
	}
}

func (c *chat) onRequestClosed(_, id, reason string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for i, r := range c.open {
		if r.ID == id {
			c.open = append(c.open[:i], c.open[i+1:]...)
			if reason != "answered" {
				c.view.note("request closed: %s", reason)
			}
			return
		}
	}
}

func (c *chat) onFinish(f client.Finish) {
	if f.Outcome == "superseded" {
		c.view.endLine()
		return // its successor already runs
	}
	c.mu.Lock()
	c.outcome, c.open = f.Outcome, nil
	c.mu.Unlock()
	c.view.endLine()
	if f.Outcome != "completed" {
		c.view.note("turn %s %s", f.Outcome, f.Error)
	}
	c.turnOver()
}

func (c *chat) onError(_, message, code string) {
	switch {
	case message == "" && code == "":
		return
	case message == "":
		message = code
	case code != "":
		message += " (" + code + ")"
	}
	c.mu.Lock()
	c.told = message
	c.mu.Unlock()
	c.view.note("error: %s", message)
}

// turnOver wakes whoever waits for the end of a turn.
func (c *chat) turnOver() {
	c.view.ask()
	select {
	case c.idle <- struct{}{}:
	default:
	}
}

// send submits a message; a refusal ends the wait for its turn.
func (c *chat) send(ctx context.Context, text string) error {
	c.mu.Lock()
	c.outcome, c.told = "", ""
	c.mu.Unlock()
	p, err := c.client.Send(c.flags.thread, client.Message{
		Content: text, Agent: c.flags.agent, OnDisconnect: c.flags.policy, Extra: c.extra,
	})
	if err != nil {
		return err
	}
	_, err = p.Wait(ctx)
	var refused *client.Refused
	if errors.As(err, &refused) {
		c.mu.Lock()
		c.outcome = "refused"
		told := c.told != ""
		c.mu.Unlock()
		if told {
			return errTold
		}
		return refused
	}
	if err == nil {
		c.mu.Lock()
		c.sent = true
		c.mu.Unlock()
	}
	return err
}

// errTold stands for an error that the terminal shows already.
var errTold = exitError{2, "the message was refused"}

// leave says what happens to a turn that goes on.
func (c *chat) leave() {
	c.view.endLine()
	c.mu.Lock()
	met := c.sent || c.watched
	c.mu.Unlock()
	if met && c.client.Thread(c.flags.thread).Busy {
		c.view.note("the turn goes on; turnlog chat --thread %s brings it back", c.flags.thread)
	}
}

// result is how the last turn ended, as an exit code.
func (c *chat) result() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.wrong && (c.outcome == "" || c.outcome == "completed") {
		return exitError{1, "not every line could be carried out"}
	}
	if c.outcome == "" || c.outcome == "completed" {
		return nil
	}
	return exitError{2, "the last turn ended as " + c.outcome}
}
